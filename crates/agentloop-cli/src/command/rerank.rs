//! `agentloop rerank`: sorts documents by how well they match a query.

use agentloop::RerankRequest;

use super::task::{CallArgs, TextArgs, finished, prepared};
use crate::failure::Failure;
use crate::output::Output;
use crate::setup::Setup;
use crate::table::Table;

/// Options of `agentloop rerank`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    call: CallArgs,

    /// What is searched.
    #[arg(value_name = "QUERY")]
    query: String,

    /// The documents [default: stdin, one on a line or as a JSON array of strings]
    #[arg(value_name = "DOCUMENT")]
    documents: Vec<String>,

    #[command(flatten)]
    texts: TextArgs,

    /// Print only the best N documents.
    #[arg(short = 'n', long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    top: Option<u32>,
}

pub(crate) async fn run(args: Args, setup: &Setup) -> Result<(), Failure> {
    let documents = args.texts.read(&args.documents, "document")?;
    let call = args.call.prepare(setup).await?;
    let mut request =
        prepared!(call, RerankRequest::new(&call.model, args.query, documents.iter().cloned()));
    request.top_n = args.top;
    let response = args.call.accept(call.client.rerank(request).await)?;
    if !args.call.print_json(&response)? {
        let mut table = Table::new(["SCORE", "PLACE", "DOCUMENT"]);
        for result in &response.results {
            let text = documents.get(result.index).cloned().unwrap_or_default();
            table.push(vec![format!("{:.4}", result.score), result.index.to_string(), text]);
        }
        let mut output = Output::new();
        table.write(&mut output)?;
        output.flush()?;
    }
    finished!(call, response);
    Ok(())
}
