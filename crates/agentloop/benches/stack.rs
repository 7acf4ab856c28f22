//! What the middlewares add to a call, in time.
//!
//! `cargo bench -p agentloop --bench stack` prints it for each middleware and for all of them in the default order, for a chat
//! against the simulator in process. Stacks take turns, and of each the least of many rounds counts: what the code itself needs.
//! With the name of a stack and a number it only makes so many calls, for `valgrind --tool=callgrind`.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a benchmark prints, and fails when it cannot run"
)]

mod stacks;

use std::time::{Duration, Instant};

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
    let mut least = [Duration::MAX; STACKS.len()];
    for _ in 0..ROUNDS {
        for ((name, ai), least) in clients.iter().zip(&mut least) {
            let began = Instant::now();
            for _ in 0..CALLS {
                runtime.block_on(ai.chat(request(name))).unwrap();
            }
            *least = (*least).min(began.elapsed() / CALLS);
        }
    }
    let micros = |time: Duration| time.as_secs_f64() * 1e6;
    println!("a call: {:.2} µs", micros(least[0]));
    for ((name, _), time) in clients.iter().zip(least) {
        println!("{name:<20} {:>+8.2} µs", micros(time) - micros(least[0]));
    }
}
