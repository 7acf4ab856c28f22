//! The runner for every machine, and what libFuzzer needs.
//!
//! - `agentloop-fuzz run SECONDS [TARGET [FIRST]]`: changes the seeds at random, from the input of that number on, and says what broke.
//! - `agentloop-fuzz corpus FOLDER`: writes the seeds of all targets, and hostile inputs made of them.
//! - `agentloop-fuzz try TARGET FILE…`: reads an input that broke something again.
//! - `agentloop-fuzz hostile [READER…]`: reads all hostile inputs of all readers, or of these, and prints what they took.
//! - `agentloop-fuzz list`: the names of the targets.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a tool for whoever works on the library"
)]

use std::path::Path;
use std::time::{Duration, Instant};

use agentloop_fuzz::hostile::{READERS, Reader, Scale, examples};
use agentloop_fuzz::{Mutator, Rng, TARGETS, Target};

/// How many hostile inputs a corpus begins with, and how long they are.
const HOSTILE: usize = 16;
const LONG: usize = 256 << 10;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["list"] => TARGETS.iter().for_each(|target| println!("{}", target.name)),
        ["corpus", folder] => corpus(Path::new(folder)),
        ["try", name, files @ ..] => {
            let target = Target::of(name).expect("a target");
            for file in files {
                target.check(&std::fs::read(file).expect("a file that can be read"));
            }
        }
        ["hostile", names @ ..] => hostile(names),
        ["run", seconds] => TARGETS.iter().for_each(|target| run(*target, seconds, "0")),
        ["run", seconds, name] => run(Target::of(name).expect("a target"), seconds, "0"),
        ["run", seconds, name, first] => run(Target::of(name).expect("a target"), seconds, first),
        _ => panic!(
            "run SECONDS [TARGET [FIRST]], corpus FOLDER, try TARGET FILE…, hostile [READER…], or list"
        ),
    }
}

fn corpus(folder: &Path) {
    for target in TARGETS {
        let folder = folder.join(target.name);
        std::fs::create_dir_all(&folder).expect("a folder that can be made");
        let seeds = target.seeds();
        let hostile = examples(&seeds, HOSTILE, LONG);
        for (name, inputs) in [("seed", seeds), ("hostile", hostile)] {
            for (at, input) in inputs.into_iter().enumerate() {
                std::fs::write(folder.join(format!("{name}-{at:03}")), input)
                    .expect("a file that can be written");
            }
        }
    }
}

fn hostile(names: &[&str]) {
    let is_named = |reader: &&Reader| names.is_empty() || names.contains(&reader.name);
    for reader in READERS.iter().flat_map(|some| some.iter()).filter(is_named) {
        let measured = reader.check(Scale::of_this_build());
        println!("{:<40} {measured}", reader.name);
        measured.broken.iter().for_each(|broken| println!("    {broken}"));
    }
}

fn run(target: Target, seconds: &str, first: &str) {
    let end = Instant::now() + Duration::from_secs(seconds.parse().expect("a number of seconds"));
    let mutator = Mutator::new(target.seeds());
    let first: u64 = first.parse().expect("the number of an input");
    let mut number = first;
    while Instant::now() < end {
        let input = mutator.input(&mut Rng::new(number));
        let began = Instant::now();
        if std::panic::catch_unwind(|| target.check(&input)).is_err() {
            let path = format!("broken-{}-{number}", target.name);
            std::fs::write(&path, &input).expect("a file that can be written");
            println!("{}: broken by {path}", target.name);
        }
        if began.elapsed() > Duration::from_secs(2) {
            println!("{}: {number} took {:?}", target.name, began.elapsed());
        }
        number += 1;
    }
    println!("{}: {} inputs", target.name, number - first);
}
