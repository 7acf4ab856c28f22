//! Exports the rows of the ledger.

use std::io::Write as _;
use std::path::Path;

use agentloop_gateway::{ExportFormat, LedgerExport};

use super::args::Export;
use super::count;
use crate::failure::Failure;
use crate::files::Replacement;
use crate::gateway_store;
use crate::output::Output;
use crate::setup::Setup;

pub(super) async fn run(args: &Export, setup: &Setup) -> Result<(), Failure> {
    let config = setup.config.gateway.clone().unwrap_or_default();
    let filter = args.filter.resolve(None);
    let by_name = args.output.as_ref().and_then(|path| path.extension()).map(|end| end == "jsonl");
    let usual = if by_name == Some(true) { ExportFormat::Lines } else { ExportFormat::Csv };
    let format = args.format.unwrap_or(usual);
    let database = gateway_store::open_existing(&config)?;
    let mut target = match &args.output {
        Some(path) => {
            Target::File(Replacement::begin(path).map_err(|error| Failure::file(path, error))?)
        }
        None => Target::Stdout(Output::new()),
    };
    let mut export = LedgerExport::new(database, filter, format);
    while let Some(page) = export.next_page().await? {
        target.write(&page, args.output.as_deref())?;
    }
    let rows = export.rows();
    target.finish(args.output.as_deref())?;
    if let Some(path) = &args.output {
        let rows = count(rows, "row");
        setup.notes.print_note(&format!("{rows} of the ledger are in {}", path.display()));
    } else if rows == 0 {
        setup.notes.print_note("the ledger has no such calls");
    }
    Ok(())
}

/// Where the rows go.
enum Target {
    Stdout(Output),
    File(Replacement),
}

impl Target {
    fn write(&mut self, text: &str, path: Option<&Path>) -> Result<(), Failure> {
        match self {
            Self::Stdout(output) => Ok(output.write_untrusted(text)?),
            Self::File(file) => file.write_all(text.as_bytes()).map_err(|error| fail(path, error)),
        }
    }

    fn finish(self, path: Option<&Path>) -> Result<(), Failure> {
        match self {
            Self::Stdout(mut output) => Ok(output.flush()?),
            Self::File(file) => file.commit().map_err(|error| fail(path, error)),
        }
    }
}

fn fail(path: Option<&Path>, error: std::io::Error) -> Failure {
    Failure::file(path.unwrap_or(Path::new("")), error)
}
