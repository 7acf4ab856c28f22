//! Instructions for each byte of a response, for responses of one, four and sixteen times a size.
//!
//! `cargo bench -p agentloop --bench growth` counts them with `valgrind --tool=callgrind` and prints a table: hostile shapes
//! of the tests (`tests/it/bounds/hostile.rs`), and text as providers send it, delta by delta and as a whole body. What is
//! decoded in linear time has the same number in all three columns; `!` marks a row whose last number is more than half
//! larger than its first. Decoding alone is counted, not the making of the input.
//!
//! With the name of a shape and a number it only decodes that shape at so many times its size.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a benchmark prints, and fails when it cannot run"
)]

#[path = "../tests/it/bounds/bodies.rs"]
mod bodies;
#[path = "../tests/it/bounds/hostile.rs"]
mod hostile;

use std::pin::pin;
use std::process::Command;
use std::task::{Context, Poll, Waker};

use agentloop::AgentLoop;
use agentloop::inspect::{self, DecodeOptions, HttpResponse};
use bodies::{Sent, Shape};
use hostile::SHAPES;

const TIMES: [usize; 3] = [1, 4, 16];

fn main() {
    let arguments: Vec<String> =
        std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    if let [name, times] = arguments.as_slice() {
        let shape = SHAPES.iter().find(|shape| shape.name == name).unwrap();
        let sent = (shape.make)(shape.elements * times.parse::<usize>().unwrap());
        let ai = AgentLoop::builder().build().unwrap();
        return decode(&ai, &sent);
    }
    println!("| shape | bytes at 1× | 1× | 4× | 16× | |\n|---|---|---|---|---|---|");
    for shape in SHAPES {
        let counted = TIMES.map(|times| counted(shape, times));
        let mark = if counted[2] > 1.5 * counted[0] { "!" } else { "" };
        let [one, four, sixteen] = counted;
        let bytes = (shape.make)(shape.elements).bytes();
        println!("| {} | {bytes} | {one:.1} | {four:.1} | {sixteen:.1} | {mark} |", shape.name);
    }
}

/// Instructions for each byte.
#[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
fn counted(shape: &Shape, times: usize) -> f64 {
    let output = Command::new("valgrind")
        .args([
            "--tool=callgrind",
            "--callgrind-out-file=/dev/null",
            "--toggle-collect=growth::decode",
        ])
        .arg(std::env::current_exe().unwrap())
        .args([shape.name, &times.to_string()])
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    let line = text.lines().find(|line| line.contains("Collected :"));
    let count = line.and_then(|line| line.split_whitespace().last()?.parse::<u64>().ok());
    let count = count.unwrap_or_else(|| panic!("valgrind counted nothing: {text}"));
    count as f64 / (shape.make)(shape.elements * times).bytes() as f64
}

/// Decodes a response to its end, whatever that is.
#[inline(never)]
fn decode(ai: &AgentLoop, sent: &Sent) {
    let mut options = DecodeOptions::new(sent.provider);
    options.model = Some(sent.model.to_owned());
    options.stream = sent.stream;
    options.protocol = sent.protocol;
    let mut answer = HttpResponse::new(bytes::Bytes::new());
    answer.pieces.clone_from(&sent.pieces);
    let Ok(mut stream) = inspect::decode(ai, &options, answer) else { return };
    loop {
        match pin!(stream.next()).poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(Some(Ok(_))) => {}
            Poll::Ready(_) => return,
            // Reading returns control now and then; all bytes are there.
            Poll::Pending => {}
        }
    }
}
