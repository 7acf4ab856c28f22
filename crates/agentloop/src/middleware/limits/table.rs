//! `[limits]` of `agentloop.toml`.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};

use super::{Limit, Limits};
use crate::error::{Error, ErrorKind, Result};
use crate::timeouts;

/// The table `[limits]`: a table for each account, and where they are shared.
#[derive(Debug, Default)]
pub(crate) struct LimitsTable {
    /// The URL of a Redis server through which several machines share all limits. Needs the feature `redis`. Default: none.
    redis: Option<String>,
    /// The limits of each account.
    accounts: BTreeMap<String, LimitTable>,
}

/// A table `[limits.NAME]`. Times are in seconds.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct LimitTable {
    /// The most calls at the same time. Default: no limit.
    concurrency: Option<usize>,
    /// The most requests per minute. Default: no limit.
    requests_per_minute: Option<u64>,
    /// The most tokens per minute, of prompts and responses together. Default: no limit.
    tokens_per_minute: Option<u64>,
    /// How much can be used at once after a quiet time, as the seconds whose allowance it is; at most 60. Default: 60.
    burst: Option<f64>,
    /// How many calls may wait. Default: 1024.
    queue: Option<usize>,
    /// How long a call may wait, in seconds. Default: 300.
    max_wait: Option<f64>,
    /// The longest pause that a provider can ask all calls for, in seconds. Default: 60.
    max_pause: Option<f64>,
    /// The providers that share the account. Default: the provider of that name.
    providers: Option<Vec<String>>,
}

/// Implemented without derive, because a flattened map would lose the line of an error.
impl<'de> Deserialize<'de> for LimitsTable {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Tables;

        impl<'de> Visitor<'de> for Tables {
            type Value = LimitsTable;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("tables of limits")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<LimitsTable, A::Error> {
                let mut table = LimitsTable::default();
                while let Some(name) = map.next_key::<String>()? {
                    if name == "redis" {
                        table.redis = Some(map.next_value()?);
                    } else {
                        table.accounts.insert(name, map.next_value()?);
                    }
                }
                Ok(table)
            }
        }

        deserializer.deserialize_map(Tables)
    }
}

impl LimitsTable {
    pub(crate) fn limits(self) -> Result<Limits> {
        let mut limits = Limits::new();
        for (name, table) in self.accounts {
            let limit = table.limit(&name)?;
            limits = match table.providers {
                Some(providers) if !name.contains('/') && name != "default" => {
                    limits.for_account(name, providers, limit)
                }
                Some(_) => {
                    return Err(wrong(&name, "providers", "only an account has several providers"));
                }
                None if name == "default" => limits.default_limit(limit),
                None if name.contains('/') => limits.for_model(name, limit),
                None => limits.for_provider(name, limit),
            };
        }
        match self.redis {
            Some(url) => through_redis(limits, &url),
            None => Ok(limits),
        }
    }
}

#[cfg(feature = "redis")]
fn through_redis(limits: Limits, url: &str) -> Result<Limits> {
    let redis = super::RedisLimits::new(url).map_err(|error| error.about("limits.redis"))?;
    Ok(limits.shared_through(std::sync::Arc::new(redis)))
}

#[cfg(not(feature = "redis"))]
fn through_redis(_: Limits, _: &str) -> Result<Limits> {
    Err(Error::new(ErrorKind::Config, "limits.redis: this program was built without Redis support")
        .with_hint("build agentloop with the feature `redis`"))
}

impl LimitTable {
    fn limit(&self, name: &str) -> Result<Limit> {
        let mut limit = Limit::new();
        if let Some(calls) = self.concurrency {
            limit = limit.concurrency(positive(name, "concurrency", calls)?);
        }
        if let Some(requests) = self.requests_per_minute {
            limit = limit.requests_per_minute(positive(name, "requests_per_minute", requests)?);
        }
        if let Some(tokens) = self.tokens_per_minute {
            limit = limit.tokens_per_minute(positive(name, "tokens_per_minute", tokens)?);
        }
        if let Some(seconds) = self.burst {
            limit = limit.burst(time(name, "burst", seconds)?);
        }
        if let Some(calls) = self.queue {
            limit = limit.queue(calls);
        }
        if let Some(seconds) = self.max_wait {
            limit = limit.max_wait(time(name, "max_wait", seconds)?);
        }
        if let Some(seconds) = self.max_pause {
            limit = limit.max_pause(time(name, "max_pause", seconds)?);
        }
        Ok(limit)
    }
}

fn wrong(name: &str, key: &str, why: impl fmt::Display) -> Error {
    Error::new(ErrorKind::Config, format!("limits.{name}.{key}: {why}"))
}

fn positive<T: PartialEq + Default>(name: &str, key: &str, number: T) -> Result<T> {
    if number == T::default() {
        return Err(wrong(name, key, "must be greater than 0"));
    }
    Ok(number)
}

fn time(name: &str, key: &str, seconds: f64) -> Result<Duration> {
    timeouts::seconds(seconds).map_err(|error| wrong(name, key, error))
}
