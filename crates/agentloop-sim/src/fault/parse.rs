//! The text form of faults.

use std::str::FromStr;

use agentloop::{Error, ErrorKind, Result};

use super::{Cut, Fault};

/// The text forms of all faults, for error messages.
const KNOWN: &str = "status=N (then retry-after=S, code=C, message=M), cut-bytes=N, cut-events=N \
    (then reset), stall-events=N, malformed-events=N, error-events=N, error-first, drip, body=N, \
    wrong-length, html, refuse";

fn invalid(message: &str) -> Error {
    Error::new(ErrorKind::InvalidRequest, message)
        .with_status(400)
        .with_hint(format!("the known faults are {KNOWN}"))
}

/// Parses faults that are separated by `;`. An empty text has no faults.
pub(crate) fn parse_list(text: &str) -> Result<Vec<Fault>> {
    let mut faults: Vec<Fault> = Vec::new();
    for item in text.split(';').map(str::trim) {
        if item.is_empty() {
            continue;
        }
        let (name, value) = match item.split_once('=') {
            Some((name, value)) => (name.trim(), Some(value.trim())),
            None => (item, None),
        };
        if apply_option(faults.last_mut(), name, value) {
            continue;
        }
        faults.push(parse_fault(name, value)?);
    }
    Ok(faults)
}

/// Applies an option to the fault before it. Returns `false` if the text is not an option of that fault.
fn apply_option(last: Option<&mut Fault>, name: &str, value: Option<&str>) -> bool {
    match (last, name, value) {
        (Some(Fault::CutBytes(_, how) | Fault::CutEvents(_, how)), "reset", None) => {
            *how = Cut::Reset;
        }
        (Some(Fault::Status { retry_after, .. }), "retry-after", Some(wait)) => {
            *retry_after = Some(wait.to_owned());
        }
        (Some(Fault::Status { code, .. }), "code", Some(word)) => *code = Some(word.to_owned()),
        (Some(Fault::Status { message, .. }), "message", Some(text)) => {
            *message = Some(text.to_owned());
        }
        _ => return false,
    }
    true
}

fn parse_fault(name: &str, value: Option<&str>) -> Result<Fault> {
    fn number<T: FromStr>(name: &str, value: Option<&str>) -> Result<T> {
        let text = value.unwrap_or_default();
        text.parse().map_err(|_| invalid(&format!("the fault `{name}={text}` needs a number")))
    }
    match (name, value) {
        ("status", value) => {
            let status: u16 = number(name, value)?;
            if (200..600).contains(&status) {
                Ok(Fault::status(status))
            } else {
                Err(invalid(&format!("the fault `status={status}` is not from 200 to 599")))
            }
        }
        ("cut-bytes", value) => Ok(Fault::CutBytes(number(name, value)?, Cut::End)),
        ("cut-events", value) => Ok(Fault::CutEvents(number(name, value)?, Cut::End)),
        ("stall-events", value) => Ok(Fault::StallEvents(number(name, value)?)),
        ("malformed-events", value) => Ok(Fault::MalformedEvents(number(name, value)?)),
        ("error-events", value) => Ok(Fault::ErrorEvents(number(name, value)?)),
        ("body", value) => Ok(Fault::Body(number(name, value)?)),
        ("error-first", None) => Ok(Fault::ErrorEvents(0)),
        ("drip", None) => Ok(Fault::Drip),
        ("wrong-length", None) => Ok(Fault::WrongLength),
        ("html", None) => Ok(Fault::Html),
        ("refuse", None) => Ok(Fault::Refuse),
        ("retry-after" | "code" | "message", _) => {
            Err(invalid(&format!("`{name}=…` must follow `status=N`")))
        }
        ("reset", _) => Err(invalid("`reset` must follow `cut-bytes=N` or `cut-events=N`")),
        _ => Err(invalid(&format!("unknown fault `{name}`"))),
    }
}

impl FromStr for Fault {
    type Err = Error;

    /// Parses one fault.
    fn from_str(text: &str) -> Result<Self> {
        let mut faults = parse_list(text)?;
        match (faults.pop(), faults.is_empty()) {
            (Some(fault), true) => Ok(fault),
            _ => Err(invalid(&format!("`{text}` is not exactly one fault"))),
        }
    }
}

/// The JSON form of faults: a string with their text form.
pub(crate) mod serde_list {
    use serde::{Deserialize, Deserializer, Serializer, de};

    use super::Fault;

    pub(crate) fn serialize<S: Serializer>(list: &[Fault], to: S) -> Result<S::Ok, S::Error> {
        let written: Vec<String> = list.iter().map(Fault::to_string).collect();
        to.serialize_str(&written.join(";"))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Fault>, D::Error> {
        let text = String::deserialize(from)?;
        super::parse_list(&text).map_err(|error| {
            let hint = error.hint().unwrap_or_default();
            de::Error::custom(format!("{}; {hint}", error.message()))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fault_round_trips_through_its_text_form() {
        let all = [
            "status=429;retry-after=2;code=slow_down;message=too fast",
            "status=500",
            "cut-bytes=120",
            "cut-events=3;reset",
            "stall-events=2",
            "malformed-events=1",
            "error-events=2",
            "drip",
            "body=200000000",
            "wrong-length",
            "html",
            "refuse",
        ];
        for written in all {
            let fault: Fault = written.parse().unwrap();
            assert_eq!(fault.to_string(), written);
        }
        let listed = parse_list(&all.join("; ")).unwrap();
        assert_eq!(listed.len(), all.len());
    }

    #[test]
    fn an_unknown_fault_lists_the_known_ones() {
        let error = parse_list("explode").unwrap_err();
        assert!(error.message().contains("explode"));
        assert!(error.hint().unwrap().contains("stall-events=N"));
    }

    #[test]
    fn a_fault_without_a_valid_number_is_an_error() {
        for text in ["status", "status=x", "cut-bytes=-1", "status=99", "reset"] {
            assert!(parse_list(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_single_fault_is_parsed_only_from_exactly_one() {
        assert!("drip;html".parse::<Fault>().is_err());
        assert!("".parse::<Fault>().is_err());
    }
}
