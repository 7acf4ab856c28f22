//! `[cost]` of `agentloop.toml`.

use serde::Deserialize;

use super::{CostPeriod, Costs};
use crate::chat::Usd;
use crate::error::{Error, ErrorKind, Result};

/// The table as it is in the file. An empty one counts costs and limits nothing.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct CostTable {
    /// The most that calls may cost, in dollars, as text. Default: no limit.
    limit: Option<String>,
    /// What the limit is for: `process`, `day`, `month` or `total`. Default: `process`.
    per: CostPeriod,
    /// Whether models whose price is not known may be called if there is a limit. Default: false.
    allow_unpriced: bool,
}

impl CostTable {
    pub(crate) fn costs(self) -> Result<Costs> {
        let mut costs = Costs::new().per(self.per);
        if let Some(limit) = self.limit {
            let usd: Usd = limit.parse().map_err(|error| {
                Error::new(ErrorKind::Config, format!("cost.limit: {error}"))
                    .with_hint("write dollars as text, `limit = \"2.50\"`")
            })?;
            costs = costs.limit(usd);
        }
        Ok(if self.allow_unpriced { costs.allow_unpriced() } else { costs })
    }
}
