//! What does not work as it should.

use std::fmt::Write as _;
use std::time::SystemTime;

use super::Accounts;

impl Accounts {
    /// Returns what is degraded, one line each, without anything that a stranger must not read.
    pub(crate) fn degraded(&self) -> Vec<String> {
        let mut lines = Vec::new();
        let since = |time: SystemTime| time.elapsed().unwrap_or_default().as_secs();
        if let Some(store) = self.store_health() {
            if let Some((time, _)) = store.failing {
                let seconds = since(time);
                lines.push(format!(
                    "the database has not worked for {seconds} s; what requests cost is kept on this machine"
                ));
            }
            if store.has_old_keys {
                lines.push("API keys are those of the last start".to_owned());
            }
        }
        if let Some(journal) = self.journal_health() {
            if let Some((time, _)) = journal.failing {
                let seconds = since(time);
                lines.push(format!("the journal could not be written for {seconds} s"));
            }
            if journal.lost_rows > 0 {
                lines.push(format!("{} rows of the ledger were lost", journal.lost_rows));
            }
        }
        if let Some(cluster) = self.cluster_health() {
            if let Some((time, _)) = cluster.down {
                let seconds = time.as_secs();
                lines.push(format!("Redis has not been reached for {seconds} s"));
            }
            if cluster.incomplete > 0 {
                let number = cluster.incomplete;
                lines.push(format!("the sums of {number} budgets are put back into Redis"));
            }
            if cluster.shared_name {
                lines.push("another gateway has the same `node` name".to_owned());
            }
        }
        lines
    }

    /// Returns the text of the readiness check. The gateway is ready also if something is degraded: requests are served.
    pub(crate) fn readiness(&self) -> String {
        let mut text = "ready\n".to_owned();
        for line in self.degraded() {
            let _ = writeln!(text, "degraded: {line}");
        }
        text
    }

    /// Writes gauges in the text format of Prometheus. None of them has a label, so their number does not grow with keys.
    pub(crate) fn write_metrics(&self, text: &mut String) {
        let (reserved, running) = self.in_progress();
        let mut gauge = |name: &str, kind: &str, help: &str, value: String| {
            let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}\n{name} {value}");
        };
        gauge(
            "agentloop_reserved_dollars",
            "gauge",
            "Dollars that are reserved for calls in progress.",
            reserved.to_string(),
        );
        gauge(
            "agentloop_requests_in_progress",
            "gauge",
            "Requests in progress that count for limits.",
            running.to_string(),
        );
        if let Some(journal) = self.journal_health() {
            let rows = journal.unstored_rows.to_string();
            gauge(
                "agentloop_ledger_unstored_rows",
                "gauge",
                "Rows that the store has not got.",
                rows,
            );
            let help = "Calls in progress that the journal has.";
            gauge("agentloop_ledger_open_calls", "gauge", help, journal.open.to_string());
            let help = "Damaged lines of the journal that were skipped.";
            let damaged = journal.damaged_lines.to_string();
            gauge("agentloop_journal_damaged_lines_total", "counter", help, damaged);
            let bytes = journal.bytes.to_string();
            gauge("agentloop_journal_bytes", "gauge", "Bytes of the journal's files.", bytes);
            let lines = journal.waiting_lines.to_string();
            let help = "Lines of the journal that could not be written yet.";
            gauge("agentloop_journal_waiting_lines", "gauge", help, lines);
            let lost = journal.lost_rows.to_string();
            gauge("agentloop_ledger_lost_rows_total", "counter", "Rows that were lost.", lost);
        }
        if let Some(store) = self.store_health() {
            let help = "Operations of the store that failed.";
            gauge("agentloop_store_errors_total", "counter", help, store.errors.to_string());
        }
        if let Some(cluster) = self.cluster_health() {
            let help = "Gateways that share limits and budgets.";
            gauge("agentloop_redis_nodes", "gauge", help, cluster.nodes.to_string());
            let help = "Commands that Redis responded to.";
            gauge(
                "agentloop_redis_round_trips_total",
                "counter",
                help,
                cluster.round_trips.to_string(),
            );
            let help = "Commands of Redis that failed or were too slow.";
            gauge("agentloop_redis_failures_total", "counter", help, cluster.failures.to_string());
            let help = "Decisions that were made without the other gateways.";
            gauge("agentloop_redis_alone_total", "counter", help, cluster.alone.to_string());
        }
    }
}
