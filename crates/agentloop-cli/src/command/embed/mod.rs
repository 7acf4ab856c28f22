//! `agentloop embed`: converts texts to embedding vectors.

mod args;
mod job;
mod space;
#[cfg(test)]
mod tests;

use std::io::IsTerminal as _;
use std::path::Path;

use agentloop::limits::{EMBED_BATCH, EMBED_BATCH_BYTES};
use agentloop::{AgentLoop, EmbedRequest, inspect};

pub(crate) use self::args::Args;
use self::args::VectorFormat;
use self::job::{Embeddings, Shared};
use self::space::Space;
use super::rows::{
    Done, Engine, Estimate, Head, Limits, Progress, Responses, Results, Source, TextOf,
};
use crate::failure::Failure;
use crate::model::{choose_embedding_model, complete_name};
use crate::output::Output;
use crate::setup::Setup;

pub(crate) async fn run(args: Args, setup: &Setup) -> Result<(), Failure> {
    let format = args.output_format()?;
    let client = setup.build_client_for(&args.fallbacks, args.retries)?;
    let mut base = args.build_base(setup);
    base.model = choose_embedding_model(&args.model, &client, setup).await?;
    for name in &args.fallbacks {
        base.fallbacks.push(complete_name(name, &client, setup).await?);
    }
    let source = open_source(&args)?;
    let hint = "select the text with --text, for example --text '{{NAME}}'";
    let text = TextOf { template: args.text.clone(), what: "text", hint };
    // All rows are read once before the first is sent: a mistake in the last row should not be found after an hour.
    let (total, blank) = source.count()?;
    let Some(first) = source.rows()?.next() else {
        return Err(Failure::input_with_hint(
            "there is no text to embed",
            "give the texts as arguments, name a file with --input, or pipe them in, as one text per line or as a JSON array of strings",
        ));
    };
    text.build(&first?)?;
    if blank > 0 {
        let lines = if blank == 1 {
            "1 blank line is".to_owned()
        } else {
            format!("{blank} blank lines are")
        };
        setup
            .notes
            .print_note(&format!("{lines} skipped; the vectors are those of the other lines"));
    }
    if args.json {
        return print_response(&args, base, &source, &text, &client, setup).await;
    }
    let limits = limits_of(&args, &client, &base.model)?;
    if args.dry_run {
        return show_plan(&source, &text, &base, limits, &client);
    }
    let requested = qualified_name(&client, &base.model)?;
    let mut space = Space::new(&requested, args.dimensions);
    let output = args.output.as_deref();
    let results = open_results(format, output, args.resume, &mut space)?;
    let shared = Shared { client, base, requested, format };
    let job = Embeddings::new(shared, text, space);
    let mut engine = Engine::new(job, limits, results, Progress::new(total, setup.notes));
    let ended = engine.run(&source, output, setup.notes).await;
    if format != VectorFormat::Vectors {
        setup.notes.print_note(&engine.progress.summarize());
    }
    ended?;
    engine.describe_failed(output)
}

fn open_source(args: &Args) -> Result<Source, Failure> {
    match (&args.input, args.input_format) {
        _ if !args.texts.is_empty() => Ok(Source::of_texts(args.texts.clone())),
        (Some(path), format) => Source::open(path, format),
        // A terminal is not an input that ends.
        (None, _) if std::io::stdin().is_terminal() => Ok(Source::of_texts(Vec::new())),
        (None, Some(format)) => Source::open(Path::new("-"), Some(format)),
        (None, None) => Source::read_stdin_texts(),
    }
}

/// Returns the name of a model with its provider.
fn qualified_name(client: &AgentLoop, model: &str) -> Result<String, Failure> {
    let target = client.resolve(model)?;
    Ok(format!("{}/{}", target.provider.name, target.model))
}

/// Returns how much is sent at the same time, within what the provider accepts.
fn limits_of(args: &Args, client: &AgentLoop, model: &str) -> Result<Limits, Failure> {
    let quirks = &client.resolve(model)?.provider.quirks.embeddings;
    let most = quirks.batch.unwrap_or(EMBED_BATCH).max(1);
    Ok(Limits {
        concurrency: args.concurrency.into(),
        rows: args.batch_size.map_or(most, |size| most.min(size.into())),
        bytes: quirks.batch_bytes.unwrap_or(EMBED_BATCH_BYTES),
        max_cost: args.max_cost,
    })
}

fn open_results(
    format: VectorFormat,
    path: Option<&Path>,
    resume: bool,
    space: &mut Space,
) -> Result<(Results, Done), Failure> {
    let Some(path) = path else {
        let results = match format {
            VectorFormat::Vectors => Results::to_stdout_by_position(),
            _ => Results::to_stdout(true),
        };
        return Ok((results, Done::new()));
    };
    Results::to_file(path, resume, true, &mut |head: &Head| match (&head.model, head.dimensions) {
        _ if head.is_error() => Ok(true),
        (Some(model), Some(dimensions)) => {
            let requested = head.requested.as_ref().unwrap_or(model);
            space.continue_from(requested, model, dimensions, path).map(|()| true)
        }
        _ => Ok(false),
    })
}

/// Prints the first request and the estimated price of all.
fn show_plan(
    source: &Source,
    text: &TextOf,
    base: &EmbedRequest,
    limits: Limits,
    client: &AgentLoop,
) -> Result<(), Failure> {
    let mut output = Output::new();
    let mut estimate = Estimate::default();
    let mut first: Vec<String> = Vec::new();
    let mut bytes = 0_usize;
    for row in source.rows()? {
        let text = text.build(&row?)?;
        estimate.add(text.len());
        bytes = bytes.saturating_add(text.len());
        if first.is_empty() || (first.len() < limits.rows && bytes <= limits.bytes) {
            first.push(text);
        }
    }
    let mut request = base.clone();
    request.input = first.into();
    for call in inspect::encode_embed(client, &request)? {
        output.write_document(&call)?;
    }
    output.flush()?;
    output.write_line(&estimate.describe(client, &base.model, Responses::None, None))?;
    Ok(output.flush()?)
}

/// Sends all texts as one EmbedRequest of the library, and prints its response.
async fn print_response(
    args: &Args,
    mut request: EmbedRequest,
    source: &Source,
    text: &TextOf,
    client: &AgentLoop,
    setup: &Setup,
) -> Result<(), Failure> {
    let texts: Result<Vec<String>, Failure> = source.rows()?.map(|row| text.build(&row?)).collect();
    request.input = texts?.into();
    request.concurrency = Some(args.concurrency.into());
    let mut output = Output::new();
    let response = match client.embed(request).await {
        Ok(response) => response,
        Err(error) => {
            output.write_error(&error)?;
            output.flush()?;
            return Err(error.into());
        }
    };
    output.write_document(&response)?;
    output.flush()?;
    setup.notes.print_warnings(&response.warnings);
    Ok(())
}
