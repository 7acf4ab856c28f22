//! What the steps of a run used together.

use super::super::outcome::Step;
use crate::chat::{Cost, Usage};

/// What steps used together.
pub(in crate::agent) struct Spent {
    pub(in crate::agent) usage: Usage,
    /// Absent when that of one is not known.
    pub(in crate::agent) cost: Option<Cost>,
    /// The tokens, as far as they are known.
    pub(in crate::agent) tokens: u64,
}

/// The sum of the steps. A step that broke off before the provider had counted adds nothing.
pub(in crate::agent) fn spent(steps: &[Step]) -> Spent {
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
    // Providers, and whoever stored a run, can write any number.
    let tokens = tokens.fold(0, u64::saturating_add);
    Spent { usage, cost, tokens }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn no_count_is_too_large_to_be_added_up() {
        let usage =
            json!({ "promptTokens": u64::MAX, "completionTokens": 1, "totalTokens": u64::MAX });
        let response =
            json!({ "id": "", "provider": "p", "model": "m", "choices": [], "usage": usage });
        let step = json!({ "number": 1, "response": response, "modelMs": 0, "toolsMs": 0 });
        let step: Step = serde_json::from_value(step).unwrap();
        let sum = spent(&[step.clone(), step]);
        assert_eq!((sum.tokens, sum.usage.total_tokens), (u64::MAX, Some(u64::MAX)));
    }
}
