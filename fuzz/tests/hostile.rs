//! Every place that reads input, with inputs that are deep, wide, long, repeated or cut.
//!
//! `cargo test --release -p agentloop-fuzz --test hostile` reads most shapes, and longer ones.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test that fails, fails, and reports what it measured"
)]

use agentloop_fuzz::hostile::{NO_READERS, READERS, Reader, Scale, unlisted};

fn check(readers: &[Reader]) {
    let mut broken = Vec::new();
    for reader in readers {
        let began = std::time::Instant::now();
        let measured = reader.check(Scale::of_this_build());
        println!("{:<40} {measured} {:?}", reader.name, began.elapsed());
        broken.extend(measured.broken);
    }
    assert!(broken.is_empty(), "{} broken:\n{}", broken.len(), broken.join("\n"));
}

macro_rules! areas {
    ($($name:ident: $at:literal;)*) => {
        $(#[test] fn $name() { check(READERS[$at]); })*

        #[test]
        fn every_area_of_the_table_is_tested() {
            assert_eq!(READERS.len(), [$($at),*].len());
        }
    };
}

areas! {
    responses_keep_the_limits: 0;
    framing_keeps_the_limits: 1;
    requests_of_clients_keep_the_limits: 2;
    other_bodies_keep_the_limits: 3;
    files_keep_the_limits: 4;
    requests_at_the_gateway_keep_the_limits: 5;
    files_of_the_gateway_keep_the_limits: 6;
    translated_responses_keep_the_limits: 7;
}

#[test]
fn every_reader_of_the_sources_is_in_the_table() {
    let names = ["agentloop", "agentloop-gateway", "agentloop-macros", "agentloop-sim"];
    let wrong = unlisted(&names, READERS, NO_READERS);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
