//! `agentloop encode`: what would be sent.

use agentloop::{ChatRequest, Protocol, inspect};

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
}

pub(crate) fn run(args: &Args, setup: &Setup) -> Result<(), Failure> {
    let mut request = request(&input::bytes()?)?;
    request.protocol = args.protocol.or(request.protocol);
    let client = setup.client()?;
    let mut output = Output::new();
    match inspect::encode(&client, &request, args.stream) {
        Ok(encoded) => {
            output.document(&encoded)?;
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

fn request(json: &[u8]) -> Result<ChatRequest, Failure> {
    const HINT: &str =
        r#"like {"model":"openai/gpt-4.1","messages":[{"role":"user","content":"Hello"}]}"#;
    if json.trim_ascii().is_empty() {
        return Err(Failure::input_with_hint(
            "stdin is empty: a chat request as JSON is expected",
            HINT,
        ));
    }
    serde_json::from_slice(json).map_err(|error| {
        Failure::input_with_hint(format!("stdin is not a chat request: {error}"), HINT)
    })
}
