//! Prompt-cache markers.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// A prompt-cache marker: the provider may keep everything up to here between calls.
///
/// In JSON it has Anthropic's form, `{"type": "ephemeral"}` with an optional `ttl` of `5m` (the default) or `1h`.
///
/// ```
/// use agentloop::CacheControl;
///
/// let marker: CacheControl = serde_json::from_str(r#"{"type": "ephemeral", "ttl": "1h"}"#)?;
/// assert_eq!(marker, CacheControl::EphemeralHour);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum CacheControl {
    /// Keeps it for five minutes after its last use.
    #[default]
    Ephemeral,
    /// Keeps it for an hour after its last use.
    EphemeralHour,
}

impl CacheControl {
    /// Returns how long the prompt is kept, as JSON has it: `5m` or `1h`.
    pub fn ttl(self) -> &'static str {
        match self {
            Self::Ephemeral => "5m",
            Self::EphemeralHour => "1h",
        }
    }
}

impl Serialize for CacheControl {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[skip_serializing_none]
        #[derive(Serialize)]
        struct Form {
            r#type: &'static str,
            ttl: Option<&'static str>,
        }
        let ttl = (*self != Self::default()).then(|| self.ttl());
        Form { r#type: "ephemeral", ttl }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for CacheControl {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Form {
            r#type: String,
            #[serde(default)]
            ttl: Option<String>,
        }
        let Form { r#type, ttl } = Form::deserialize(deserializer)?;
        match (r#type.as_str(), ttl.as_deref()) {
            ("ephemeral", None | Some("5m")) => Ok(Self::Ephemeral),
            // The second form was written by earlier versions.
            ("ephemeral", Some("1h")) | ("ephemeral_1h", None | Some("1h")) => {
                Ok(Self::EphemeralHour)
            }
            ("ephemeral" | "ephemeral_1h", Some(other)) => Err(de::Error::custom(format!(
                "unknown ttl `{other}` in cache_control; use 5m or 1h"
            ))),
            (other, _) => Err(de::Error::custom(format!(
                "unknown type `{other}` in cache_control; known is ephemeral"
            ))),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::CacheControl::{self, Ephemeral, EphemeralHour};

    #[test]
    fn a_marker_keeps_the_time_that_it_names() {
        for (wire, marker, written) in [
            (json!({"type": "ephemeral"}), Ephemeral, json!({"type": "ephemeral"})),
            (json!({"type": "ephemeral", "ttl": null}), Ephemeral, json!({"type": "ephemeral"})),
            (json!({"type": "ephemeral", "ttl": "5m"}), Ephemeral, json!({"type": "ephemeral"})),
            (
                json!({"type": "ephemeral", "ttl": "1h"}),
                EphemeralHour,
                json!({"type": "ephemeral", "ttl": "1h"}),
            ),
            (
                json!({"type": "ephemeral_1h"}),
                EphemeralHour,
                json!({"type": "ephemeral", "ttl": "1h"}),
            ),
        ] {
            let read: CacheControl = serde_json::from_value(wire).unwrap();
            assert_eq!(read, marker);
            assert_eq!(serde_json::to_value(read).unwrap(), written);
        }
    }

    #[test]
    fn a_marker_that_is_not_understood_is_an_error_that_names_it() {
        for (wire, named) in [
            (json!({"type": "ephemeral", "ttl": "2h"}), "`2h`"),
            (json!({"type": "forever"}), "`forever`"),
            (json!({"type": "ephemeral", "tll": "1h"}), "`tll`"),
        ] {
            let error = serde_json::from_value::<CacheControl>(Value::clone(&wire)).unwrap_err();
            assert!(error.to_string().contains(named), "{wire}: {error}");
        }
    }
}
