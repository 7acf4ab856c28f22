//! The changes that a feature makes to a body.

use std::fmt::Write as _;

use agentloop::inspect::EncodedRequest;
use agentloop::{Error, WarningKind};
use serde_json::Value;

/// The longest value that is shown whole.
const LONGEST: usize = 150;

pub(crate) enum Change {
    /// It is sent: the fields that differ, and the warnings.
    Sent { fields: Vec<(String, String)>, warnings: Vec<(WarningKind, String)> },
    /// It is refused before anything is sent.
    Refused(Error),
}

impl Change {
    pub(crate) fn new(plain: &Value, sent: agentloop::Result<EncodedRequest>) -> Self {
        let sent = match sent {
            Ok(sent) => sent,
            Err(error) => return Self::Refused(error),
        };
        let body: Value = serde_json::from_str(sent.body.get()).unwrap();
        let mut fields = Vec::new();
        differ("", plain, &body, &mut fields);
        let warnings =
            sent.warnings.into_iter().map(|warning| (warning.kind, warning.message)).collect();
        Self::Sent { fields, warnings }
    }

    /// Whether it left no trace: neither in the body nor in a warning.
    pub(crate) fn is_silent(&self) -> bool {
        matches!(self, Self::Sent { fields, warnings } if fields.is_empty() && warnings.is_empty())
    }

    /// The field under which it is sent, and whether there is a warning about it.
    pub(crate) fn cell(&self) -> String {
        match self {
            Self::Refused(_) => "refused".to_owned(),
            Self::Sent { fields, warnings } => {
                let changed = warnings.iter().any(|(kind, _)| *kind != WarningKind::Dropped);
                let names: Vec<String> =
                    fields.iter().map(|(name, _)| format!("`{name}`")).collect();
                match (names.is_empty(), changed) {
                    (true, _) => "warning".to_owned(),
                    (false, true) => format!("{} (changed)", names.join(", ")),
                    (false, false) => names.join(", "),
                }
            }
        }
    }

    /// The change as lines of a table.
    pub(crate) fn table_lines(&self, name: &str) -> String {
        let mut lines = Vec::new();
        match self {
            Self::Refused(error) => {
                lines.push(format!("refused, {}: {}", error.kind(), error.message()));
            }
            Self::Sent { fields, warnings } => {
                lines.extend(fields.iter().map(|(name, value)| format!("{name}: {value}")));
                lines.extend(warnings.iter().map(|(_, message)| format!("warning: {message}")));
            }
        }
        let mut table = String::new();
        for (at, line) in lines.iter().enumerate() {
            let name = if at == 0 { name } else { "" };
            let _ = writeln!(table, "  {name:<22}{line}");
        }
        table
    }
}

/// The paths at which two bodies differ, with the values of the second.
fn differ(path: &str, plain: &Value, sent: &Value, fields: &mut Vec<(String, String)>) {
    if plain == sent {
        return;
    }
    match (plain, sent) {
        (Value::Object(before), Value::Object(after)) => {
            for (name, value) in after {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                match before.get(name) {
                    Some(plain) => differ(&path, plain, value, fields),
                    None => fields.push((path, shown(value))),
                }
            }
            for name in before.keys().filter(|name| !after.contains_key(*name)) {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                fields.push((path, "(gone)".to_owned()));
            }
        }
        // A text, and the same text as the only part: what the part has beside it is the difference.
        (Value::String(text), Value::Array(parts))
            if parts.len() == 1 && parts[0]["text"] == text.as_str() =>
        {
            let mut plain = parts[0].clone();
            if let Value::Object(plain) = &mut plain {
                plain.retain(|name, _| name == "text" || name == "type");
            }
            differ(&format!("{path}[0]"), &plain, &parts[0], fields);
        }
        (Value::Array(before), Value::Array(after)) if before.len() == after.len() => {
            for (at, (plain, sent)) in before.iter().zip(after).enumerate() {
                differ(&format!("{path}[{at}]"), plain, sent, fields);
            }
        }
        _ => fields.push((path.to_owned(), shown(sent))),
    }
}

fn shown(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(LONGEST) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    }
}
