//! Budgets and limits at the command line, of keys and of teams.

use agentloop::GatewayBudget;
use agentloop_gateway::Limits;

/// Options that set budgets and limits.
#[derive(Debug, clap::Args)]
pub(crate) struct LimitArgs {
    /// What requests may cost, in US dollars per day, week, month (UTC) or in total: 5/day, 20/week, 100/month, 500/total. Can be
    /// repeated, once for each period.
    #[arg(long = "budget", value_name = "USD/PERIOD", value_parser = parse_budget)]
    budgets: Vec<GatewayBudget>,

    /// The maximum number of requests per minute.
    #[arg(long, value_name = "N")]
    rpm: Option<u64>,

    /// The maximum number of tokens per minute.
    #[arg(long, value_name = "N")]
    tpm: Option<u64>,

    /// The maximum number of requests at the same time.
    #[arg(long, value_name = "N")]
    concurrency: Option<usize>,
}

/// Options that remove budgets and limits.
#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option")]
pub(crate) struct NoLimitArgs {
    /// Remove all budgets. Those of --budget are set afterwards.
    #[arg(long)]
    no_budget: bool,

    /// Remove the limit of requests per minute.
    #[arg(long, conflicts_with = "rpm")]
    no_rpm: bool,

    /// Remove the limit of tokens per minute.
    #[arg(long, conflicts_with = "tpm")]
    no_tpm: bool,

    /// Remove the limit of requests at the same time.
    #[arg(long, conflicts_with = "concurrency")]
    no_concurrency: bool,
}

fn parse_budget(text: &str) -> Result<GatewayBudget, String> {
    text.parse().map_err(|error: agentloop::Error| match error.hint() {
        Some(hint) => format!("{}; {hint}", error.message()),
        None => error.message().to_owned(),
    })
}

impl LimitArgs {
    /// Sets what is given. A budget replaces the one of the same period.
    pub(crate) fn apply(&self, limits: &mut Limits) -> Result<(), String> {
        for (at, budget) in self.budgets.iter().enumerate() {
            if self.budgets.iter().take(at).any(|other| other.per == budget.per) {
                return Err(format!("--budget is given twice per {}", budget.per.as_str()));
            }
            limits.budgets.retain(|other| other.per != budget.per);
            limits.budgets.push(*budget);
        }
        limits.budgets.sort_by_key(|budget| budget.per);
        limits.requests_per_minute = self.rpm.or(limits.requests_per_minute);
        limits.tokens_per_minute = self.tpm.or(limits.tokens_per_minute);
        limits.concurrency = self.concurrency.or(limits.concurrency);
        Ok(())
    }
}

impl NoLimitArgs {
    /// Removes what is named.
    pub(crate) fn apply(&self, limits: &mut Limits) {
        if self.no_budget {
            limits.budgets.clear();
        }
        if self.no_rpm {
            limits.requests_per_minute = None;
        }
        if self.no_tpm {
            limits.tokens_per_minute = None;
        }
        if self.no_concurrency {
            limits.concurrency = None;
        }
    }
}

/// Describes budgets and limits: two cells of a table.
pub(crate) fn describe_limits(limits: &Limits) -> [String; 2] {
    let budgets: Vec<String> = limits.budgets.iter().map(|budget| format!("${budget}")).collect();
    let mut others = Vec::new();
    others.extend(limits.requests_per_minute.map(|limit| format!("{limit} rpm")));
    others.extend(limits.tokens_per_minute.map(|limit| format!("{limit} tpm")));
    others.extend(limits.concurrency.map(|limit| format!("{limit} at once")));
    [join(&budgets), join(&others)]
}

fn join(words: &[String]) -> String {
    if words.is_empty() { "-".to_owned() } else { words.join(", ") }
}
