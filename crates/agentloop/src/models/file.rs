//! Reads a data file: a JSON document of which each line but the first and the last is one model, in order.
//!
//! Nothing is read until a model is looked up. The search is binary: only the lines that are compared are read, and
//! only the line that is found is parsed.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use serde::Deserialize;

use super::compact;
use super::{Date, ModelData};
use crate::error::{Error, ErrorKind, Result};

/// The content of a data file: its date, its sources and the models.
///
/// ```
/// use agentloop::models::DataFile;
///
/// let text = "{\"generated\":\"2026-11-16\",\"sources\":[],\"models\":{\n\"lab/one\":{\"c\":32768}\n}}\n";
/// assert_eq!(DataFile::parse(text)?.models["lab/one"].context_window, Some(32_768));
/// # Ok::<(), agentloop::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DataFile {
    /// The day on which it was generated.
    pub generated: Date,
    /// The sources that it was generated from.
    pub sources: Vec<Source>,
    /// The providers whose models have variants: a word after a colon chooses how a model is served, not which one.
    pub variants: Vec<String>,
    /// The providers whose models are also called through inference profiles: a geography before the name (`eu.`) chooses where a model
    /// is served, and [`Price::regions`](super::Price::regions) what it costs there.
    pub profiles: Vec<String>,
    /// The models, by `provider/model` in lower case.
    pub models: BTreeMap<String, ModelData>,
}

/// A source of a data file.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct Source {
    /// Its name.
    pub name: String,
    /// A version or a commit, and its day if it is known.
    pub version: String,
    /// The copyright and the terms of use.
    pub notice: String,
}

#[derive(Deserialize)]
pub(super) struct Head {
    pub(super) generated: Date,
    pub(super) sources: Vec<Source>,
    #[serde(default)]
    variants: Vec<String>,
    #[serde(default)]
    profiles: Vec<String>,
}

/// The end of the first line, and the last line.
const OPEN: &str = ",\"models\":{";
const CLOSE: &str = "}}";

impl DataFile {
    /// Reads the whole text of a file.
    ///
    /// # Errors
    ///
    /// When it is not a data file; the error names the line.
    pub fn parse(text: &str) -> Result<Self> {
        let lines = Lines::of(text).ok_or_else(|| bad("it is not a file of models".to_owned()))?;
        let Head { generated, sources, variants, profiles, .. } = head(text)?;
        let mut file = Self { generated, sources, variants, profiles, models: BTreeMap::new() };
        let mut last = String::new();
        for (number, line) in lines.iter().enumerate() {
            // The first line is the head, and people count from one.
            let wrong = |what: String| bad(format!("line {}: {what}", number + 2));
            let (id, json) = split(line).ok_or_else(|| wrong("it is not a model".to_owned()))?;
            let key = id.to_ascii_lowercase();
            if key <= last {
                return Err(wrong(format!("`{id}` is not in order")));
            }
            file.models.insert(key.clone(), compact::read(id, json).map_err(wrong)?);
            last = key;
        }
        Ok(file)
    }
}

fn bad(message: String) -> Error {
    Error::new(ErrorKind::Config, message)
}

/// Reads the first line.
pub(super) fn head(text: &str) -> Result<Head> {
    let first = text.lines().next().unwrap_or_default();
    serde_json::from_str(&format!("{first}{CLOSE}"))
        .map_err(|error| bad(format!("line 1: {error}")))
}

/// A list of providers in the first line of a file.
#[derive(Clone, Copy)]
pub(super) enum Providers {
    /// Those whose models have variants.
    WithVariants,
    /// Those whose models are called through inference profiles.
    WithProfiles,
}

/// Returns whether a list of providers has this one, if the file has the list.
pub(super) fn lists(text: &str, list: Providers, provider: &str) -> Option<bool> {
    let head = head(text).ok()?;
    let listed = match list {
        Providers::WithVariants => head.variants,
        Providers::WithProfiles => head.profiles,
    };
    let is_it = |known: &String| known.eq_ignore_ascii_case(provider);
    (!listed.is_empty()).then(|| listed.iter().any(is_it))
}

/// The lines of a file that contain models.
#[derive(Clone, Copy)]
pub(super) struct Lines<'a>(&'a str);

impl<'a> Lines<'a> {
    pub(super) fn of(text: &'a str) -> Option<Self> {
        let end = memchr::memchr(b'\n', text.as_bytes())?;
        let (first, rest) = (text.get(..end)?, text.get(end + 1..)?);
        if !first.ends_with(OPEN) {
            return None;
        }
        rest.trim_end().strip_suffix(CLOSE).map(Self)
    }

    pub(super) fn iter(self) -> impl Iterator<Item = &'a str> {
        self.0.lines()
    }

    /// Finds a model by binary search. Returns its name as written and the text after it.
    pub(super) fn find(self, provider: &str, model: &str) -> Option<(&'a str, &'a str)> {
        let (mut low, mut high) = (0, self.0.len());
        while low < high {
            let middle = low + (high - low) / 2;
            let bytes = self.0.as_bytes();
            let start = memchr::memrchr(b'\n', &bytes[low..middle]).map_or(low, |at| low + at + 1);
            let end = memchr::memchr(b'\n', &bytes[middle..high]).map_or(high, |at| middle + at);
            let (id, json) = split(self.0.get(start..end)?)?;
            match compare(id, provider, model) {
                Ordering::Equal => return Some((id, json)),
                Ordering::Less => low = end + 1,
                Ordering::Greater => high = start,
            }
        }
        None
    }
}

/// `"name":{…},` in two.
pub(super) fn split(line: &str) -> Option<(&str, &str)> {
    let line = line.strip_prefix('"')?;
    let end = memchr::memchr(b'"', line.as_bytes())?;
    let json = line.get(end + 1..)?.strip_prefix(':')?;
    Some((line.get(..end)?, json.strip_suffix(',').unwrap_or(json)))
}

/// Compares an id with `provider/model`, ignoring case.
fn compare(id: &str, provider: &str, model: &str) -> Ordering {
    let (host, rest) = id.as_bytes().split_at(id.len().min(provider.len()));
    let before = compare_bytes(host, provider.as_bytes());
    before.then_with(|| match rest.split_first() {
        Some((slash, name)) => slash.cmp(&b'/').then_with(|| compare_bytes(name, model.as_bytes())),
        None => Ordering::Less,
    })
}

fn compare_bytes(one: &[u8], other: &[u8]) -> Ordering {
    let pairs = one.iter().zip(other);
    let mut differences = pairs.map(|(a, b)| a.to_ascii_lowercase().cmp(&b.to_ascii_lowercase()));
    differences.find(|order| order.is_ne()).unwrap_or_else(|| one.len().cmp(&other.len()))
}
