//! `agentloop serve --import`: the configuration of LiteLLM as settings of the gateway.
//!
//! Keys are never written: a key that is in the file itself becomes the name of an environment variable, and everything that
//! has no counterpart is listed with its place.

mod aws;
mod deployment;
mod model;
mod report;
mod route;
mod settings;
mod write;
mod yaml;

use std::io::Read as _;
use std::path::Path as File;

use agentloop::{AgentLoop, Config};
use agentloop_gateway::{KeyRing, State};

use self::report::{Path, Report};
use self::yaml::{Mistake, Node};
use crate::failure::Failure;
use crate::notes::Notes;
use crate::output::Output;
use crate::simulator;

/// The largest file that is read, in bytes.
const MAX_BYTES: u64 = 1 << 20;

/// The tables of a file that are translated.
const TABLES: [&str; 5] = [
    "model_list",
    "router_settings",
    "litellm_settings",
    "general_settings",
    "environment_variables",
];

/// Prints the settings on stdout, and what could not be translated on stderr.
pub(super) fn run(path: &File, notes: Notes) -> Result<(), Failure> {
    let text = read_file(path)?;
    let (toml, report) = translate(&text).map_err(|mistake| {
        Failure::file(path, format!("line {}: {}", mistake.line, mistake.what))
    })?;
    check(&toml)?;
    for line in report.into_lines() {
        notes.print_warning(&line);
    }
    let mut output = Output::new();
    output.write_untrusted(&toml)?;
    Ok(output.flush()?)
}

fn read_file(path: &File) -> Result<String, Failure> {
    let file = std::fs::File::open(path).map_err(|error| Failure::file(path, error))?;
    let mut bytes = Vec::new();
    file.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(|error| Failure::file(path, error))?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(Failure::file(path, format!("the file has more than {MAX_BYTES} bytes")));
    }
    String::from_utf8(bytes).map_err(|_| Failure::file(path, "the file is not text in UTF-8"))
}

/// Translates the text of a file.
fn translate(text: &str) -> Result<(String, Report), Mistake> {
    let document = yaml::read(text)?;
    let root = &document.root;
    if root.map().is_none() {
        return Err(Mistake { line: root.line, what: "the file has no settings".to_owned() });
    }
    let mut report = Report::default();
    for (line, name) in &document.repeated {
        report.add_line(format!("`{name}` (line {line}) is repeated; the last one counts"));
    }
    let Some(list) = root.get("model_list") else {
        return Err(Mistake { line: root.line, what: "there is no `model_list`".to_owned() });
    };
    let path = Path::new("model_list");
    let Some(list) = list.list() else {
        return Err(Mistake { line: list.line, what: "`model_list` is not a list".to_owned() });
    };
    if list.len() > deployment::MAX_MODELS {
        let what = format!("`model_list` has more than {} models", deployment::MAX_MODELS);
        return Err(Mistake { line: root.line, what });
    }
    let deployments = deployment::read(&path, list, &mut report);
    let settings = settings::read(root, &mut report);
    let routes = route::build(&deployments, &settings, &mut report);
    if routes.is_empty() && deployments.open.is_empty() {
        let what = "no model can be translated: no provider of `model_list` is known";
        return Err(Mistake { line: root.line, what: what.to_owned() });
    }
    report.add_unknown(&Path::default(), root, &TABLES);
    Ok((write::toml(&deployments, &settings, &routes), report))
}

/// Checks that the gateway accepts the settings, with any keys.
fn check(toml: &str) -> Result<(), Failure> {
    let wrong = |error: agentloop::Error| {
        let message = format!("the translated settings cannot be used: {error}");
        Failure::input_with_hint(message, error.hint().unwrap_or_default())
    };
    let config = Config::parse(toml).map_err(wrong)?;
    let builder = AgentLoop::builder().provider(simulator::provider()).config(&config);
    let client = builder.build().map_err(wrong)?;
    let settings = config.gateway.unwrap_or_default();
    let variable = |name: &str| Some(format!("key of {name}"));
    State::new(&client, &settings, KeyRing::default(), &variable).map_err(wrong)?;
    Ok(())
}

/// A value of a file that may name an environment variable.
enum Reference<'a> {
    Variable(&'a str),
    /// The value itself.
    Literal(&'a str),
}

impl<'a> Reference<'a> {
    fn read(node: &'a Node) -> Option<Self> {
        let text = node.text()?.trim();
        let is_plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
        match text.strip_prefix("os.environ/") {
            Some(name) if !name.is_empty() && name.chars().all(is_plain) => {
                Some(Self::Variable(name))
            }
            Some(_) => None,
            None if text.is_empty() => None,
            None => Some(Self::Literal(text)),
        }
    }
}
