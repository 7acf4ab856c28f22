//! What the middlewares add to a call, in allocations: `cargo bench -p agentloop --bench stack_allocations`. Fails when the whole
//! stack adds more than it may.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a benchmark prints, and fails when it cannot run"
)]

mod stacks;

use stacks::{STACKS, client, request, runtime};

/// The most allocations that the whole stack may add to a call.
const MOST: u64 = 20;

fn main() {
    let runtime = runtime();
    let mut plain = None;
    for (name, stack) in STACKS {
        let ai = client(stack);
        let call = || drop(runtime.block_on(ai.chat(request(name))).unwrap());
        (0..50).for_each(|_| call());
        let counts = (0..20).map(|_| allocation_counter::measure(call));
        let least = counts.min_by_key(|info| info.count_total).unwrap_or_default();
        let (count, bytes) = (least.count_total, least.bytes_total);
        let base = *plain.get_or_insert((count, bytes));
        let added = count - base.0;
        println!("{name:<20} {added:>+4} {:>+8} bytes", bytes.cast_signed() - base.1.cast_signed());
        assert!(name != "all" || added <= MOST, "the stack adds {added} allocations to a call");
    }
}
