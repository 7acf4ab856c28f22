//! Changes of inputs: of their bytes, of their lines, and of the JSON in them.

use serde_json::Value;

use crate::rng::Rng;
use crate::tree;

/// The longest input that is made.
const MAX_INPUT: usize = 64 << 10;

/// Words that readers react to.
const WORDS: &[&str] = &[
    "null",
    "\"\"",
    "[]",
    "{}",
    "0",
    "-1",
    "1e400",
    "-1e-400",
    "18446744073709551616",
    "true",
    "[DONE]",
    "\ndata: ",
    "\r\n",
    "\r",
    "\n\n",
    "\u{feff}",
    "event: error\n",
    ":\n",
    "\"error\":{},",
    "\"choices\":null,",
    "\"index\":\"1\",",
    "\"id\":\"\",",
    "<think>",
    "</think>",
    "\\ud83d",
    "\\u0000",
    "\"type\":\"reasoning\",",
    "\"output_index\":4294967296,",
    "[[[[[[[[",
    "```json\n",
    "data:[",
    ",]",
    "\"\\",
    "é",
    "🙂",
    "[a]\n",
    "$ID",
];

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
        let mut changed = match rng.below(4) {
            0 => self.bytes(input, rng),
            1 => self.lines(input, rng),
            _ => self.json(input, rng).unwrap_or_else(|| self.bytes(input, rng)),
        };
        changed.truncate(MAX_INPUT);
        changed
    }

    fn bytes(&self, input: &[u8], rng: &mut Rng) -> Vec<u8> {
        let mut bytes = input.to_vec();
        let at = rng.below(bytes.len() + 1);
        let end = (at + rng.below(12)).min(bytes.len());
        match rng.below(7) {
            0 => drop(bytes.drain(at..end)),
            1 => drop(bytes.splice(at..end, rng.pick(WORDS).bytes())),
            2 => bytes.truncate(at),
            3 => {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte ^= 1 << rng.below(8);
                }
            }
            4 => {
                let end = (at + rng.below(400)).min(bytes.len());
                let again = bytes[at..end].to_vec();
                drop(bytes.splice(at..at, again));
            }
            5 => {
                let other = rng.pick(&self.seeds);
                let from = rng.below(other.len() + 1);
                let to = (from + rng.below(400)).min(other.len());
                drop(bytes.splice(at..end, other[from..to].to_vec()));
            }
            _ => {
                // How an input is to be read stands in its first bytes.
                let byte = u8::try_from(rng.below(256)).unwrap_or_default();
                let first = rng.below(2);
                if let Some(place) = bytes.get_mut(first) {
                    *place = byte;
                }
            }
        }
        bytes
    }

    /// Lines that go, come twice, or change places; or all of them end otherwise.
    fn lines(&self, input: &[u8], rng: &mut Rng) -> Vec<u8> {
        let mut lines: Vec<&[u8]> = input.split_inclusive(|byte| *byte == b'\n').collect();
        if lines.len() < 2 {
            return self.bytes(input, rng);
        }
        let (one, two) = (rng.below(lines.len()), rng.below(lines.len()));
        match rng.below(4) {
            0 => drop(lines.remove(one)),
            1 => lines.insert(one, lines[two]),
            2 => lines.swap(one, two),
            _ => {
                let other = rng.pick(&self.seeds);
                let others: Vec<&[u8]> = other.split_inclusive(|byte| *byte == b'\n').collect();
                lines[one] = others.get(rng.below(others.len())).copied().unwrap_or_default();
            }
        }
        lines.concat()
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
