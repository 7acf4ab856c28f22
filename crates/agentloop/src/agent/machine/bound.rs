//! How much the results of a step, and of a run, take together.

use serde::{Deserialize, Serialize};

use super::super::tool::{ToolOutput, ToolResult};
use super::super::truncate;
use super::RunState;
use crate::chat::{Warning, WarningKind};
use crate::limits::{MAX_FULL_RESULT_BYTES, MAX_RUN_RESULT_BYTES, MAX_STEP_RESULT_BYTES};

/// What the results of a run take so far, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct ResultBytes {
    /// What the model sees of the step's results.
    step: usize,
    /// What it sees of all results of the run.
    run: usize,
    /// What is kept aside of longer results.
    full: usize,
}

impl ResultBytes {
    pub(super) fn begin_step(&mut self) {
        self.step = 0;
    }

    fn add(&mut self, result: &ToolResult) {
        let shown = truncate::bytes(&result.output);
        self.step = self.step.saturating_add(shown);
        self.run = self.run.saturating_add(shown);
        self.full = self.full.saturating_add(result.full.as_ref().map_or(0, truncate::bytes));
    }

    fn take_back(&mut self, result: &ToolResult) {
        let shown = truncate::bytes(&result.output);
        self.step = self.step.saturating_sub(shown);
        self.run = self.run.saturating_sub(shown);
        self.full = self.full.saturating_sub(result.full.as_ref().map_or(0, truncate::bytes));
    }

    /// Cuts a result to what is left, and counts it.
    fn fit(&mut self, result: &mut ToolResult) {
        let step = MAX_STEP_RESULT_BYTES.saturating_sub(self.step);
        let run = MAX_RUN_RESULT_BYTES.saturating_sub(self.run);
        let (left, of, most) = match step <= run {
            true => (step, "step", MAX_STEP_RESULT_BYTES),
            false => (run, "run", MAX_RUN_RESULT_BYTES),
        };
        if let Some(short) = truncate::fit(&result.output, left, of) {
            let message = format!(
                "the result of `{}` is cut: the results of one {of} may have {most} bytes together",
                result.tool
            );
            warn(result, message);
            let whole = std::mem::replace(&mut result.output, short);
            result.full.get_or_insert(whole);
        }
        let over = |full: &ToolOutput| {
            self.full.saturating_add(truncate::bytes(full)) > MAX_FULL_RESULT_BYTES
        };
        if result.full.as_ref().is_some_and(over) {
            result.full = None;
            let message = format!(
                "the whole result of `{}` is not kept: the results of one run that the model sees in part may have \
                 {MAX_FULL_RESULT_BYTES} bytes together",
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
    /// Cuts the result of a call to what the results of the step and the run leave, and counts it.
    pub(super) fn bound(&mut self, at: usize) {
        let mut bytes = self.result_bytes;
        if let Some(result) = self.calls_mut().get_mut(at).and_then(|call| call.result.as_mut()) {
            bytes.fit(result);
        }
        self.result_bytes = bytes;
    }

    /// The result of a call is about to be replaced: it counts no longer.
    pub(super) fn unbound(&mut self, at: usize) {
        let mut bytes = self.result_bytes;
        if let Some(result) = self.calls_mut().get_mut(at).and_then(|call| call.result.as_ref()) {
            bytes.take_back(result);
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
        call.result(0, ToolStatus::Completed, output)
    }

    #[test]
    fn results_of_a_step_share_its_room_and_the_model_reads_that_they_were_cut() {
        let mut bytes = ResultBytes::default();
        let mut cut = 0;
        for _ in 0..40 {
            let mut result = result(ToolOutput::text("x".repeat(1 << 20)));
            bytes.fit(&mut result);
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
        bytes.fit(&mut next);
        assert_eq!((next.output.to_text().as_str(), next.warnings.len()), ("short", 0));
    }

    #[test]
    fn results_of_a_run_share_its_room_over_all_steps() {
        let mut bytes = ResultBytes::default();
        for _ in 0..100 {
            bytes.begin_step();
            let mut result = result(ToolOutput::text("x".repeat(1 << 20)));
            bytes.fit(&mut result);
            assert!(bytes.run <= MAX_RUN_RESULT_BYTES + 100_000, "{bytes:?}");
        }
        let mut last = result(ToolOutput::text("x".repeat(1 << 20)));
        bytes.fit(&mut last);
        assert!(last.output.to_text().contains("results of this run"), "{}", last.output.to_text());
    }

    #[test]
    fn media_without_room_are_named_and_whole_results_are_dropped_when_they_are_too_many() {
        let mut bytes = ResultBytes::default();
        let picture = format!("data:image/png;base64,{}", "A".repeat(6 << 20));
        let mut seen = Vec::new();
        for _ in 0..20 {
            let parts = [ContentPart::text("The chart:"), ContentPart::image_url(picture.clone())];
            let mut result = result(ToolOutput::parts(parts));
            bytes.fit(&mut result);
            seen.push((result.output.to_text(), result.full.is_some(), result.warnings.len()));
        }
        assert_eq!(seen[0], ("The chart:".to_owned(), false, 0));
        assert!(seen[5].0.contains("`image_url`") && seen[5].1, "{:?}", seen[5]);
        let (text, whole, warnings) = seen.last().unwrap();
        assert!(text.contains("left out") && !whole && *warnings == 2, "{text}");
    }

    #[test]
    fn a_result_that_is_replaced_gives_its_room_back() {
        let mut bytes = ResultBytes::default();
        let mut first = result(ToolOutput::text("x".repeat(1_000)));
        bytes.fit(&mut first);
        bytes.take_back(&first);
        assert_eq!(bytes, ResultBytes::default());
    }
}
