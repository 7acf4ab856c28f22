//! `agentloop encode`: what would be sent.

use agentloop::{ChatRequest, EmbedRequest, Protocol, inspect};
use serde::de::DeserializeOwned;

use crate::failure::Failure;
use crate::input;
use crate::output::{ErrorDocument, Output};
use crate::setup::Setup;

/// What was typed.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Ask for a stream.
    #[arg(long)]
    stream: bool,

    /// The protocol, in place of the provider's default.
    #[arg(long, value_name = "P", value_parser = crate::args::protocol)]
    protocol: Option<Protocol>,

    /// stdin is an EmbedRequest; each call that it needs becomes a line.
    #[arg(long, conflicts_with_all = ["stream", "protocol"])]
    embed: bool,
}

const CHAT: &str =
    r#"like {"model":"openai/gpt-4.1","messages":[{"role":"user","content":"Hello"}]}"#;
const EMBED: &str = r#"like {"model":"openai/text-embedding-3-small","input":["one","two"]}"#;

pub(crate) fn run(args: &Args, setup: &Setup) -> Result<(), Failure> {
    let json = input::bytes()?;
    let encoded = if args.embed {
        let request: EmbedRequest = request(&json, "an embeddings request", EMBED)?;
        inspect::encode_embed(&setup.client()?, &request)
    } else {
        let mut request: ChatRequest = request(&json, "a chat request", CHAT)?;
        request.protocol = args.protocol.or(request.protocol);
        inspect::encode(&setup.client()?, &request, args.stream).map(|encoded| vec![encoded])
    };
    let mut output = Output::new();
    match encoded {
        Ok(encoded) => {
            for call in &encoded {
                output.document(call)?;
            }
            Ok(output.flush()?)
        }
        Err(error) => {
            // As data too: what a program gets from a request that cannot be sent is a typed error.
            output.document(&ErrorDocument { error: &error })?;
            output.flush()?;
            Err(error.into())
        }
    }
}

fn request<T: DeserializeOwned>(json: &[u8], what: &str, hint: &str) -> Result<T, Failure> {
    if json.trim_ascii().is_empty() {
        let message = format!("stdin is empty: {what} as JSON is expected");
        return Err(Failure::input_with_hint(message, hint));
    }
    serde_json::from_slice(json)
        .map_err(|error| Failure::input_with_hint(format!("stdin is not {what}: {error}"), hint))
}
