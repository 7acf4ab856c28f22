//! One harness for every place that reads input: inputs that are deep, wide, long, repeated or cut, at 1, 4 and 16 times a
//! size, on a thread with a small stack and an allocator that counts.
//!
//! A [`Reader`] is a row of a table: what reads, which files of the sources it covers, and seeds. The hostile inputs are made of the
//! seeds, so a new reader has all of them. A reader that is in no table fails the test that searches the sources for readers
//! ([`unlisted`]).
//!
//! What holds for every input:
//!
//! - Nothing panics, and no stack overflows, whatever the depth.
//! - Reading takes at most [`HELD_PER_BYTE`] bytes of memory for each byte of the input, beside [`HELD_FREE`]. A row with another
//!   figure states why.
//! - An input that is four times as long makes at most [`MAX_GROWTH`] times as many allocations of as many bytes. The allocations are a
//!   count of the work, and no time. Work that allocates nothing, such as searching a list, is not seen.

mod json;
mod measure;
mod places;
mod readers;
mod shape;
mod sources;
#[cfg(test)]
mod tests;
mod text;

pub use measure::{Cost, STACK};
pub use readers::{NO_READERS, READERS};
pub use shape::Shape;
pub use sources::{NoReader, unlisted};
pub use text::Words;

/// How many bytes of memory a reader may take for each byte of its input.
pub const HELD_PER_BYTE: u64 = 16;

/// The bytes of memory that a reader may take however short its input is: buffers, and a few messages.
pub const HELD_FREE: u64 = 512 << 10;

/// How many times the allocations may become when the input is four times as long: four, and half as much for buffers that double.
pub const MAX_GROWTH: u64 = 6;

/// What does not show growth, whatever the size: as many bytes as may be in memory for each byte of the input (buffers that double copy
/// what they hold), and an allocation for each of so many bytes of the input.
const GROWTH_FREE: (u64, u64) = (1, 4);

/// How many seeds are cut, the shortest first, and at how many places each.
const MAX_CUT: (usize, usize) = (4, 200);

/// The depths of which each is read.
pub const DEPTHS: [usize; 3] = [10, 1_000, 1_000_000];

/// How the seeds of a reader are to be understood.
#[derive(Clone, Copy, Debug)]
pub enum Form {
    /// A document of JSON.
    Json,
    /// Events or lines, each with a document, and what is at the end of each.
    Events(&'static str),
    /// Other text, and its words.
    Text(Words),
}

/// A place that reads input.
#[derive(Clone, Copy, Debug)]
pub struct Reader {
    /// Its name.
    pub name: &'static str,
    /// The files that it runs through, or folders that end with `/`, beneath `crates`.
    pub covers: &'static [&'static str],
    form: Form,
    seeds: fn() -> Vec<Vec<u8>>,
    prepare: fn(&[u8]) -> Vec<u8>,
    read: fn(&[u8]),
    held: (u64, &'static str),
    free: u64,
    growth: (u64, &'static str),
}

impl Reader {
    /// A reader that keeps the limits of all.
    pub const fn new(
        name: &'static str,
        form: Form,
        seeds: fn() -> Vec<Vec<u8>>,
        read: fn(&[u8]),
        covers: &'static [&'static str],
    ) -> Self {
        let (held, growth) = ((HELD_PER_BYTE, ""), (MAX_GROWTH, ""));
        Self {
            name,
            covers,
            form,
            seeds,
            prepare: <[u8]>::to_vec,
            read,
            held,
            free: HELD_FREE,
            growth,
        }
    }

    /// Sets what is made of an input before it is read, for example the frames of a text.
    #[must_use]
    pub const fn prepare(mut self, prepare: fn(&[u8]) -> Vec<u8>) -> Self {
        self.prepare = prepare;
        self
    }

    /// Sets another number of bytes of memory for each byte, and why.
    #[must_use]
    pub const fn held(mut self, per_byte: u64, reason: &'static str) -> Self {
        self.held = (per_byte, reason);
        self
    }

    /// Sets the bytes of memory that it may take however short a long input is. It counts in a release build only: what
    /// it allows would hide what becomes of the short inputs of every run.
    #[must_use]
    pub const fn free(mut self, bytes: u64) -> Self {
        self.free = bytes;
        self
    }

    /// Sets how many times its allocations may become with four times the input, and why.
    #[must_use]
    pub const fn growth(mut self, times: u64, reason: &'static str) -> Self {
        self.growth = (times, reason);
        self
    }

    /// Returns the reader of that name.
    pub fn of(name: &str) -> Option<Self> {
        READERS.iter().flat_map(|some| some.iter()).copied().find(|reader| reader.name == name)
    }

    /// Reads every shape at three sizes, nested ones at three depths, and the seeds cut.
    ///
    /// # Panics
    ///
    /// If a limit does not hold. A stack that overflows ends the process, with the name of the reader and of the shape.
    pub fn check(&self, scale: Scale) -> Measured {
        let seeds = (self.seeds)();
        assert!(!seeds.is_empty(), "{} has no seeds", self.name);
        // What is built once is not part of what an input costs, and may take more stack.
        seeds.iter().take(50).for_each(|seed| (self.read)(&(self.prepare)(seed)));
        let mut measured = Measured::default();
        for shape in chosen(self.shapes(&seeds), scale.shapes) {
            measured.shapes += 1;
            let inputs = [1, 4, 16].map(|times| shape.sized(times * scale.base));
            if let Some(costs) = self.read_all(&shape.name, &inputs, &mut measured) {
                self.check_growth(&shape.name, &costs, &mut measured);
            }
        }
        self.check_depths(&seeds, scale, &mut measured);
        self.check_cut(&seeds, &mut measured);
        measured
    }

    /// The hostile shapes of the seeds.
    fn shapes(&self, seeds: &[Vec<u8>]) -> Vec<Shape> {
        let end = match self.form {
            Form::Text(words) => return text::shapes(seeds, words),
            Form::Json => None,
            Form::Events(end) => Some(end),
        };
        let mut maker = json::Maker::default();
        seeds.iter().for_each(|seed| maker.add(seed, end));
        maker.shapes
    }

    fn check_depths(&self, seeds: &[Vec<u8>], scale: Scale, measured: &mut Measured) {
        let mut deep: Vec<Shape> =
            self.shapes(seeds).into_iter().filter(|shape| shape.is_deep).collect();
        deep = chosen(deep, scale.shapes);
        for depth in DEPTHS {
            let fits = |shape: &&Shape| shape.step() * depth <= scale.deepest;
            let most = if depth > 1_000 { scale.deep } else { scale.shapes / 4 };
            for shape in deep.iter().filter(fits).take(most) {
                let name = format!("{depth} times {}", shape.name);
                self.read_all(&name, &[shape.repeated(depth)], measured);
            }
        }
    }

    fn check_cut(&self, seeds: &[Vec<u8>], measured: &mut Measured) {
        let mut seeds: Vec<&Vec<u8>> = seeds.iter().collect();
        seeds.sort_by_key(|seed| seed.len());
        for seed in seeds.into_iter().take(MAX_CUT.0) {
            let every = seed.len().div_ceil(MAX_CUT.1).max(1);
            let cut: Vec<Vec<u8>> =
                (0..seed.len()).step_by(every).map(|end| seed[..end].to_vec()).collect();
            self.read_all("a seed that is cut", &cut, measured);
        }
    }

    /// Reads inputs and checks the memory of each.
    fn read_all(
        &self,
        shape: &str,
        inputs: &[Vec<u8>],
        measured: &mut Measured,
    ) -> Option<Vec<Cost>> {
        let inputs: Vec<Vec<u8>> = inputs.iter().map(|input| (self.prepare)(input)).collect();
        let name = format!("{}: {shape}", self.name);
        let costs = match measure::costs(&name, &inputs, self.read) {
            Ok(costs) => costs,
            Err(panic) => {
                measured.broken.push(format!("{name}: {panic}"));
                return None;
            }
        };
        for cost in &costs {
            let free = if cfg!(debug_assertions) { HELD_FREE } else { self.free };
            let most = self.held.0 * cost.length as u64 + free;
            measured.per_byte = measured
                .per_byte
                .max(cost.peak.saturating_sub(HELD_FREE).div_ceil(cost.length.max(1) as u64));
            if cost.peak > most {
                let (length, peak) = (cost.length, cost.peak);
                measured.broken.push(format!("{name}: {peak} bytes for {length}"));
                return None;
            }
        }
        Some(costs)
    }

    /// Checks that three inputs cost in proportion to what each has more than the one before.
    fn check_growth(&self, shape: &str, costs: &[Cost], measured: &mut Measured) {
        let [one, four, sixteen] = costs else { return };
        let more = (sixteen.length - four.length) as u64;
        let counts = [
            (
                "bytes",
                costs.iter().map(|cost| cost.allocated).collect(),
                more * self.held.0 * GROWTH_FREE.0,
            ),
            (
                "allocations",
                costs.iter().map(|cost| cost.allocations).collect(),
                more / GROWTH_FREE.1,
            ),
        ];
        // Four times the size is not always four times the length.
        let longer = more * 10 / (four.length - one.length).max(1) as u64;
        for (what, counts, free) in counts {
            let counts: Vec<u64> = counts;
            // What is refused for its size or its depth costs less than what is shorter.
            let few = counts[1].abs_diff(counts[0]);
            let many = counts[2].saturating_sub(counts[1].max(counts[0]));
            if many <= free {
                continue;
            }
            // In tenths, for four times the length.
            let growth = many * 400 / (few.max(1) * longer.max(1));
            measured.growth_tenths = measured.growth_tenths.max(growth);
            if growth > self.growth.0 * 10 {
                let lengths: Vec<usize> = costs.iter().map(|cost| cost.length).collect();
                let name = self.name;
                measured
                    .broken
                    .push(format!("{name}: {shape}: {counts:?} {what} for {lengths:?} bytes"));
                return;
            }
        }
    }
}

/// What the readings of a reader took at most.
#[derive(Clone, Debug, Default)]
pub struct Measured {
    /// How many shapes were read.
    pub shapes: usize,
    /// Bytes of memory for each byte of the input, beyond [`HELD_FREE`].
    pub per_byte: u64,
    /// How many times the allocations became with four times the input, in tenths.
    pub growth_tenths: u64,
    /// What does not hold.
    pub broken: Vec<String>,
}

/// How much of all inputs is read.
#[derive(Clone, Copy, Debug)]
pub struct Scale {
    /// The smallest size, in bytes.
    pub base: usize,
    /// The most shapes of a reader.
    pub shapes: usize,
    /// The most shapes that are read a million levels deep.
    pub deep: usize,
    /// The longest input that is only deep, in bytes.
    pub deepest: usize,
}

impl Scale {
    /// What every run of the tests reads.
    pub const QUICK: Self = Self { base: 4 << 10, shapes: 20, deep: 1, deepest: 2 << 20 };

    /// Most shapes in a release build, and otherwise what is quick.
    pub const fn of_this_build() -> Self {
        if cfg!(debug_assertions) { Self::QUICK } else { Self::ALL }
    }

    /// Most shapes, and longer ones.
    pub const ALL: Self = Self { base: 16 << 10, shapes: 1_000, deep: 20, deepest: 16 << 20 };
}

/// Hostile inputs of about this many bytes, made of seeds that are JSON after the bytes that say how they are read: for a fuzzer, which would
/// need long to make a long one.
pub fn examples(seeds: &[Vec<u8>], count: usize, bytes: usize) -> Vec<Vec<u8>> {
    let mut maker = json::Maker::default();
    seeds.iter().for_each(|seed| maker.add(seed, Some("\n")));
    chosen(maker.shapes, count).iter().map(|shape| shape.sized(bytes)).collect()
}

/// Some of the shapes, always the same ones: half of them nested.
fn chosen(mut shapes: Vec<Shape>, most: usize) -> Vec<Shape> {
    if shapes.len() <= most {
        return shapes;
    }
    shapes.sort_by_key(|shape| {
        let mix = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        shape.name.bytes().fold(0xcbf2_9ce4_8422_2325, mix)
    });
    let (mut deep, mut other): (Vec<Shape>, Vec<Shape>) =
        shapes.into_iter().partition(|shape| shape.is_deep);
    deep.truncate(most / 2);
    other.truncate(most - deep.len());
    deep.append(&mut other);
    deep
}

impl std::fmt::Display for Measured {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let tenths = self.growth_tenths;
        let (shapes, per_byte) = (self.shapes, self.per_byte);
        write!(
            out,
            "{shapes:>5} shapes {per_byte:>5} bytes per byte {:>3}.{} growth",
            tenths / 10,
            tenths % 10
        )
    }
}
