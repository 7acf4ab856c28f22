//! Limits the size of the results of a step and of a run.

use serde::{Deserialize, Serialize};

use super::super::tool::{ToolOutput, ToolResult};
use super::super::truncate;
use super::RunState;
use crate::chat::{Warning, WarningKind};
use crate::limits::{MAX_FULL_RESULT_BYTES, MAX_RUN_RESULT_BYTES, MAX_STEP_RESULT_BYTES};

/// The size of the results of a run so far, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct ResultBytes {
    /// What the model sees of the results of the step.
    step: usize,
    /// What the model sees of all results of the run.
    run: usize,
    /// The complete results that the model sees only in part.
    full: usize,
}

impl ResultBytes {
    pub(super) fn begin_step(&mut self) {
        self.step = 0;
    }

    fn add(&mut self, result: &ToolResult) {
        let shown = truncate::output_bytes(&result.output);
        self.step = self.step.saturating_add(shown);
        self.run = self.run.saturating_add(shown);
        self.full =
            self.full.saturating_add(result.full.as_ref().map_or(0, truncate::output_bytes));
    }

    fn subtract(&mut self, result: &ToolResult) {
        let shown = truncate::output_bytes(&result.output);
        self.step = self.step.saturating_sub(shown);
        self.run = self.run.saturating_sub(shown);
        self.full =
            self.full.saturating_sub(result.full.as_ref().map_or(0, truncate::output_bytes));
    }

    /// Truncates a result to the remaining size and counts it.
    fn limit(&mut self, result: &mut ToolResult) {
        let step = MAX_STEP_RESULT_BYTES.saturating_sub(self.step);
        let run = MAX_RUN_RESULT_BYTES.saturating_sub(self.run);
        let (left, of, most) = if step <= run {
            (step, "step", MAX_STEP_RESULT_BYTES)
        } else {
            (run, "run", MAX_RUN_RESULT_BYTES)
        };
        if let Some(short) = truncate::truncate_to_bytes(&result.output, left, of) {
            let message = format!(
                "the result of `{}` was truncated: the limit for all results of one {of} is {most} bytes",
                result.tool
            );
            warn(result, message);
            let complete = std::mem::replace(&mut result.output, short);
            result.full.get_or_insert(complete);
        }
        let over = |full: &ToolOutput| {
            self.full.saturating_add(truncate::output_bytes(full)) > MAX_FULL_RESULT_BYTES
        };
        if result.full.as_ref().is_some_and(over) {
            result.full = None;
            let message = format!(
                "the complete result of `{}` was not kept: the limit for all truncated results of one run is \
                 {MAX_FULL_RESULT_BYTES} bytes",
                result.tool
            );
            warn(result, message);
        }
        self.add(result);
    }
}

fn warn(result: &mut ToolResult, message: String) {
    let subject = format!("tools.{}", result.tool);
    result.warnings.push(Warning::new(WarningKind::Clamped, subject, message));
}

impl RunState {
    /// Truncates the result of a call to the remaining size of the step and the run, and counts it.
    pub(super) fn limit_result(&mut self, at: usize) {
        let mut bytes = self.result_bytes;
        if let Some(result) = self.calls_mut().get_mut(at).and_then(|call| call.result.as_mut()) {
            bytes.limit(result);
        }
        self.result_bytes = bytes;
    }

    /// Stops counting the result of a call, which is about to be replaced.
    pub(super) fn release_result(&mut self, at: usize) {
        let mut bytes = self.result_bytes;
        if let Some(result) = self.calls_mut().get_mut(at).and_then(|call| call.result.as_ref()) {
            bytes.subtract(result);
        }
        self.result_bytes = bytes;
    }
}

#[cfg(test)]
mod tests {
    use super::super::Call;
    use super::*;
    use crate::agent::tool::ToolStatus;
    use crate::chat::{ContentPart, ToolCallPart};

    fn result(output: ToolOutput) -> ToolResult {
        let call = Call::new(ToolCallPart::new("1", "read", "{}"), true);
        call.make_result(0, ToolStatus::Completed, output)
    }

    #[test]
    fn results_of_a_step_share_its_limit_and_contain_a_note_when_truncated() {
        let mut bytes = ResultBytes::default();
        let mut cut = 0;
        for _ in 0..40 {
            let mut result = result(ToolOutput::text("x".repeat(1 << 20)));
            bytes.limit(&mut result);
            assert!(bytes.step <= MAX_STEP_RESULT_BYTES + 1_000 * (cut + 1), "{bytes:?}");
            assert!(bytes.full <= MAX_FULL_RESULT_BYTES);
            if !result.warnings.is_empty() {
                cut += 1;
                assert!(result.output.to_text().contains("results of this step"));
            }
        }
        assert!(cut > 20, "{cut}");
        bytes.begin_step();
        let mut next = result(ToolOutput::text("short"));
        bytes.limit(&mut next);
        assert_eq!((next.output.to_text().as_str(), next.warnings.len()), ("short", 0));
    }

    #[test]
    fn results_of_a_run_share_its_limit_over_all_steps() {
        let mut bytes = ResultBytes::default();
        for _ in 0..100 {
            bytes.begin_step();
            let mut result = result(ToolOutput::text("x".repeat(1 << 20)));
            bytes.limit(&mut result);
            assert!(bytes.run <= MAX_RUN_RESULT_BYTES + 100_000, "{bytes:?}");
        }
        let mut last = result(ToolOutput::text("x".repeat(1 << 20)));
        bytes.limit(&mut last);
        assert!(last.output.to_text().contains("results of this run"), "{}", last.output.to_text());
    }

    #[test]
    fn media_beyond_the_limit_are_named_and_complete_results_are_dropped_beyond_theirs() {
        let mut bytes = ResultBytes::default();
        let picture = format!("data:image/png;base64,{}", "A".repeat(6 << 20));
        let mut seen = Vec::new();
        for _ in 0..20 {
            let parts = [ContentPart::text("The chart:"), ContentPart::image_url(picture.clone())];
            let mut result = result(ToolOutput::parts(parts));
            bytes.limit(&mut result);
            seen.push((result.output.to_text(), result.full.is_some(), result.warnings.len()));
        }
        assert_eq!(seen[0], ("The chart:".to_owned(), false, 0));
        assert!(seen[5].0.contains("`image_url`") && seen[5].1, "{:?}", seen[5]);
        let (text, whole, warnings) = seen.last().unwrap();
        assert!(text.contains("left out") && !whole && *warnings == 2, "{text}");
    }

    #[test]
    fn a_replaced_result_no_longer_counts() {
        let mut bytes = ResultBytes::default();
        let mut first = result(ToolOutput::text("x".repeat(1_000)));
        bytes.limit(&mut first);
        bytes.subtract(&first);
        assert_eq!(bytes, ResultBytes::default());
    }
}
