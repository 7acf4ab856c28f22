//! `agentloop embed`: converts texts to embedding vectors.

use agentloop::{CacheMode, EmbedInputType, EmbedRequest};
use clap::builder::{PossibleValuesParser, TypedValueParser};

use crate::failure::Failure;
use crate::input;
use crate::output::Output;
use crate::setup::Setup;

/// Options of `agentloop embed`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The embedding model, as provider/model, for example openai/text-embedding-3-small.
    #[arg(short, long, value_name = "MODEL")]
    model: String,

    /// The length of the vectors, for models that support a choice [default: the model's own length]
    #[arg(long, value_name = "N")]
    dimensions: Option<u32>,

    /// The purpose of the vectors, for providers that distinguish it.
    #[arg(long = "type", value_name = "TYPE", value_parser = input_type_parser())]
    input_type: Option<EmbedInputType>,

    /// The maximum number of parallel requests, if the texts need more than one request.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    concurrency: Option<u16>,

    /// Neither read from nor write to the cache that the configuration enables with [cache].
    #[arg(long)]
    no_cache: bool,

    /// Print the complete EmbedResponse as JSON.
    #[arg(long)]
    json: bool,

    /// The texts [default: stdin, as one text per line or as a JSON array of strings]
    #[arg(value_name = "TEXT")]
    texts: Vec<String>,
}

/// Returns a parser for the purposes of vectors.
fn input_type_parser() -> impl TypedValueParser<Value = EmbedInputType> {
    PossibleValuesParser::new(["query", "document", "classification", "clustering", "similarity"])
        .try_map(|name| serde_json::from_value(serde_json::Value::String(name)))
}

/// Splits stdin into texts: the strings of a JSON array, else the lines.
fn split_texts(stdin: &str) -> Vec<String> {
    serde_json::from_str(stdin).unwrap_or_else(|_| stdin.lines().map(str::to_owned).collect())
}

pub(crate) async fn run(args: Args, setup: &Setup) -> Result<(), Failure> {
    let client = setup.build_client()?;
    let texts = if args.texts.is_empty() { split_texts(&input::read_text()?) } else { args.texts };
    if texts.is_empty() {
        return Err(Failure::input_with_hint(
            "there is no text to embed",
            "give the texts as arguments, or pipe them in, as one text per line or as a JSON array of strings",
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
                output.write_error(&error)?;
                output.flush()?;
            }
            return Err(error.into());
        }
    };
    if args.json {
        output.write_document(&response)?;
    } else {
        for vector in &response.embeddings {
            output.write_json(vector)?;
        }
    }
    output.flush()?;
    setup.notes.print_warnings(&response.warnings);
    Ok(())
}
