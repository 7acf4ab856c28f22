//! Hostile shapes of text that is not JSON: what opens and closes, what repeats, and the lines of the seeds.

use super::shape::{Piece, Shape};

/// How many lines of each seed are repeated.
const MAX_LINES: usize = 12;

/// What a text can have of: pairs that nest, with what is innermost, and words that repeat. A zero byte is the number of a repetition.
#[derive(Clone, Copy, Debug)]
pub struct Words {
    /// What opens, what is inside, and what closes.
    pub nests: &'static [(&'static str, &'static str, &'static str)],
    /// What is written again and again.
    pub repeats: &'static [&'static str],
}

pub(super) fn shapes(seeds: &[Vec<u8>], words: Words) -> Vec<Shape> {
    let mut shapes = Vec::new();
    let piece = |open: &[u8], middle: &[u8], close: &[u8]| Piece::Repeated {
        open: open.to_vec(),
        middle: middle.to_vec(),
        close: close.to_vec(),
    };
    for (open, middle, close) in words.nests {
        for (shown, close) in [("", *close), (", cut", "")] {
            let nested = piece(open.as_bytes(), middle.as_bytes(), close.as_bytes());
            shapes.push(Shape::nested(format!("deep {open}{shown}"), vec![nested]));
        }
    }
    for word in words.repeats {
        shapes.push(Shape::new(format!("many {word}"), vec![piece(word.as_bytes(), b"", b"")]));
    }
    for (number, seed) in seeds.iter().enumerate() {
        shapes.push(Shape::new(format!("seed {number} many times"), vec![piece(seed, b"", b"")]));
        let mut start = 0;
        let lines: Vec<&[u8]> = seed.split_inclusive(|byte| *byte == b'\n').collect();
        let every = lines.len().div_ceil(MAX_LINES).max(1);
        for (at, line) in lines.iter().enumerate() {
            let end = start + line.len();
            if at % every == 0 {
                let before = || Piece::Fixed(seed[..start].to_vec());
                let after = || Piece::Fixed(seed[end..].to_vec());
                let many = vec![before(), piece(line, b"", b""), after()];
                shapes.push(Shape::new(format!("line {at} of seed {number} many times"), many));
                let (head, tail) = line.split_at(line.len() / 2);
                let fixed = |bytes: &[u8]| Piece::Fixed(bytes.to_vec());
                let long = vec![before(), fixed(head), piece(b"a", b"", b""), fixed(tail), after()];
                shapes.push(Shape::new(format!("line {at} of seed {number}, long"), long));
            }
            start = end;
        }
    }
    shapes
}
