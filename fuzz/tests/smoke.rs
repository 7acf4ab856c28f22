//! The seeds and a few thousand changes of them, the same ones each time.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that fails, fails"
)]

use std::time::{Duration, Instant};

use agentloop_fuzz::{Mutator, Rng, TARGETS, Target};

/// How many changed seeds each target reads.
const INPUTS: u64 = 200;

/// How long one input may take: a thousand times the usual time, so a busy machine does not fail the test.
const LONGEST: Duration = Duration::from_secs(10);

fn check(target: Target, input: &[u8], what: &str) {
    let began = Instant::now();
    if std::panic::catch_unwind(|| target.check(input)).is_err() {
        let text = String::from_utf8_lossy(input);
        panic!("{}: {what} breaks a law: {text}", target.name);
    }
    assert!(began.elapsed() < LONGEST, "{}: {what} takes too long", target.name);
}

#[test]
fn every_seed_keeps_the_laws() {
    for target in TARGETS {
        let seeds = target.seeds();
        assert!(!seeds.is_empty());
        for (at, seed) in seeds.iter().enumerate() {
            check(*target, seed, &format!("seed {at}"));
        }
    }
}

#[test]
fn no_change_of_a_seed_breaks_a_law() {
    for target in TARGETS {
        let mutator = Mutator::new(target.seeds());
        for number in 0..INPUTS {
            check(*target, &mutator.input(&mut Rng::new(number)), &format!("input {number}"));
        }
    }
}
