//! `agentloop embed`: texts → vectors.

use agentloop::EmbedRequest;

use crate::failure::Failure;
use crate::input;
use crate::output::{ErrorDocument, Output};
use crate::setup::Setup;

/// What was typed.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The model, as provider/model.
    #[arg(short, long, value_name = "MODEL")]
    model: String,

    /// The length of the vectors, where the model lets it be chosen.
    #[arg(long, value_name = "N")]
    dimensions: Option<u32>,

    /// The whole EmbedResponse as JSON.
    #[arg(long)]
    json: bool,

    /// The texts; without any, each line of stdin is one.
    #[arg(value_name = "TEXT")]
    texts: Vec<String>,
}

pub(crate) async fn run(args: Args, setup: &Setup) -> Result<(), Failure> {
    let client = setup.client()?;
    let texts = if args.texts.is_empty() {
        input::text()?.lines().map(str::to_owned).collect()
    } else {
        args.texts
    };
    if texts.is_empty() {
        return Err(Failure::input_with_hint(
            "there is no text to embed",
            "give texts as arguments, or one a line on stdin",
        ));
    }
    let mut request = EmbedRequest::new(args.model, texts);
    request.dimensions = args.dimensions;
    let mut output = Output::new();
    let response = match client.embed(request).await {
        Ok(response) => response,
        Err(error) => {
            if args.json {
                output.document(&ErrorDocument { error: &error })?;
                output.flush()?;
            }
            return Err(error.into());
        }
    };
    if args.json {
        output.document(&response)?;
    } else {
        for vector in &response.embeddings {
            output.json(vector)?;
        }
    }
    output.flush()?;
    setup.notes.warnings(&response.warnings);
    Ok(())
}
