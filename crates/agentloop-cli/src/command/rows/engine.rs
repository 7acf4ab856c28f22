//! Sends the rows: a few requests at the same time, within a limit of cost, until the end, Ctrl-C or an error of every row.

use std::future::Future;
use std::path::Path;
use std::time::Duration;

use agentloop::{ErrorKind, Usd, Warning};
use serde::Serialize;
use serde_json::json;
use tokio::task::{JoinError, JoinSet};

use super::input::{Row, Rows, Source};
use super::progress::Progress;
use super::results::{Done, Line, Outcome, Results, hash_row};
use crate::failure::Failure;
use crate::notes::Notes;

/// How often the status line is updated.
const TICK: Duration = Duration::from_millis(200);

/// How many results may wait for an earlier row, for each row that is sent at the same time.
const WAITING_PER_ROW: usize = 32;

/// How many bytes of results may wait for an earlier row.
const MAX_WAITING_BYTES: usize = 64 << 20;

/// How many different warnings are printed.
const MAX_WARNINGS: usize = 20;

/// What is sent for the rows.
pub(in crate::command) trait Job {
    /// What is sent for one row.
    type Item: Send + 'static;
    /// The result of one row.
    type Output: Serialize + Send + 'static;

    /// Settings that a row was sent with. If they change, results of an earlier process are not continued.
    fn settings(&self) -> &str;

    /// Builds what is sent for a row.
    fn build(&self, row: &Row) -> Result<Self::Item, Failure>;

    /// Returns how many bytes an item has.
    fn size(item: &Self::Item) -> usize;

    /// Sends rows as one request.
    fn send(
        &self,
        rows: Vec<Pending<Self::Item>>,
    ) -> impl Future<Output = Sent<Self::Output>> + Send + 'static;

    /// Checks results before they are written.
    fn check(&mut self, _sent: &Sent<Self::Output>) -> Result<(), Failure> {
        Ok(())
    }

    /// Formats the result of a row as one line.
    fn format(&self, line: &Line<Self::Output>) -> serde_json::Result<String> {
        serde_json::to_string(line)
    }
}

/// A row that is about to be sent.
#[derive(Debug)]
pub(in crate::command) struct Pending<T> {
    pub(in crate::command) index: u64,
    pub(in crate::command) hash: String,
    pub(in crate::command) item: T,
}

impl<T> Pending<T> {
    /// Returns the line of this row.
    pub(in crate::command) fn finish<R>(self, result: Outcome<R>) -> Line<R> {
        Line { index: self.index, hash: self.hash, result }
    }
}

/// The results of one request.
#[derive(Debug)]
pub(in crate::command) struct Sent<R> {
    pub(in crate::command) lines: Vec<Line<R>>,
    /// What the rows that succeeded used together.
    pub(in crate::command) spent: Option<Spent>,
    pub(in crate::command) warnings: Vec<Warning>,
    /// An error that every other row would have too. Nothing more is sent.
    pub(in crate::command) stop: Option<agentloop::Error>,
    /// The error of all rows of the request, if there are several. If no row succeeded before, it is an error of every row.
    pub(in crate::command) all_failed: Option<agentloop::Error>,
}

impl<R> Default for Sent<R> {
    fn default() -> Self {
        Self { lines: Vec::new(), spent: None, warnings: Vec::new(), stop: None, all_failed: None }
    }
}

/// What rows used.
#[derive(Debug)]
pub(in crate::command) struct Spent {
    pub(in crate::command) tokens: u64,
    pub(in crate::command) cost: Option<Usd>,
}

/// How much is sent at the same time, and how much is spent.
#[derive(Clone, Copy, Debug)]
pub(in crate::command) struct Limits {
    /// Requests at the same time.
    pub(in crate::command) concurrency: usize,
    /// Rows in one request.
    pub(in crate::command) rows: usize,
    /// Bytes in one request. A longer row is sent alone.
    pub(in crate::command) bytes: usize,
    pub(in crate::command) max_cost: Option<Usd>,
}

/// Sends rows and writes their results.
pub(in crate::command) struct Engine<J: Job> {
    pub(in crate::command) job: J,
    limits: Limits,
    results: Results,
    done: Done,
    pub(in crate::command) progress: Progress,
    running: JoinSet<Sent<J::Output>>,
    /// The rows of the requests that are running.
    running_rows: u64,
    warnings: Vec<Warning>,
}

impl<J: Job> Engine<J> {
    pub(in crate::command) fn new(
        job: J,
        limits: Limits,
        (results, done): (Results, Done),
        progress: Progress,
    ) -> Self {
        Self {
            job,
            limits,
            results,
            done,
            progress,
            running: JoinSet::new(),
            running_rows: 0,
            warnings: Vec::new(),
        }
    }

    /// Sends all rows, keeps the results that are there, and prints the summary. Returns an error if it had to stop before the end.
    pub(in crate::command) async fn run(
        &mut self,
        source: &Source,
        output: Option<&Path>,
        notes: Notes,
    ) -> Result<(), Failure> {
        let ended = self.send_all(source, output).await;
        self.progress.hide();
        self.running.abort_all();
        self.results.finish(ended.is_ok())?;
        notes.print_warnings(&self.warnings);
        ended
    }

    /// Returns a failure if rows failed.
    pub(in crate::command) fn describe_failed(&self, output: Option<&Path>) -> Result<(), Failure> {
        let failed = self.progress.failed;
        let (rows, them) = if failed == 1 { ("row", "it") } else { ("rows", "them") };
        match (failed, output) {
            (0, _) => Ok(()),
            (_, Some(_)) => Err(Failure::Response(format!(
                "{failed} {rows} failed; --resume tries {them} again"
            ))),
            (_, None) => Err(Failure::Response(format!("{failed} {rows} failed"))),
        }
    }

    async fn send_all(&mut self, source: &Source, output: Option<&Path>) -> Result<(), Failure> {
        let mut rows = source.rows()?;
        // A row that did not fit into the last request.
        let mut next = None;
        let mut has_more = true;
        let mut interrupt = std::pin::pin!(tokio::signal::ctrl_c());
        let mut tick = tokio::time::interval(TICK);
        tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Skip);
        loop {
            while has_more && self.has_room() {
                let most = self.affordable_rows();
                if most == 0 {
                    break;
                }
                let group = self.collect(&mut rows, &mut next, most)?;
                has_more = !group.is_empty();
                if has_more {
                    self.running_rows += group.len() as u64;
                    self.running.spawn(self.job.send(group));
                }
            }
            if self.running.is_empty() {
                return if !has_more { Ok(()) } else { Err(self.describe_budget(output)) };
            }
            tokio::select! {
                biased;
                interrupted = &mut interrupt => {
                    interrupted.map_err(Failure::Runtime)?;
                    return Err(Failure::Interrupted);
                }
                Some(ended) = self.running.join_next() => self.record(ended)?,
                _ = tick.tick() => {}
            }
            self.progress.show();
        }
    }

    fn has_room(&self) -> bool {
        let (requests, rows) = (self.limits.concurrency, self.limits.rows);
        let (waiting, bytes) = self.results.waiting();
        self.running.len() < requests
            && waiting < requests * rows * WAITING_PER_ROW
            && bytes < MAX_WAITING_BYTES
    }

    /// Returns how many more rows can be sent within the limit, if each costs the average.
    fn affordable_rows(&self) -> usize {
        let Some(limit) = self.limits.max_cost else { return self.limits.rows };
        if self.progress.done == 0 {
            // Nothing is known about the cost before the first row has ended, so it is sent alone.
            return usize::from(self.running_rows == 0 && limit > Usd::default());
        }
        let average = self.progress.average().picos();
        let expected = average.saturating_mul(i128::from(self.running_rows));
        let left = limit.picos() - self.progress.spent.picos().saturating_add(expected);
        match (left < 0, average) {
            (true, _) => 0,
            (false, 0) => self.limits.rows,
            (false, _) => {
                usize::try_from(left / average).unwrap_or(usize::MAX).min(self.limits.rows)
            }
        }
    }

    fn describe_budget(&self, output: Option<&Path>) -> Failure {
        let limit = self.limits.max_cost.unwrap_or_default();
        let message = format!("the next row would exceed the limit of ${limit} (--max-cost)");
        Failure::Response(match output {
            Some(_) => format!("{message}; --resume with a higher limit continues"),
            None => message,
        })
    }

    /// Collects the rows of the next request. It is empty at the end.
    fn collect(
        &mut self,
        rows: &mut Rows<'_>,
        next: &mut Option<Pending<J::Item>>,
        most: usize,
    ) -> Result<Vec<Pending<J::Item>>, Failure> {
        let mut group: Vec<Pending<J::Item>> = Vec::new();
        let mut bytes = 0_usize;
        while group.len() < most {
            let pending = match next.take() {
                Some(pending) => pending,
                None => match rows.next() {
                    Some(row) => match self.prepare(&row?)? {
                        Some(pending) => pending,
                        None => continue,
                    },
                    None => break,
                },
            };
            bytes = bytes.saturating_add(J::size(&pending.item));
            if bytes > self.limits.bytes && !group.is_empty() {
                *next = Some(pending);
                break;
            }
            group.push(pending);
        }
        Ok(group)
    }

    /// Builds what is sent for a row, unless an earlier process did, or the row has no text.
    fn prepare(&mut self, row: &Row) -> Result<Option<Pending<J::Item>>, Failure> {
        let hash = hash_row(row, self.job.settings());
        if let Some(before) = self.done.get(&row.index) {
            if *before != hash {
                return Err(Failure::input_with_hint(
                    format!("row {} has changed since the first run", row.index + 1),
                    "restore the file and the options, or choose another name for --output",
                ));
            }
            self.progress.skipped += 1;
            self.results.skip(row.index)?;
            return Ok(None);
        }
        match self.job.build(row) {
            Ok(item) => Ok(Some(Pending { index: row.index, hash, item })),
            Err(Failure::Input { message, .. }) => {
                let error = json!({ "kind": ErrorKind::InvalidRequest, "message": message });
                self.progress.failed += 1;
                let line = Line { index: row.index, hash, result: Outcome::Error { error } };
                self.write(&line)?;
                Ok(None)
            }
            Err(failure) => Err(failure),
        }
    }

    /// Writes the results of a request that has ended.
    fn record(&mut self, ended: Result<Sent<J::Output>, JoinError>) -> Result<(), Failure> {
        let sent = ended.map_err(|error| Failure::Response(error.to_string()))?;
        self.job.check(&sent)?;
        let rows = sent.lines.len() as u64;
        let failed = sent.lines.iter().filter(|line| line.result.is_error()).count() as u64;
        self.running_rows = self.running_rows.saturating_sub(rows);
        self.progress.failed += failed;
        self.progress.done += rows - failed;
        if let Some(spent) = &sent.spent {
            self.progress.tokens += spent.tokens;
            match spent.cost {
                Some(cost) => self.progress.spent = self.progress.spent + cost,
                None => self.progress.unpriced += rows - failed,
            }
        }
        for line in &sent.lines {
            self.write(line)?;
        }
        for warning in sent.warnings {
            if self.warnings.len() < MAX_WARNINGS && !self.warnings.contains(&warning) {
                self.warnings.push(warning);
            }
        }
        let nothing_succeeded = self.progress.done + self.progress.skipped == 0;
        if let Some(error) = sent.stop.or(sent.all_failed.filter(|_| nothing_succeeded)) {
            return Err(error.into());
        }
        match (self.limits.max_cost, self.progress.unpriced) {
            (Some(_), 1..) => Err(Failure::Response(
                "the price of the model is not known, so --max-cost cannot be checked".to_owned(),
            )),
            _ => Ok(()),
        }
    }

    fn write(&mut self, line: &Line<J::Output>) -> Result<(), Failure> {
        let text = self.job.format(line);
        let text =
            text.map_err(|error| Failure::Response(format!("cannot write a result: {error}")))?;
        self.results.write(line.index, text)
    }
}

/// Returns whether an error would be the same for every row.
pub(in crate::command) fn is_fatal(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::Auth
            | ErrorKind::MissingKey
            | ErrorKind::Quota
            | ErrorKind::UnknownProvider
            | ErrorKind::MissingModel
            | ErrorKind::Config
            | ErrorKind::SpendingLimit
            | ErrorKind::Tls
    )
}
