//! Headers that a caller adds.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::{Deref, DerefMut};

use serde::{Deserialize, Serialize};

use crate::secret::mask;

/// Headers that a caller adds to a request, by name. It is a map. In debug output, the values of headers whose names
/// suggest a secret are `***`.
///
/// ```
/// use agentloop::ExtraHeaders;
///
/// let mut headers = ExtraHeaders::default();
/// headers.insert("x-team-token".to_owned(), "abc".to_owned());
/// assert_eq!(format!("{headers:?}"), r#"{"x-team-token": "***"}"#);
/// ```
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ExtraHeaders(BTreeMap<String, String>);

impl ExtraHeaders {
    /// Returns whether there are no headers.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Debug for ExtraHeaders {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map()
            .entries(self.0.iter().map(|(name, value)| (name, mask::header(name, value))))
            .finish()
    }
}

impl Deref for ExtraHeaders {
    type Target = BTreeMap<String, String>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl DerefMut for ExtraHeaders {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.0
    }
}

impl From<BTreeMap<String, String>> for ExtraHeaders {
    fn from(headers: BTreeMap<String, String>) -> Self {
        Self(headers)
    }
}

impl FromIterator<(String, String)> for ExtraHeaders {
    fn from_iter<T: IntoIterator<Item = (String, String)>>(headers: T) -> Self {
        Self(headers.into_iter().collect())
    }
}
