//! Reads messages and parts from JSON: strict about names, tolerant about what OpenAI and compatible providers return.

mod call;
mod maker;
mod message;
mod part;
#[cfg(test)]
mod tests;

pub(crate) use maker::StateForm;
pub(crate) use message::vendor_state;
use serde::{Deserialize, Deserializer};

/// Reads null as the default, like an absent field.
pub(super) fn nullable<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}
