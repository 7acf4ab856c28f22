//! Keys that cannot be printed.

pub(crate) mod echo;
pub(crate) mod mask;

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A secret: Debug, Display and JSON show `***`.
///
/// ```
/// use agentloop::Secret;
///
/// let key = Secret::new("sk-very-secret");
/// assert_eq!(format!("{key:?} {key}"), "*** ***");
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

/// What a secret looks like wherever it is shown.
pub(crate) const MASK: &str = "***";

impl Secret {
    /// Wraps a secret.
    pub fn new(secret: impl Into<String>) -> Self {
        Self(secret.into())
    }

    /// The secret itself. The name is a warning: do not print what this gives.
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
