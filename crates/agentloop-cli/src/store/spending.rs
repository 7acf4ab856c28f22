//! What calls have cost, over all processes.

use agentloop::Usd;
use agentloop::middleware::{CostEntry, CostPeriod, Costs};
use rusqlite::params;

use super::{Result, Shared, Store, now};
use crate::notes::Notes;

impl Store {
    /// Stores the cost of a call.
    pub(crate) fn record_spending(&mut self, entry: &CostEntry) -> Result<()> {
        // A negative cost that a provider reports does not lower the sum.
        let picos = entry.cost.as_ref().map_or(0, |cost| cost.usd.picos().max(0));
        let picos = i64::try_from(picos).unwrap_or(i64::MAX);
        self.transact(|connection| {
            let sql = "INSERT INTO spending (time, provider, model, cost, is_estimate) VALUES (?1, ?2, ?3, ?4, ?5)";
            connection.execute(sql, params![now(), entry.provider, entry.model, picos, entry.estimated])?;
            Ok(())
        })
    }

    /// Returns what calls have cost in the current day or month of the user's time zone, or altogether.
    pub(crate) fn spent(&self, period: CostPeriod) -> Result<Usd> {
        let start = match period {
            CostPeriod::Day => "unixepoch('now', 'localtime', 'start of day', 'utc') * 1000",
            CostPeriod::Month => "unixepoch('now', 'localtime', 'start of month', 'utc') * 1000",
            _ => "0",
        };
        self.read(|connection| {
            let sql = format!("SELECT sum(cost) FROM spending WHERE time >= {start}");
            let most = Usd::from_picos(i64::MAX.into());
            let sum = connection.query_row(&sql, [], |row| row.get::<_, Option<i64>>(0));
            match sum {
                Ok(picos) => Ok(Usd::from_picos(picos.unwrap_or(0).into())),
                Err(rusqlite::Error::SqliteFailure(_, Some(why))) if why.contains("overflow") => {
                    Ok(most)
                }
                Err(error) => Err(error.into()),
            }
        })
    }
}

/// Makes the costs of this process durable: each call is stored, and a limit of a day, a month or all time counts what all processes
/// have spent.
///
/// The limit is checked before each call. Two processes do not see each other's calls under way, so together they can exceed it by what
/// those calls cost.
pub(crate) fn make_durable(costs: Costs, shared: &Shared, notes: Notes) -> Costs {
    let (period, writer, reader) = (costs.period(), shared.clone(), shared.clone());
    let is_limited = period != CostPeriod::Process;
    let costs = costs.on_call(move |entry| {
        // The file is not opened for a call that costs nothing.
        let is_free = entry.cost.as_ref().is_none_or(|cost| cost.usd <= Usd::default());
        if !is_free
            && let Err(error) = writer.with(|store| store.record_spending(entry))
            && is_limited
        {
            let message = format!("the cost of this call is not counted by the limit: {error}");
            notes.print_warnings(&[agentloop::Warning::about_response(message)]);
        }
    });
    if !is_limited {
        costs
    } else {
        costs.spent(move || {
            reader.with(|store| store.spent(period)).map_err(|error| {
                let message = format!("the spending limit cannot be checked: {error}");
                let failed = agentloop::Error::new(agentloop::ErrorKind::Config, message);
                failed.with_hint(
                    error
                        .advice()
                        .unwrap_or("remove `per` of `[cost]` to limit each process by itself"),
                )
            })
        })
    }
}
