//! What the middlewares add to a call, in time.
//!
//! `cargo bench -p agentloop --bench stack` prints it for each middleware and for all of them in the default order, for a chat
//! against the simulator in process. Stacks take turns, and two figures say what each adds to a call without any: the least of
//! many rounds against the least, and the median of what a round took longer than the plain one of its turn, which a busy
//! machine disturbs less.
//! With the name of a stack and a number it only makes so many calls, for `valgrind --tool=callgrind`.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a benchmark prints, and fails when it cannot run"
)]

mod stacks;

use std::time::Instant;

use stacks::{STACKS, client, request, runtime};

const ROUNDS: usize = 400;
const CALLS: u32 = 40;

fn main() {
    let runtime = runtime();
    let mut arguments = std::env::args().skip(1).filter(|argument| argument != "--bench");
    if let (Some(wanted), Some(count)) = (arguments.next(), arguments.next()) {
        let (name, stack) = STACKS.iter().find(|(name, _)| *name == wanted).unwrap();
        let ai = client(*stack);
        for _ in 0..count.parse().unwrap() {
            runtime.block_on(ai.chat(request(name))).unwrap();
        }
        return;
    }
    let clients = STACKS.map(|(name, stack)| (name, client(stack)));
    let mut times: [Vec<f64>; STACKS.len()] = Default::default();
    for _ in 0..ROUNDS {
        for ((name, ai), times) in clients.iter().zip(&mut times) {
            let began = Instant::now();
            for _ in 0..CALLS {
                runtime.block_on(ai.chat(request(name))).unwrap();
            }
            times.push(began.elapsed().as_secs_f64() * 1e6 / f64::from(CALLS));
        }
    }
    let plain = &times[0];
    println!("a call: {:.2} µs", least(plain));
    println!("{:<20} {:>11} {:>11}", "", "least", "median");
    for ((name, _), times) in clients.iter().zip(&times).skip(1) {
        let more = times.iter().zip(plain).map(|(time, plain)| time - plain).collect();
        let (least, median) = (least(times) - least(plain), median(more));
        println!("{name:<20} {least:>+8.2} µs {median:>+8.2} µs");
    }
}

fn least(times: &[f64]) -> f64 {
    times.iter().copied().fold(f64::INFINITY, f64::min)
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}
