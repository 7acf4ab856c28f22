//! How responses came about: the model, the tokens, the cost, the end.

use std::time::Duration;

use agentloop::{ChatResponse, Cost, CostSource, Error, ErrorRecord, Usage, Usd, Warning};
use rusqlite::{Connection, Row, params};
use serde::de::DeserializeOwned;

use super::Result;

/// The columns of a [`ResponseRecord`].
pub(super) const COLUMNS: &str = "r.state, r.provider, r.model, r.finish_reason, r.usage, r.cost, r.cost_source, r.duration, \
     r.warnings, r.error";

/// How far a response came.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ResponseState {
    /// It is being written, or the process was killed meanwhile.
    #[default]
    Running,
    Complete,
    /// It was interrupted or cut off. What had arrived is kept.
    Incomplete,
    /// Nothing arrived.
    Failed,
}

impl ResponseState {
    const ALL: [Self; 4] = [Self::Running, Self::Complete, Self::Incomplete, Self::Failed];

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Complete => "complete",
            Self::Incomplete => "incomplete",
            Self::Failed => "failed",
        }
    }
}

/// What is stored about a response, apart from its message.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ResponseRecord {
    pub(crate) state: ResponseState,
    pub(crate) provider: Option<String>,
    pub(crate) model: Option<String>,
    pub(crate) finish_reason: Option<String>,
    pub(crate) usage: Option<Usage>,
    pub(crate) cost: Option<Cost>,
    pub(crate) duration: Option<Duration>,
    pub(crate) warnings: Vec<Warning>,
    pub(crate) error: Option<ErrorRecord>,
}

impl ResponseRecord {
    /// Describes a response that came this far.
    pub(crate) fn of(response: &ChatResponse, state: ResponseState, duration: Duration) -> Self {
        let text = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        let reason = response.finish_reason().filter(|_| state == ResponseState::Complete);
        let reason = reason.and_then(|reason| serde_json::to_value(reason).ok());
        Self {
            state,
            provider: text(&response.provider),
            model: text(&response.model),
            finish_reason: reason.and_then(|reason| reason.as_str().map(str::to_owned)),
            usage: (!response.usage.is_empty()).then(|| response.usage.clone()),
            cost: response.cost.clone(),
            duration: Some(duration),
            warnings: response.warnings.clone(),
            error: None,
        }
    }

    /// Adds the error that ended the response. What the provider sent is not stored again.
    pub(crate) fn with_error(mut self, error: &Error) -> Self {
        let mut record = ErrorRecord::from(error);
        strip(&mut record);
        self.error = Some(record);
        self
    }
}

fn strip(record: &mut ErrorRecord) {
    record.raw = None;
    record.partial = None;
    record.causes.iter_mut().for_each(strip);
}

/// Stores the record of the response in a message.
pub(super) fn write(connection: &Connection, message: i64, record: &ResponseRecord) -> Result<()> {
    let cost = record.cost.as_ref();
    let picos = cost.map(|cost| i64::try_from(cost.usd.picos()).unwrap_or(i64::MAX));
    let source = cost.and_then(|cost| serde_json::to_value(cost.source).ok());
    let source = source.as_ref().and_then(serde_json::Value::as_str);
    let duration = record.duration.map(|time| i64::try_from(time.as_millis()).unwrap_or(i64::MAX));
    let usage = record.usage.as_ref().map(serde_json::to_string).transpose()?;
    let error = record.error.as_ref().map(serde_json::to_string).transpose()?;
    let warnings = if record.warnings.is_empty() {
        None
    } else {
        Some(serde_json::to_string(&record.warnings)?)
    };
    connection.execute(
        "INSERT OR REPLACE INTO response \
         (message, state, provider, model, finish_reason, usage, cost, cost_source, duration, warnings, error) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
        params![
            message,
            record.state.as_str(),
            record.provider,
            record.model,
            record.finish_reason,
            usage,
            picos,
            source,
            duration,
            warnings,
            error
        ],
    )?;
    Ok(())
}

/// Reads the columns from this one on. `None` if the message is not a response.
pub(super) fn read(row: &Row<'_>, at: usize) -> Result<Option<ResponseRecord>> {
    let state: Option<String> = row.get(at)?;
    let Some(state) = state else { return Ok(None) };
    let known = ResponseState::ALL.into_iter().find(|known| known.as_str() == state);
    let (picos, source): (Option<i64>, Option<String>) = (row.get(at + 5)?, row.get(at + 6)?);
    let source: Option<CostSource> =
        source.and_then(|source| serde_json::from_value(source.into()).ok());
    let cost = picos.map(|picos| {
        let mut cost = Cost::from_prices(Usd::from_picos(picos.into()));
        cost.source = source.unwrap_or(CostSource::Estimate);
        cost
    });
    let duration: Option<i64> = row.get(at + 7)?;
    Ok(Some(ResponseRecord {
        state: known.unwrap_or(ResponseState::Incomplete),
        provider: row.get(at + 1)?,
        model: row.get(at + 2)?,
        finish_reason: row.get(at + 3)?,
        usage: json(row, at + 4)?,
        cost,
        duration: duration.map(|time| Duration::from_millis(time.unsigned_abs())),
        warnings: json(row, at + 8)?.unwrap_or_default(),
        error: json(row, at + 9)?,
    }))
}

fn json<T: DeserializeOwned>(row: &Row<'_>, at: usize) -> Result<Option<T>> {
    let text: Option<String> = row.get(at)?;
    Ok(text.map(|text| serde_json::from_str(&text)).transpose()?)
}
