//! Inputs that can be made as long or as deep as wanted.

/// Where the number of a repetition is written in what is repeated. No seed has this byte.
pub(super) const NUMBER: u8 = 0;

/// A piece of an input.
#[derive(Clone, Debug)]
pub(super) enum Piece {
    Fixed(Vec<u8>),
    /// `open` many times, `middle` once, and `close` as often as `open`.
    Repeated {
        open: Vec<u8>,
        middle: Vec<u8>,
        close: Vec<u8>,
    },
}

/// An input that grows: fixed text, and pieces that are repeated.
#[derive(Clone, Debug)]
pub struct Shape {
    /// What it is: shapes of one name are one.
    pub(super) name: String,
    /// Whether it is nested, so that its depth grows.
    pub(super) is_deep: bool,
    pieces: Vec<Piece>,
}

impl Shape {
    /// A shape of these pieces.
    pub(super) fn new(name: impl Into<String>, pieces: Vec<Piece>) -> Self {
        Self { name: name.into(), is_deep: false, pieces }
    }

    /// A shape that becomes deeper when it grows.
    pub(super) fn nested(name: impl Into<String>, pieces: Vec<Piece>) -> Self {
        Self { name: name.into(), is_deep: true, pieces }
    }

    /// The input with about this many bytes of repetitions.
    pub(super) fn sized(&self, bytes: usize) -> Vec<u8> {
        let repeated = self.pieces.iter().filter(|piece| piece.step() > 0).count().max(1);
        self.made(|step| bytes / repeated / step)
    }

    /// The input in which every repeated piece is repeated this often.
    pub(super) fn repeated(&self, times: usize) -> Vec<u8> {
        self.made(|_| times)
    }

    /// How many bytes one repetition adds.
    pub(super) fn step(&self) -> usize {
        self.pieces.iter().map(Piece::step).sum()
    }

    fn made(&self, times: impl Fn(usize) -> usize) -> Vec<u8> {
        let mut input = Vec::new();
        for piece in &self.pieces {
            match piece {
                Piece::Fixed(bytes) => input.extend_from_slice(bytes),
                Piece::Repeated { open, middle, close } => {
                    let times = times(piece.step().max(1)).max(1);
                    (0..times).for_each(|at| write(open, at, &mut input));
                    write(middle, times, &mut input);
                    (0..times).rev().for_each(|at| write(close, at, &mut input));
                }
            }
        }
        input
    }
}

impl Piece {
    fn step(&self) -> usize {
        match self {
            Self::Fixed(_) => 0,
            Self::Repeated { open, close, .. } => open.len() + close.len(),
        }
    }
}

fn write(bytes: &[u8], number: usize, input: &mut Vec<u8>) {
    for (at, piece) in bytes.split(|byte| *byte == NUMBER).enumerate() {
        if at > 0 {
            input.extend_from_slice(number.to_string().as_bytes());
        }
        input.extend_from_slice(piece);
    }
}

#[test]
fn a_shape_grows_to_a_size_and_to_a_depth() {
    let piece = |open: &[u8], middle: &[u8], close: &[u8]| Piece::Repeated {
        open: open.to_vec(),
        middle: middle.to_vec(),
        close: close.to_vec(),
    };
    let shape = Shape::nested("", vec![Piece::Fixed(b"x".to_vec()), piece(b"[\0,", b"1", b"]")]);
    assert_eq!(shape.repeated(2), b"x[0,[1,1]]");
    assert_eq!(shape.sized(8), shape.repeated(2));
}
