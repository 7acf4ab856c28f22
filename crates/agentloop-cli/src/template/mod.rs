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

use std::collections::BTreeMap;
use std::path::Path;

use agentloop::{ChatRequest, Effort};
use serde::Deserialize;

pub(crate) use self::fill::fill;
pub(crate) use self::folder::{find, list, templates_folder};
use crate::failure::Failure;

/// The variable that stands for the prompt of the command line and of stdin.
const INPUT: &str = "input";

/// The line before and after the settings.
const FENCE: &str = "+++";

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
        let mut used = std::collections::BTreeSet::new();
        let mut value_of = |variable: &str| {
            used.insert(variable.to_owned());
            let value = match variable {
                INPUT => Some(input),
                _ => values
                    .get(variable)
                    .or_else(|| self.settings.defaults.get(variable))
                    .map(String::as_str),
            };
            if value.is_none() && !missing.iter().any(|name| name == variable) {
                missing.push(variable.to_owned());
            }
            value
        };
        let mut prompt = fill(&self.body, &mut value_of);
        let system = self.settings.system.as_deref().map(|system| fill(system, &mut value_of));
        if !missing.is_empty() {
            return Err(Failure::input_with_hint(
                format!("the template `{}` needs a value for {}", self.name, missing.join(", ")),
                format!("set it with --var {}=VALUE", missing[0]),
            ));
        }
        if let Some(unused) = values.keys().find(|name| !used.contains(*name)) {
            return Err(Failure::input_with_hint(
                format!("the template `{}` has no variable `{unused}`", self.name),
                match used.iter().filter(|name| *name != INPUT).cloned().collect::<Vec<_>>() {
                    names if names.is_empty() => "it has no variables".to_owned(),
                    names => format!("its variables are: {}", names.join(", ")),
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
        let mut names = Vec::new();
        let mut note = |name: &str| -> Option<&str> {
            if name != INPUT && !names.iter().any(|known| known == name) {
                names.push(name.to_owned());
            }
            None
        };
        fill(&self.body, &mut note);
        fill(self.settings.system.as_deref().unwrap_or_default(), &mut note);
        names
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
