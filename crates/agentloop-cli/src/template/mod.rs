//! Templates: prompts and settings that are used by name with `-t`.
//!
//! A template is a text file `NAME.md` in the folder `templates` of the user's configuration folder: the prompt, with variables
//! in double braces. Settings may stand at its start, as TOML between two lines `+++`:
//!
//! ```text
//! +++
//! description = "Review a change"
//! model = "anthropic/claude-sonnet-4-5"
//! system = "You review code. Be brief."
//! defaults = { language = "English" }
//! +++
//! Review this change. Write in {{language}}.
//!
//! {{input}}
//! ```

mod fill;
mod folder;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use agentloop::{ChatRequest, Effort};
use serde::Deserialize;

pub(crate) use self::fill::{TooLong, fill};
pub(crate) use self::folder::{find, list, templates_folder};
use crate::failure::Failure;

/// The variable that stands for the prompt of the command line and of stdin.
const INPUT: &str = "input";

/// The line before and after the settings.
const FENCE: &str = "+++";

/// How many names an error lists.
const MAX_LISTED: usize = 20;

/// The settings of a template.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Settings {
    /// What the template is for, shown in lists.
    pub(crate) description: Option<String>,
    pub(crate) model: Option<String>,
    /// The system prompt. It may have variables too.
    pub(crate) system: Option<String>,
    pub(crate) temperature: Option<f64>,
    pub(crate) max_tokens: Option<u64>,
    pub(crate) effort: Option<Effort>,
    /// Values of variables that the command line does not set.
    #[serde(default)]
    pub(crate) defaults: BTreeMap<String, String>,
}

/// A template that was read from its file.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Template {
    pub(crate) name: String,
    pub(crate) settings: Settings,
    body: String,
}

/// A template whose variables have their values.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Filled {
    pub(crate) prompt: String,
    pub(crate) system: Option<String>,
}

impl Settings {
    /// Sets the parameters of a request that the template has.
    pub(crate) fn apply(&self, request: &mut ChatRequest) {
        if let Some(model) = &self.model {
            request.model.clone_from(model);
        }
        request.temperature = self.temperature.or(request.temperature);
        request.max_tokens = self.max_tokens.or(request.max_tokens);
        request.reasoning_effort = self.effort.or(request.reasoning_effort);
    }
}

impl Template {
    /// Reads a template from the text of its file.
    pub(crate) fn parse(name: &str, path: &Path, text: &str) -> Result<Self, Failure> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text).replace("\r\n", "\n");
        let fail = |why: String| Failure::file(path, why);
        let Some(rest) = text.strip_prefix(FENCE).and_then(|rest| rest.strip_prefix('\n')) else {
            let body = text.trim_end().to_owned();
            return Ok(Self { name: name.to_owned(), settings: Settings::default(), body });
        };
        let (header, body) = split_header(rest)
            .ok_or_else(|| fail(format!("the settings do not end with a line `{FENCE}`")))?;
        let settings = toml::from_str(header).map_err(|error| fail(describe(&error, header)))?;
        Ok(Self { name: name.to_owned(), settings, body: body.trim().to_owned() })
    }

    /// Fills in the variables. `input` is the prompt of the command line; a template without `{{input}}` is followed by it.
    pub(crate) fn fill(
        &self,
        values: &BTreeMap<String, String>,
        input: &str,
    ) -> Result<Filled, Failure> {
        let mut missing = Vec::new();
        let mut used = BTreeSet::new();
        let mut value_of = |variable: &str| {
            let is_first = used.insert(variable.to_owned());
            let value = match variable {
                INPUT => Some(input),
                _ => values
                    .get(variable)
                    .or_else(|| self.settings.defaults.get(variable))
                    .map(String::as_str),
            };
            if value.is_none() && is_first {
                missing.push(variable.to_owned());
            }
            value.map(Cow::Borrowed)
        };
        let fail = |why: TooLong| Failure::input(format!("the template `{}`: {why}", self.name));
        let mut prompt = fill(&self.body, &mut value_of).map_err(fail)?;
        let system = self.settings.system.as_deref().map(|system| fill(system, &mut value_of));
        let system = system.transpose().map_err(fail)?;
        if !missing.is_empty() {
            return Err(Failure::input_with_hint(
                format!("the template `{}` needs a value for {}", self.name, list_some(&missing)),
                format!("set it with --var {}=VALUE", missing[0]),
            ));
        }
        if let Some(unused) = values.keys().find(|name| !used.contains(*name)) {
            return Err(Failure::input_with_hint(
                format!("the template `{}` has no variable `{unused}`", self.name),
                match used.iter().filter(|name| *name != INPUT).cloned().collect::<Vec<_>>() {
                    names if names.is_empty() => "it has no variables".to_owned(),
                    names => format!("its variables are: {}", list_some(&names)),
                },
            ));
        }
        if !used.contains(INPUT) && !input.is_empty() {
            let gap = if prompt.is_empty() { "" } else { "\n\n" };
            prompt = format!("{prompt}{gap}{input}");
        }
        Ok(Filled { prompt, system })
    }

    /// Returns the text of the template: the system prompt, if it has one, and the prompt.
    pub(crate) fn describe(&self) -> String {
        match &self.settings.system {
            Some(system) => format!("[system] {system}\n\n{}\n", self.body),
            None => format!("{}\n", self.body),
        }
    }

    /// Returns the names of the variables, without `input`.
    pub(crate) fn variables(&self) -> Vec<String> {
        let (mut names, mut known) = (Vec::new(), BTreeSet::new());
        let mut note = |name: &str| {
            if name != INPUT && known.insert(name.to_owned()) {
                names.push(name.to_owned());
            }
            None
        };
        for text in [&self.body, self.settings.system.as_deref().unwrap_or_default()] {
            // Without values it cannot become too long.
            let _ = fill(text, &mut note);
        }
        names
    }
}

/// Returns the first names of a list, for an error.
fn list_some(names: &[String]) -> String {
    match names.split_at_checked(MAX_LISTED) {
        Some((first, rest)) if !rest.is_empty() => {
            format!("{} and {} more", first.join(", "), rest.len())
        }
        _ => names.join(", "),
    }
}

/// Splits the text after the first fence into the settings and the prompt.
fn split_header(text: &str) -> Option<(&str, &str)> {
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        if line.trim_end() == FENCE {
            return Some((&text[..at], &text[at + line.len()..]));
        }
        at += line.len();
    }
    None
}

/// Describes an error of the settings by its line in the file.
fn describe(error: &toml::de::Error, header: &str) -> String {
    let line = error
        .span()
        .and_then(|span| header.get(..span.start))
        .map(|before| before.matches('\n').count() + 2);
    match line {
        Some(line) => format!("line {line}: {}", error.message()),
        None => error.message().to_owned(),
    }
}

#[cfg(test)]
mod tests;
