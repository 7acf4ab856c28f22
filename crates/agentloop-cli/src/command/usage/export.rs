//! Exports the rows of the ledger.

use std::fs::{self, File};
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};

use agentloop_gateway::{ExportFormat, LedgerExport};

use super::args::Export;
use super::count;
use crate::failure::Failure;
use crate::output::Output;
use crate::setup::Setup;
use crate::{files, gateway_store};

pub(super) async fn run(args: &Export, setup: &Setup) -> Result<(), Failure> {
    let config = setup.config.gateway.clone().unwrap_or_default();
    let filter = args.filter.resolve(None);
    let by_name = args.output.as_ref().and_then(|path| path.extension()).map(|end| end == "jsonl");
    let usual = if by_name == Some(true) { ExportFormat::Lines } else { ExportFormat::Csv };
    let format = args.format.unwrap_or(usual);
    let database = gateway_store::open_existing(&config)?;
    let mut target = match &args.output {
        Some(path) => Target::create(path)?,
        None => Target::Stdout(Output::new()),
    };
    let mut export = LedgerExport::new(database, filter, format);
    while let Some(page) = export.next_page().await? {
        target.write(&page)?;
    }
    let rows = export.rows();
    target.finish()?;
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
    /// A file beside the one that it takes the place of at the end.
    File {
        file: BufWriter<File>,
        part: PathBuf,
        path: PathBuf,
    },
}

impl Target {
    fn create(path: &Path) -> Result<Self, Failure> {
        let part = files::append_suffix(path, format!(".{}.part", std::process::id()));
        let file = files::create(&part).map_err(|error| Failure::file(&part, error))?;
        Ok(Self::File { file: BufWriter::new(file), part, path: path.to_owned() })
    }

    fn write(&mut self, text: &str) -> Result<(), Failure> {
        match self {
            Self::Stdout(output) => Ok(output.write_untrusted(text)?),
            Self::File { file, part, .. } => {
                file.write_all(text.as_bytes()).map_err(|error| Failure::file(part, error))
            }
        }
    }

    fn finish(mut self) -> Result<(), Failure> {
        match &mut self {
            Self::Stdout(output) => Ok(output.flush()?),
            Self::File { file, part, path } => file
                .flush()
                .and_then(|()| file.get_ref().sync_all())
                .and_then(|()| fs::rename(&*part, &*path))
                .map_err(|error| Failure::file(path, error)),
        }
    }
}

impl Drop for Target {
    /// Leaves no part of a file behind. After [`finish`](Self::finish) it has another name.
    fn drop(&mut self) {
        if let Self::File { part, .. } = self {
            let _ = fs::remove_file(part);
        }
    }
}
