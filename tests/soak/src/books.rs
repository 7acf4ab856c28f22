//! What was paid for, by provider.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use agentloop::Usd;
use agentloop::middleware::CostEntry;

use crate::tally::lock;

/// The sums of one provider's calls, as the library reported them.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sums {
    /// Calls of which the provider said what they used.
    pub(crate) known: u64,
    /// Calls of which it did not: they are estimates, and say so.
    pub(crate) estimated: u64,
    /// Calls that used nothing.
    pub(crate) unused: u64,
    /// What is known was read and written.
    pub(crate) prompt: u64,
    pub(crate) completion: u64,
    pub(crate) usd: Usd,
    pub(crate) estimated_usd: Usd,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Books(Arc<Mutex<BTreeMap<String, Sums>>>);

impl Books {
    pub(crate) fn enter(&self, entry: &CostEntry) {
        let mut books = lock(&self.0);
        if !books.contains_key(&entry.provider) {
            books.insert(entry.provider.clone(), Sums::default());
        }
        let Some(sums) = books.get_mut(&entry.provider) else { return };
        let usd = entry.cost.as_ref().map(|cost| cost.usd).unwrap_or_default();
        if entry.estimated {
            sums.estimated += 1;
            sums.estimated_usd = sums.estimated_usd + usd;
        } else if entry.usage.is_empty() {
            sums.unused += 1;
        } else {
            sums.known += 1;
            sums.prompt += entry.usage.prompt_tokens.unwrap_or(0);
            sums.completion += entry.usage.completion_tokens.unwrap_or(0);
            sums.usd = sums.usd + usd;
        }
    }

    pub(crate) fn of(&self, provider: &str) -> Sums {
        lock(&self.0).get(provider).copied().unwrap_or_default()
    }
}
