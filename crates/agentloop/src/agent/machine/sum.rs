//! Adds up the usage of the steps of a run.

use super::super::outcome::Step;
use crate::chat::{Cost, Usage};

/// The sum of several steps.
pub(in crate::agent) struct Spent {
    pub(in crate::agent) usage: Usage,
    /// `None` if the cost of one step is unknown.
    pub(in crate::agent) cost: Option<Cost>,
    /// The sum of all known token counts.
    pub(in crate::agent) tokens: u64,
}

/// Adds up the steps. A step that was cut off before the provider reported its usage adds nothing.
pub(in crate::agent) fn sum_steps(steps: &[Step]) -> Spent {
    let counted = || steps.iter().filter(|step| !(step.partial && step.response.usage.is_empty()));
    let usage = counted()
        .map(|step| step.response.usage.clone())
        .reduce(|sum, more| sum.plus(&more))
        .unwrap_or_default();
    let cost = counted()
        .map(|step| step.response.cost.clone())
        .reduce(|sum, more| sum.zip(more).map(|(sum, more)| sum.plus(&more)))
        .flatten();
    let tokens = steps.iter().filter_map(|step| step.response.usage.total_tokens);
    // A provider, or the JSON of a stored run, can contain any number.
    let tokens = tokens.fold(0, u64::saturating_add);
    Spent { usage, cost, tokens }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_sum_of_huge_token_counts_saturates() {
        let usage =
            json!({ "promptTokens": u64::MAX, "completionTokens": 1, "totalTokens": u64::MAX });
        let response =
            json!({ "id": "", "provider": "p", "model": "m", "choices": [], "usage": usage });
        let step = json!({ "number": 1, "response": response, "modelMs": 0, "toolsMs": 0 });
        let step: Step = serde_json::from_value(step).unwrap();
        let sum = sum_steps(&[step.clone(), step]);
        assert_eq!((sum.tokens, sum.usage.total_tokens), (u64::MAX, Some(u64::MAX)));
    }
}
