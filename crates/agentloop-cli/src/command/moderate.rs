//! `agentloop moderate`: checks texts or a conversation for harm.

use std::path::{Path, PathBuf};

use agentloop::limits::MAX_FILE_BYTES;
use agentloop::{ChatMessage, ModerateRequest, Moderation};
use serde::Deserialize as _;
use serde_json::Value;

use super::task::{CallArgs, TextArgs, finished, prepared};
use crate::failure::Failure;
use crate::files;
use crate::input;
use crate::output::Output;
use crate::setup::Setup;
use crate::table::Table;

/// Options of `agentloop moderate`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    call: CallArgs,

    /// The texts [default: stdin, one on a line or as a JSON array of strings]
    #[arg(value_name = "TEXT")]
    texts: Vec<String>,

    #[command(flatten)]
    from: TextArgs,

    /// Check a conversation as a whole: a file with its messages as a JSON array, or with a request that has `messages`. - is stdin.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["texts", "input", "text"])]
    messages: Option<PathBuf>,
}

/// Reads the messages of a conversation.
fn read_messages(path: &Path) -> Result<Vec<ChatMessage>, Failure> {
    let named = |error: &dyn std::fmt::Display| {
        Failure::input_with_hint(
            format!("{}: {error}", path.display()),
            r#"write the messages as JSON, for example [{"role":"user","content":"Hello"}]"#,
        )
    };
    let bytes = if path == Path::new("-") {
        input::read_at_most(MAX_FILE_BYTES)?
    } else {
        files::read_at_most(path, MAX_FILE_BYTES)?
    };
    let messages = match serde_json::from_slice(&bytes).map_err(|error| named(&error))? {
        Value::Object(mut request) => request.remove("messages").unwrap_or_default(),
        messages => messages,
    };
    let messages = Vec::<ChatMessage>::deserialize(messages).map_err(|error| named(&error))?;
    if messages.is_empty() {
        return Err(named(&"there are no messages"));
    }
    Ok(messages)
}

pub(crate) async fn run(args: Args, setup: &Setup) -> Result<(), Failure> {
    let messages = args.messages.as_deref().map(read_messages).transpose()?;
    let texts = match &messages {
        // Of a conversation, the last message is shown.
        Some(messages) => vec![messages.last().map(ChatMessage::text).unwrap_or_default()],
        None => args.from.read(&args.texts, "text")?,
    };
    let call = args.call.prepare(setup).await?;
    let request = match messages {
        Some(messages) => ModerateRequest::conversation(&call.model, messages),
        None => ModerateRequest::new(&call.model, texts.iter().map(String::as_str)),
    };
    let request = prepared!(call, request);
    let response = args.call.accept(call.client.moderate(request).await)?;
    if !args.call.print_json(&response)? {
        let mut table = Table::new(["RESULT", "CATEGORIES", "TEXT"]);
        for (result, text) in response.results.iter().zip(&texts) {
            let word = if result.flagged { "flagged" } else { "ok" };
            table.push(vec![word.to_owned(), describe(result), text.clone()]);
        }
        let mut output = Output::new();
        table.write(&mut output)?;
        output.flush()?;
    }
    finished!(call, response);
    Ok(())
}

/// Names the categories that apply, with their scores.
fn describe(result: &Moderation) -> String {
    let applies = result.categories.iter().filter(|(_, applies)| **applies);
    let names: Vec<String> = applies
        .map(|(name, _)| match result.scores.get(name) {
            Some(score) => format!("{name} {score:.2}"),
            None => name.clone(),
        })
        .collect();
    if names.is_empty() { "-".to_owned() } else { names.join(", ") }
}
