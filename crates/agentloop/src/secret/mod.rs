//! Secrets that cannot be printed by accident.

pub(crate) mod echo;
pub(crate) mod mask;

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A secret, such as an API key. Debug, Display and JSON show `***`.
///
/// ```
/// use agentloop::Secret;
///
/// let key = Secret::new("sk-very-secret");
/// assert_eq!(format!("{key:?} {key}"), "*** ***");
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

/// What is shown instead of a secret.
pub(crate) const MASK: &str = "***";

impl Secret {
    /// Wraps a secret.
    pub fn new(secret: impl Into<String>) -> Self {
        Self(secret.into())
    }

    /// Returns the secret itself. Do not print it.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(MASK)
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(MASK)
    }
}

impl Serialize for Secret {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(MASK)
    }
}

impl<'de> Deserialize<'de> for Secret {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(Self)
    }
}

impl From<&str> for Secret {
    fn from(secret: &str) -> Self {
        Self::new(secret)
    }
}

impl From<String> for Secret {
    fn from(secret: String) -> Self {
        Self(secret)
    }
}
