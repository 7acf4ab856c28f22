//! What reading an input costs, on a thread whose stack is small.

use std::thread;

/// The stack of the thread that reads, in bytes: a quarter of what threads have otherwise. Without optimization the frames are several times
/// as large (serde_json takes 4 kB for each of its 127 levels, and futures are moved through the stack), so it is all of that.
pub const STACK: usize = if cfg!(debug_assertions) { 2 << 20 } else { 512 << 10 };

/// What reading an input cost.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Cost {
    /// The length of the input.
    pub length: usize,
    /// The most bytes that were in memory at once, without the input.
    pub peak: u64,
    /// All bytes that were allocated. What copies or is quadratic allocates more.
    pub allocated: u64,
    /// How often memory was allocated.
    pub allocations: u64,
}

/// Reads the inputs one after the other on a thread of [`STACK`] bytes of that name, and counts. `Err` is why it panicked.
pub(super) fn costs(name: &str, inputs: &[Vec<u8>], read: fn(&[u8])) -> Result<Vec<Cost>, String> {
    // The name is in the message of a stack that overflows, which ends the process. It has no zero bytes.
    let builder = thread::Builder::new().name(name.replace('\0', "0")).stack_size(STACK);
    thread::scope(|scope| {
        let reading = builder
            .spawn_scoped(scope, || inputs.iter().map(|input| cost(input, read)).collect())
            .map_err(|error| error.to_string())?;
        reading.join().map_err(|panic| {
            let text = panic.downcast_ref::<String>().cloned();
            text.or_else(|| panic.downcast_ref::<&str>().map(ToString::to_string))
                .unwrap_or_else(|| "it panicked".into())
        })
    })
}

fn cost(input: &[u8], read: fn(&[u8])) -> Cost {
    let counted = allocation_counter::measure(|| counted(input, read));
    Cost {
        length: input.len(),
        peak: counted.bytes_max,
        allocated: counted.bytes_total,
        allocations: counted.count_total,
    }
}

/// Reads one input. Tools that count instructions find the function by its name.
#[inline(never)]
fn counted(input: &[u8], read: fn(&[u8])) {
    read(std::hint::black_box(input));
}
