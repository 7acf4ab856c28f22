//! `agentloop moderate`: checks texts for harm.

use agentloop::{ModerateRequest, Moderation};

use super::task::{CallArgs, TextArgs, finished, prepared};
use crate::failure::Failure;
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
}

pub(crate) async fn run(args: Args, setup: &Setup) -> Result<(), Failure> {
    let texts = args.from.read(&args.texts, "text")?;
    let call = args.call.prepare(setup).await?;
    let request = ModerateRequest::new(&call.model, texts.iter().map(String::as_str));
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
    match names.is_empty() {
        true => "-".to_owned(),
        false => names.join(", "),
    }
}
