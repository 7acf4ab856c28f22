//! `agentloop encode`: prints the HTTP request that would be sent.

use agentloop::limits::MAX_SAVED_BYTES;
use agentloop::{ChatRequest, EmbedRequest, Protocol, inspect};
use serde::de::DeserializeOwned;

use crate::command::chat::EXAMPLE;
use crate::failure::Failure;
use crate::input;
use crate::output::Output;
use crate::setup::Setup;

/// Options of `agentloop encode`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Encode the request for a streamed response.
    #[arg(long)]
    stream: bool,

    /// The protocol to use, for example openai_chat or anthropic [default: the provider's protocol]
    #[arg(long, value_name = "PROTOCOL", value_parser = crate::args::parse_protocol)]
    protocol: Option<Protocol>,

    /// Read an EmbedRequest, and print one line for each HTTP request that it needs.
    #[arg(long, conflicts_with_all = ["stream", "protocol"])]
    embed: bool,
}

const EMBED: &str =
    r#"an example: {"model":"openai/text-embedding-3-small","input":["one","two"]}"#;

pub(crate) fn run(args: &Args, setup: &Setup) -> Result<(), Failure> {
    let json = input::read_at_most(MAX_SAVED_BYTES)?;
    let encoded = if args.embed {
        let request: EmbedRequest = parse_request(&json, "an EmbedRequest", EMBED)?;
        inspect::encode_embed(&setup.build_client()?, &request)
    } else {
        let mut request: ChatRequest = parse_request(&json, "a ChatRequest", EXAMPLE)?;
        request.protocol = args.protocol.or(request.protocol);
        inspect::encode(&setup.build_client()?, &request, args.stream).map(|encoded| vec![encoded])
    };
    let mut output = Output::new();
    match encoded {
        Ok(encoded) => {
            for call in &encoded {
                output.write_document(call)?;
            }
            Ok(output.flush()?)
        }
        Err(error) => {
            // The error is also printed as data, so that a program receives a typed error.
            output.write_error(&error)?;
            output.flush()?;
            Err(error.into())
        }
    }
}

fn parse_request<T: DeserializeOwned>(json: &[u8], what: &str, hint: &str) -> Result<T, Failure> {
    if json.trim_ascii().is_empty() {
        let message = format!("stdin is empty; expected {what} as JSON");
        return Err(Failure::input_with_hint(message, hint));
    }
    serde_json::from_slice(json).map_err(|error| {
        Failure::input_with_hint(format!("stdin is not {what} as JSON: {error}"), hint)
    })
}
