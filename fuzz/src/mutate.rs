//! Changes of inputs: of the JSON in them, and of the bytes of those that have none.

use serde_json::Value;

use crate::rng::Rng;
use crate::tree;

/// The longest input that is made.
const MAX_INPUT: usize = 1 << 20;

/// Makes inputs of other inputs.
#[derive(Debug)]
pub struct Mutator {
    seeds: Vec<Vec<u8>>,
    /// JSON from all over the seeds, to put where something else was.
    stock: Vec<Value>,
}

impl Mutator {
    /// One that takes pieces of these inputs.
    pub fn new(seeds: Vec<Vec<u8>>) -> Self {
        let mut stock = Vec::new();
        for seed in &seeds {
            for (start, end) in documents(seed) {
                if let Ok(value) = serde_json::from_slice(&seed[start..end]) {
                    tree::collect(&value, &mut stock);
                }
            }
        }
        stock.sort_by_cached_key(Value::to_string);
        stock.dedup();
        Self { seeds, stock }
    }

    /// An input that was made of a seed. The same generator makes the same input.
    pub fn input(&self, rng: &mut Rng) -> Vec<u8> {
        let mut input = rng.pick(&self.seeds).clone();
        for _ in 0..=rng.below(4) {
            input = self.mutated(&input, rng);
        }
        input
    }

    /// An input with one thing changed.
    pub fn mutated(&self, input: &[u8], rng: &mut Rng) -> Vec<u8> {
        let changed = match rng.below(8) {
            0 => None,
            _ => self.json(input, rng),
        };
        let mut changed = changed.unwrap_or_else(|| self.bytes(input, rng));
        changed.truncate(MAX_INPUT);
        changed
    }

    /// Bytes that go or are taken from another input. How an input is to be read is in its first two bytes.
    fn bytes(&self, input: &[u8], rng: &mut Rng) -> Vec<u8> {
        let mut bytes = input.to_vec();
        let at = rng.below(bytes.len() + 1);
        let end = (at + rng.below(12)).min(bytes.len());
        match rng.below(3) {
            0 => bytes.truncate(at),
            1 => {
                let other = rng.pick(&self.seeds);
                let from = rng.below(other.len() + 1);
                let to = (from + rng.below(400)).min(other.len());
                drop(bytes.splice(at..end, other[from..to].to_vec()));
            }
            _ => {
                let first = rng.below(2);
                if let Some(place) = bytes.get_mut(first) {
                    *place = u8::try_from(rng.below(256)).unwrap_or_default();
                }
            }
        }
        bytes
    }

    /// One value of one document changed, so that it is JSON still.
    fn json(&self, input: &[u8], rng: &mut Rng) -> Option<Vec<u8>> {
        let found = documents(input);
        if found.is_empty() {
            return None;
        }
        let (start, end) = *rng.pick(&found);
        let mut value: Value = serde_json::from_slice(&input[start..end]).ok()?;
        tree::change(&mut value, &self.stock, rng);
        let mut changed = input[..start].to_vec();
        changed.extend_from_slice(&serde_json::to_vec(&value).ok()?);
        changed.extend_from_slice(&input[end..]);
        Some(changed)
    }
}

/// Where JSON stands: all of the input from a brace to its end, or from a brace to the end of its line.
fn documents(input: &[u8]) -> Vec<(usize, usize)> {
    let whole = input.iter().position(|byte| matches!(byte, b'{' | b'['));
    if let Some(start) = whole
        && serde_json::from_slice::<&serde_json::value::RawValue>(&input[start..]).is_ok()
    {
        return vec![(start, input.len())];
    }
    let mut found = Vec::new();
    let mut line = 0;
    for bytes in input.split_inclusive(|byte| *byte == b'\n') {
        if let Some(at) = bytes.iter().position(|byte| *byte == b'{') {
            found.push((line + at, line + bytes.trim_ascii_end().len()));
        }
        line += bytes.len();
    }
    found
}
