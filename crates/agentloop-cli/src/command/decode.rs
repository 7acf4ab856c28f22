//! `agentloop decode`: what an answer is read as.

use std::io;

use agentloop::inspect::{self, DecodeOptions, RawAnswer};
use agentloop::{AgentLoop, ChatStreamEvent, ErrorKind, Protocol};
use http::{HeaderName, HeaderValue};
use serde::Serialize;

use crate::failure::Failure;
use crate::input;
use crate::output::{ErrorDocument, Output};
use crate::setup::Setup;

/// What was typed.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The provider that sent the bytes.
    #[arg(long, value_name = "NAME")]
    provider: String,

    /// The protocol, in place of the provider's default.
    #[arg(long, value_name = "P", value_parser = crate::args::protocol)]
    protocol: Option<Protocol>,

    /// The model that was asked.
    #[arg(long, value_name = "ID")]
    model: Option<String>,

    /// The HTTP status.
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = clap::value_parser!(u16).range(100..=599))]
    status: u16,

    /// An HTTP header; may be given more than once.
    #[arg(long = "header", value_name = "K: V", value_parser = header)]
    headers: Vec<(HeaderName, HeaderValue)>,

    /// The bytes are a stream.
    #[arg(long)]
    stream: bool,

    /// One event a line, in place of the whole answer.
    #[arg(long)]
    events: bool,

    /// Feed the bytes in pieces of N.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    cut: Option<u32>,

    /// The bytes answer an embeddings call.
    #[arg(long, conflicts_with_all = ["stream", "events"])]
    embed: bool,
}

fn header(text: &str) -> Result<(HeaderName, HeaderValue), String> {
    let (name, value) = text.split_once(':').ok_or("a header is written as 'name: value'")?;
    let name = HeaderName::try_from(name.trim()).map_err(|error| error.to_string())?;
    let value = HeaderValue::try_from(value.trim()).map_err(|error| error.to_string())?;
    Ok((name, value))
}

pub(crate) async fn run(args: Args, setup: &Setup) -> Result<(), Failure> {
    let client = setup.client()?;
    let (events, embed) = (args.events, args.embed);
    let (options, answer) = question(args)?;
    let mut output = Output::new();
    let error = if events {
        show_events(&client, &options, answer, &mut output).await?
    } else if embed {
        let read = inspect::decode_embed(&client, &options, &answer);
        show(read, &mut output)?
    } else {
        let read = match inspect::decode(&client, &options, answer) {
            Ok(stream) => stream.response().await,
            Err(error) => Err(error),
        };
        show(read, &mut output)?
    };
    output.flush()?;
    match error {
        None => Ok(()),
        // The only error that is the command line's and not the provider's.
        Some(error) if error.kind() == ErrorKind::UnknownProvider => Err(error.into()),
        Some(_) => Err(Failure::Shown),
    }
}

/// What was typed, as the library wants it.
fn question(args: Args) -> Result<(DecodeOptions, RawAnswer), Failure> {
    let mut options = DecodeOptions::new(args.provider);
    options.protocol = args.protocol;
    options.model = args.model;
    options.stream = args.stream;
    let mut answer = RawAnswer::new(input::bytes()?);
    answer.status = args.status;
    for (name, value) in args.headers {
        answer.headers.append(name, value);
    }
    if let Some(size) = args.cut {
        answer = answer.cut(usize::try_from(size).unwrap_or(usize::MAX));
    }
    Ok((options, answer))
}

/// Writes the answer or the error, and gives the error back.
fn show<T: Serialize>(
    read: agentloop::Result<T>,
    output: &mut Output,
) -> io::Result<Option<agentloop::Error>> {
    match read {
        Ok(answer) => output.document(&answer).map(|()| None),
        Err(error) => {
            if error.kind() != ErrorKind::UnknownProvider {
                output.document(&ErrorDocument { error: &error })?;
            }
            Ok(Some(error))
        }
    }
}

/// Writes event after event; an error is the last of them, wherever it happens.
async fn show_events(
    client: &AgentLoop,
    options: &DecodeOptions,
    answer: RawAnswer,
    output: &mut Output,
) -> io::Result<Option<agentloop::Error>> {
    let failed = |error: agentloop::Error, output: &mut Output| {
        if error.kind() != ErrorKind::UnknownProvider {
            let error = error.clone();
            output.json(&ChatStreamEvent::from(&error))?;
        }
        Ok(Some(error))
    };
    let mut stream = match inspect::decode(client, options, answer) {
        Ok(stream) => stream,
        Err(error) => return failed(error, output),
    };
    while let Some(event) = stream.next().await {
        match event {
            Ok(event) => output.json(&event)?,
            Err(error) => return failed(error, output),
        }
    }
    Ok(None)
}
