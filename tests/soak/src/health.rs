//! Memory, tasks and file descriptors over time.

use std::time::{Duration, Instant};

/// What was seen of this process, once a second.
pub(crate) struct Health {
    began: Instant,
    warm_up: Duration,
    /// Minutes since the beginning, and the memory in KiB then.
    memory: Vec<(f64, f64)>,
    pub(crate) most_tasks: usize,
    pub(crate) most_files: usize,
    pub(crate) last: Option<Look>,
}

#[derive(Clone, Copy)]
pub(crate) struct Look {
    pub(crate) memory: f64,
    pub(crate) tasks: usize,
    pub(crate) files: usize,
}

impl Health {
    pub(crate) fn new(began: Instant, warm_up: Duration) -> Self {
        let memory = Vec::with_capacity(1 << 13);
        Self { began, warm_up, memory, most_tasks: 0, most_files: 0, last: None }
    }

    pub(crate) fn look(&mut self, tasks: usize) {
        let look = Look { memory: memory(), tasks, files: open_files() };
        self.last = Some(look);
        self.most_tasks = self.most_tasks.max(tasks);
        self.most_files = self.most_files.max(look.files);
        let time = self.began.elapsed();
        if time >= self.warm_up {
            self.memory.push((time.as_secs_f64() / 60.0, look.memory));
        }
    }

    /// By how many KiB the memory grew in a minute: the line through all that was seen.
    pub(crate) fn slope(&self) -> f64 {
        let count = self.memory.len().max(1) as f64;
        let (x, y) = self.memory.iter().fold((0.0, 0.0), |sum, at| (sum.0 + at.0, sum.1 + at.1));
        let (x, y) = (x / count, y / count);
        let (mut both, mut square) = (0.0, f64::MIN_POSITIVE);
        for (minute, memory) in &self.memory {
            both += (minute - x) * (memory - y);
            square += (minute - x).powi(2);
        }
        both / square
    }

    /// The medians of the first and of the last quarter, in KiB.
    pub(crate) fn quarters(&self) -> Option<(f64, f64)> {
        let quarter = self.memory.len() / 4;
        let median = |part: &[(f64, f64)]| {
            let mut sizes: Vec<f64> = part.iter().map(|at| at.1).collect();
            sizes.sort_by(f64::total_cmp);
            sizes.get(sizes.len() / 2).copied()
        };
        let first = median(self.memory.get(..quarter)?)?;
        let last = median(self.memory.get(self.memory.len() - quarter..)?)?;
        Some((first, last))
    }
}

/// Returns the memory of this process in KiB, or 0 if the system does not report it.
fn memory() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let size = line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok());
    size.unwrap_or(0.0)
}

/// Returns how many files and sockets are open, or 0 if the system does not report it.
pub(crate) fn open_files() -> usize {
    std::fs::read_dir("/proc/self/fd").map(Iterator::count).unwrap_or(0)
}
