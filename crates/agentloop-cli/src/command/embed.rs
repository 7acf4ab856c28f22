//! `agentloop embed`: texts → vectors.

use agentloop::{CacheMode, EmbedInputType, EmbedRequest};
use clap::builder::{PossibleValuesParser, TypedValueParser};

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

    /// What the vectors are for, where the host tells that apart.
    #[arg(long = "type", value_name = "TYPE", value_parser = input_type())]
    input_type: Option<EmbedInputType>,

    /// How many calls may be under way at once, where the texts need several.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    concurrency: Option<u16>,

    /// Ask also what was asked before, and leave the configuration's [cache] as it is.
    #[arg(long)]
    no_cache: bool,

    /// The whole EmbedResponse as JSON.
    #[arg(long)]
    json: bool,

    /// The texts; without any, each line of stdin is one, or each string of a JSON list that stdin is.
    #[arg(value_name = "TEXT")]
    texts: Vec<String>,
}

/// What vectors can be for, by name.
fn input_type() -> impl TypedValueParser<Value = EmbedInputType> {
    PossibleValuesParser::new(["query", "document", "classification", "clustering", "similarity"])
        .try_map(|name| serde_json::from_value(serde_json::Value::String(name)))
}

/// The strings of a JSON list, else the lines.
fn texts_of(stdin: &str) -> Vec<String> {
    serde_json::from_str(stdin).unwrap_or_else(|_| stdin.lines().map(str::to_owned).collect())
}

pub(crate) async fn run(args: Args, setup: &Setup) -> Result<(), Failure> {
    let client = setup.client()?;
    let texts = if args.texts.is_empty() { texts_of(&input::text()?) } else { args.texts };
    if texts.is_empty() {
        return Err(Failure::input_with_hint(
            "there is no text to embed",
            "give texts as arguments, or one a line or as a JSON list on stdin",
        ));
    }
    let mut request = EmbedRequest::new(args.model, texts);
    request.dimensions = args.dimensions;
    request.input_type = args.input_type;
    request.concurrency = args.concurrency.map(usize::from);
    request.cache = args.no_cache.then_some(CacheMode::Bypass);
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
