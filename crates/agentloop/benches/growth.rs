//! Instructions for each byte of a response, for responses of one, four and sixteen times a size.
//!
//! `cargo bench -p agentloop --features serve --bench growth` counts them with `valgrind --tool=callgrind` and prints a table: hostile shapes
//! of the tests (`tests/it/bounds/hostile.rs`), and text as providers send it, delta by delta and as a whole body. What is
//! decoded in linear time has the same number in all three columns; `!` marks a row whose last number is more than half
//! larger than its first. Decoding alone is counted, not the making of the input.
//!
//! With the name of a shape and a number it only decodes that shape at so many times its size. Shapes of many open parts are also
//! written for a client of every protocol that clients speak: `SHAPE → PROTOCOL`.

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

use agentloop::carry::Carrier;
use agentloop::inspect::{self, DecodeOptions, HttpResponse};
use agentloop::protocol::serve::StreamWriter;
use agentloop::{AgentLoop, Protocol};
use bodies::{Sent, Shape};
use hostile::SHAPES;

const TIMES: [usize; 3] = [1, 4, 16];

/// Between the name of a shape and that of a protocol.
const ARROW: &str = " → ";

fn main() {
    let arguments: Vec<String> =
        std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    if let [name, times] = arguments.as_slice() {
        let (name, client) = name.split_once(ARROW).unwrap_or((name, ""));
        let shape = SHAPES.iter().find(|shape| shape.name == name).unwrap();
        let sent = (shape.make)(shape.elements * times.parse::<usize>().unwrap());
        let ai = AgentLoop::builder().build().unwrap();
        return decode(&ai, &sent, Protocol::from_name(client));
    }
    println!("| shape | bytes at 1× | 1× | 4× | 16× | |\n|---|---|---|---|---|---|");
    for shape in SHAPES {
        print_row(shape, shape.name);
        let clients = if shape.name.contains("open") { Protocol::ALL } else { &[] };
        for client in clients {
            print_row(shape, &format!("{}{ARROW}{}", shape.name, client.name()));
        }
    }
}

fn print_row(shape: &Shape, name: &str) {
    let counted = TIMES.map(|times| counted(shape, name, times));
    let mark = if counted[2] > 1.5 * counted[0] { "!" } else { "" };
    let [one, four, sixteen] = counted;
    let bytes = (shape.make)(shape.elements).bytes();
    println!("| {name} | {bytes} | {one:.1} | {four:.1} | {sixteen:.1} | {mark} |");
}

/// Instructions for each byte.
#[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
fn counted(shape: &Shape, name: &str, times: usize) -> f64 {
    let output = Command::new("valgrind")
        .args([
            "--tool=callgrind",
            "--callgrind-out-file=/dev/null",
            "--toggle-collect=growth::decode",
        ])
        .arg(std::env::current_exe().unwrap())
        .args([name, &times.to_string()])
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    let line = text.lines().find(|line| line.contains("Collected :"));
    let count = line.and_then(|line| line.split_whitespace().last()?.parse::<u64>().ok());
    let count = count.unwrap_or_else(|| panic!("valgrind counted nothing: {text}"));
    count as f64 / (shape.make)(shape.elements * times).bytes() as f64
}

/// Decodes a response to its end, whatever that is, and writes it for a client, if there is one.
#[inline(never)]
fn decode(ai: &AgentLoop, sent: &Sent, client: Option<Protocol>) {
    let mut options = DecodeOptions::new(sent.provider);
    options.model = Some(sent.model.to_owned());
    options.stream = sent.stream;
    options.protocol = sent.protocol;
    let mut answer = HttpResponse::new(bytes::Bytes::new());
    answer.pieces.clone_from(&sent.pieces);
    let Ok(mut stream) = inspect::decode(ai, &options, answer) else { return };
    let upstream = sent.protocol.unwrap_or(Protocol::OpenAiChat);
    let mut client = client.map(|client| {
        (Carrier::new(client, upstream), StreamWriter::new(client, true), Vec::new())
    });
    loop {
        match pin!(stream.next()).poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(Some(Ok(event))) => {
                if let Some((carrier, writer, events)) = &mut client {
                    carrier.push(event, events);
                    events.drain(..).for_each(|event| drop(writer.write(&event)));
                }
            }
            Poll::Ready(_) => return,
            // Reading returns control now and then; all bytes are there.
            Poll::Pending => {}
        }
    }
}
