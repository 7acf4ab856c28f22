//! libFuzzer on the target that `FUZZ_TARGET` names. Half of its changes to an input are our own, which know JSON and
//! streams.

#![no_main]

use std::sync::OnceLock;

use agentloop_fuzz::{Mutator, Rng, Target};
use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};

fn target() -> Target {
    static TARGET: OnceLock<Target> = OnceLock::new();
    *TARGET.get_or_init(|| {
        let name = std::env::var("FUZZ_TARGET").expect("FUZZ_TARGET names the target");
        Target::of(&name).expect("FUZZ_TARGET names a target")
    })
}

fuzz_target!(|input: &[u8]| target().check(input));

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    static MUTATOR: OnceLock<Mutator> = OnceLock::new();
    let mut rng = Rng::new(u64::from(seed));
    if rng.below(2) == 0 {
        return fuzzer_mutate(data, size, max_size);
    }
    let mutator = MUTATOR.get_or_init(|| Mutator::new(target().seeds()));
    let changed = mutator.mutated(&data[..size], &mut rng);
    let length = changed.len().min(max_size);
    data[..length].copy_from_slice(&changed[..length]);
    length
});
