//! `agentloop decode`: decodes the raw bytes of a provider's response.

use std::io;

use agentloop::inspect::{self, DecodeOptions, HttpResponse};
use agentloop::limits::MAX_RESPONSE_BYTES;
use agentloop::{AgentLoop, ChatStreamEvent, ErrorKind, Protocol};
use http::{HeaderName, HeaderValue};
use serde::Serialize;

use crate::failure::Failure;
use crate::input;
use crate::output::Output;
use crate::setup::Setup;

/// Options of `agentloop decode`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The provider that sent the response, for example anthropic.
    #[arg(long, value_name = "NAME")]
    provider: String,

    /// The protocol of the response, for example openai_chat or anthropic [default: the provider's protocol]
    #[arg(long, value_name = "PROTOCOL", value_parser = crate::args::parse_protocol)]
    protocol: Option<Protocol>,

    /// The model that the request named, without the provider.
    #[arg(long, value_name = "ID")]
    model: Option<String>,

    /// The HTTP status of the response.
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = clap::value_parser!(u16).range(100..=599))]
    status: u16,

    /// An HTTP header of the response, for example 'retry-after: 2'. Can be repeated.
    #[arg(long = "header", value_name = "NAME: VALUE", value_parser = parse_header)]
    headers: Vec<(HeaderName, HeaderValue)>,

    /// Decode the bytes as a streamed response.
    #[arg(long)]
    stream: bool,

    /// Print one ChatStreamEvent per line instead of the ChatResponse.
    #[arg(long)]
    events: bool,

    /// Feed the decoder N bytes at a time, to test how it handles chunks.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    cut: Option<u32>,

    /// Decode the bytes as the response to an embeddings request, and print an EmbedResponse.
    #[arg(long, conflicts_with_all = ["stream", "events"])]
    embed: bool,
}

fn parse_header(text: &str) -> Result<(HeaderName, HeaderValue), String> {
    let (name, value) = text.split_once(':').ok_or("write a header as 'name: value'")?;
    let name = HeaderName::try_from(name.trim()).map_err(|error| error.to_string())?;
    let value = HeaderValue::try_from(value.trim()).map_err(|error| error.to_string())?;
    Ok((name, value))
}

pub(crate) async fn run(args: Args, setup: &Setup) -> Result<(), Failure> {
    let client = setup.build_client()?;
    let (events, embed) = (args.events, args.embed);
    let (options, response) = read_input(args)?;
    let mut output = Output::new();
    let error = if events {
        print_events(&client, &options, response, &mut output).await?
    } else if embed {
        let decoded = inspect::decode_embed(&client, &options, &response);
        print_result(decoded, &mut output)?
    } else {
        let decoded = match inspect::decode(&client, &options, response) {
            Ok(stream) => stream.response().await,
            Err(error) => Err(error),
        };
        print_result(decoded, &mut output)?
    };
    output.flush()?;
    match error {
        None => Ok(()),
        // This error is the only one that the command line causes and not the provider.
        Some(error) if error.kind() == ErrorKind::UnknownProvider => Err(error.into()),
        Some(_) => Err(Failure::Shown),
    }
}

/// Reads the response from stdin, and the options from the command line.
fn read_input(args: Args) -> Result<(DecodeOptions, HttpResponse), Failure> {
    let mut options = DecodeOptions::new(args.provider);
    options.protocol = args.protocol;
    options.model = args.model;
    options.stream = args.stream;
    let mut response = HttpResponse::new(input::read_at_most(MAX_RESPONSE_BYTES)?);
    response.status = args.status;
    for (name, value) in args.headers {
        response.headers.append(name, value);
    }
    if let Some(size) = args.cut {
        response = response.cut(usize::try_from(size).unwrap_or(usize::MAX));
    }
    Ok((options, response))
}

/// Prints the response or the error, and returns the error.
fn print_result<T: Serialize>(
    decoded: agentloop::Result<T>,
    output: &mut Output,
) -> io::Result<Option<agentloop::Error>> {
    match decoded {
        Ok(response) => output.write_document(&response).map(|()| None),
        Err(error) => {
            if error.kind() != ErrorKind::UnknownProvider {
                output.write_error(&error)?;
            }
            Ok(Some(error))
        }
    }
}

/// Prints one event per line. An error is printed as the last event and returned.
async fn print_events(
    client: &AgentLoop,
    options: &DecodeOptions,
    response: HttpResponse,
    output: &mut Output,
) -> io::Result<Option<agentloop::Error>> {
    let fail = |error: agentloop::Error, output: &mut Output| {
        if error.kind() != ErrorKind::UnknownProvider {
            output.write_json(&ChatStreamEvent::from(&error))?;
        }
        Ok(Some(error))
    };
    let mut stream = match inspect::decode(client, options, response) {
        Ok(stream) => stream,
        Err(error) => return fail(error, output),
    };
    while let Some(event) = stream.next().await {
        match event {
            Ok(event) => output.write_json(&event)?,
            Err(error) => return fail(error, output),
        }
    }
    Ok(None)
}
