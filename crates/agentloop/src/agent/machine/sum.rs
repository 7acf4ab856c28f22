//! What the steps of a run used together.

use super::super::outcome::Step;
use crate::response::{Cost, Usage};

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
    let tokens = steps.iter().filter_map(|step| step.response.usage.total_tokens).sum();
    Spent { usage, cost, tokens }
}
