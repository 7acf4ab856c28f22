//! What is said of it.

use std::fmt::{self, Write as _};
use std::time::{Duration, Instant};

use agentloop::{Protocol, Usd};
use tokio::runtime::Runtime;

use crate::Plan;
use crate::group::{Group, PICOS_PER_TOKEN, lane};
use crate::health::{Health, open_files};
use crate::tally::{Tally, lock, read};

/// Memory may differ by so much between the quarters of a run and still be the same.
const NOISE_KIB: f64 = 8.0 * 1024.0;

/// Shorter ones say nothing of memory.
const LONG: Duration = Duration::from_secs(120);

/// How it went.
#[derive(Debug)]
pub struct Report {
    text: String,
    /// What should hold and does not.
    pub broken: Vec<String>,
}

/// How it goes.
pub(crate) fn line(time: Duration, tally: &Tally, health: &Health) -> String {
    let [begun, right, failed, left] =
        [&tally.begun, &tally.right, &tally.failed, &tally.left].map(read);
    let (memory, tasks, files) =
        health.last.map_or((0.0, 0, 0), |last| (last.memory / 1024.0, last.tasks, last.files));
    format!(
        "{:>5} s: {begun} calls, {right} right, {failed} failed, {left} left; {memory:.1} MiB, {tasks} tasks, {files} files",
        time.as_secs()
    )
}

/// How long is waited for what ends by itself, however busy this machine is.
const PATIENCE: Duration = Duration::from_secs(120);

/// Waits until something is so, or for [`PATIENCE`].
pub(crate) fn wait(is_so: impl Fn() -> bool) {
    let began = Instant::now();
    while !is_so() && began.elapsed() < PATIENCE {
        std::thread::sleep(Duration::from_millis(20));
    }
}

impl Report {
    pub(crate) fn new(plan: Plan, tally: &Tally, health: &Health) -> Self {
        let mut report = Self { text: String::new(), broken: Vec::new() };
        report.say(line(plan.time, tally, health));
        report.say(format!("calls: {:?}", lock(&tally.by_call)));
        report.say(format!("errors: {:?}", tally.errors()));
        let ended = [&tally.right, &tally.failed, &tally.left].map(read).iter().sum::<u64>();
        report.holds("every call ended once", ended == read(&tally.begun));
        report.holds("no answer is wrong", read(&tally.wrong) == 0);
        report.holds("no call hangs", read(&tally.hung) == 0);
        for (what, example) in tally.unexplained() {
            report.broken.push(format!("{what} is explained by no fault: {example}"));
        }
        report.say(format!("most tasks {}, most files {}", health.most_tasks, health.most_files));
        if let Some((first, last)) = health.quarters() {
            let (first_mib, last_mib) = (first / 1024.0, last / 1024.0);
            report.say(format!(
                "memory after the warm-up: {first_mib:.1} MiB in the first quarter, {last_mib:.1} in the last; {:+.1} KiB a minute",
                health.slope()
            ));
            let flat = last - first <= NOISE_KIB.max(first / 10.0);
            report.holds("memory is flat", flat || plan.time < LONG);
        }
        report
    }

    /// Compares the ledger of a group with the bills of its simulators.
    pub(crate) fn close(&mut self, group: &Group) {
        let (mut sum, mut calls) = (Usd::default(), 0);
        let mut estimates = (0, Usd::default());
        for (protocol, server) in Protocol::ALL.iter().zip(&group.servers) {
            let (name, bill) = (lane(group.name, *protocol), server.simulator().ledger());
            let ours = group.books.of(&name);
            let billed = bill.chats + bill.embeds;
            self.say(format!(
                "{name}: billed {billed} answers, {} + {} tokens; known {}, {} + {}; estimates {}",
                bill.prompt_tokens,
                bill.completion_tokens,
                ours.known,
                ours.prompt,
                ours.completion,
                ours.estimated
            ));
            if group.is_sure {
                let same = (ours.known, ours.prompt, ours.completion)
                    == (billed, bill.prompt_tokens, bill.completion_tokens);
                self.holds(&format!("{name}: the ledger is the bill"), same && ours.estimated == 0);
            }
            let unknown = billed.checked_sub(ours.known);
            self.holds(
                &format!("{name}: what is not known is estimated"),
                unknown.is_some_and(|unknown| unknown <= ours.estimated),
            );
            let tokens = i128::from(ours.prompt) + 2 * i128::from(ours.completion);
            let price = Usd::from_picos(tokens * PICOS_PER_TOKEN);
            self.holds(&format!("{name}: the cost is exact"), price == ours.usd);
            sum = sum + ours.usd + ours.estimated_usd;
            calls += ours.known + ours.estimated + ours.unused;
            estimates = (estimates.0 + ours.estimated, estimates.1 + ours.estimated_usd);
        }
        let total = group.ledger.total();
        self.say(format!(
            "{}: {} tries, {} USD, of which {} in {} estimates",
            group.name, total.calls, total.usd, total.estimated_usd, total.estimated_calls
        ));
        let ledger = (total.usd, total.calls, (total.estimated_calls, total.estimated_usd));
        self.holds("the ledger is the sum of its entries", ledger == (sum, calls, estimates));
        self.holds("nothing is set aside", group.ledger.reserved() == Usd::default());
        self.holds("each call is logged once", read(&group.entered) == read(&group.logged));
    }

    /// Looks at what is left when all is over.
    pub(crate) fn left(&mut self, clients: &Runtime, files_before: usize) {
        wait(|| clients.metrics().num_alive_tasks() == 0 && open_files() <= files_before);
        let tasks = clients.metrics().num_alive_tasks();
        self.say(format!("left over: {tasks} tasks"));
        self.holds("no task is left", tasks == 0);
        let files = open_files();
        self.say(format!("files: {files_before} before, {files} after"));
        self.holds("no file is left", files <= files_before);
    }

    fn say(&mut self, what: impl fmt::Display) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.text, "{what}");
    }

    fn holds(&mut self, law: &str, holds: bool) {
        if !holds {
            self.broken.push(law.to_owned());
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)?;
        if self.broken.is_empty() {
            f.write_str("all is well")
        } else {
            write!(f, "BROKEN:\n  - {}", self.broken.join("\n  - "))
        }
    }
}
