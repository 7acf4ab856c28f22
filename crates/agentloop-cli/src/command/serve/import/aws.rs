//! The settings of Amazon Bedrock's models.

use super::Reference;
use super::report::{Path, Report};
use super::yaml::Node;

/// The settings that are read.
pub(super) const READ: [&str; 6] = [
    "aws_region_name",
    "aws_profile_name",
    "aws_bedrock_runtime_endpoint",
    "aws_access_key_id",
    "aws_secret_access_key",
    "aws_session_token",
];

/// Where a model is, and whose credentials are used.
#[derive(Debug, Default)]
pub(super) struct Aws {
    /// The URL, unless it is the built-in one.
    pub(super) base_url: Option<String>,
    /// The profile in `~/.aws/config`.
    pub(super) profile: Option<String>,
}

/// Reads the settings of a model. `region` is that of its name.
pub(super) fn read(path: &Path, params: &Node, region: Option<&str>, report: &mut Report) -> Aws {
    let is_word = |text: &str| {
        let is_letter = |letter: char| letter.is_ascii_alphanumeric() || "-_.@".contains(letter);
        !text.is_empty() && text.chars().all(is_letter)
    };
    let mut word = |name: &str| {
        let node = params.get(name)?;
        match Reference::read(node) {
            Some(Reference::Variable(name)) => Some(format!("${{{name}}}")),
            Some(Reference::Literal(text)) if is_word(text) => Some(text.to_owned()),
            _ => {
                report.add(&path.name(name), node, "it is not a name, so it is left out");
                None
            }
        }
    };
    let region = word("aws_region_name").or_else(|| region.map(str::to_owned));
    let mut profile = word("aws_profile_name");
    if profile.as_ref().is_some_and(|profile| profile.starts_with('$')) {
        let node = params.get("aws_profile_name").unwrap_or(params);
        let why = "a profile is not read from a variable; set AWS_PROFILE to it";
        report.add(&path.name("aws_profile_name"), node, why);
        profile = None;
    }
    for (name, variable) in [
        ("aws_access_key_id", "AWS_ACCESS_KEY_ID"),
        ("aws_secret_access_key", "AWS_SECRET_ACCESS_KEY"),
        ("aws_session_token", "AWS_SESSION_TOKEN"),
    ] {
        let Some(node) = params.get(name) else { continue };
        let is_usual =
            matches!(Reference::read(node), Some(Reference::Variable(name)) if name == variable);
        if !is_usual {
            let why = format!("the key is not written; set {variable} to it, for all models");
            report.add(&path.name(name), node, why);
        }
    }
    let region = region.filter(|region| profile.is_some() || region != "${AWS_REGION}");
    let region = region.or_else(|| profile.as_ref().map(|_| "${AWS_REGION}".to_owned()));
    let base_url = region.map(|region| format!("https://bedrock-runtime.{region}.amazonaws.com"));
    Aws { base_url, profile }
}
