//! Exports the rows of the ledger.

use std::fs::{self, File};
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};

use agentloop_gateway::{LedgerRow, MAX_PAGE, RowFilter, Store, csv_header, write_csv};

use super::args::{Export, Format};
use super::count;
use crate::failure::Failure;
use crate::output::Output;
use crate::setup::Setup;
use crate::{files, gateway_store};

pub(super) async fn run(args: &Export, setup: &Setup) -> Result<(), Failure> {
    let config = setup.config.gateway.clone().unwrap_or_default();
    let filter = args.filter.resolve(None);
    let by_name = args.output.as_ref().and_then(|path| path.extension()).map(|end| end == "jsonl");
    let usual = if by_name == Some(true) { Format::Jsonl } else { Format::Csv };
    let format = args.format.unwrap_or(usual);
    let database = gateway_store::open_existing(&config)?;
    let mut target = match &args.output {
        Some(path) => Target::create(path)?,
        None => Target::Stdout(Output::new()),
    };
    if format == Format::Csv {
        target.write(&csv_header())?;
    }
    let rows = match &database {
        Some(database) => write_rows(&**database, &filter, format, &mut target).await?,
        None => 0,
    };
    target.finish()?;
    if let Some(path) = &args.output {
        let rows = count(rows, "row");
        setup.notes.print_note(&format!("{rows} of the ledger are in {}", path.display()));
    } else if rows == 0 {
        setup.notes.print_note("the ledger has no such calls");
    }
    Ok(())
}

/// Writes all rows, page by page, and returns how many.
async fn write_rows(
    database: &dyn Store,
    filter: &RowFilter,
    format: Format,
    target: &mut Target,
) -> Result<u64, Failure> {
    let mut written = 0;
    let mut last: Option<(i64, String)> = None;
    loop {
        let after = last.as_ref().map(|(time, id)| (*time, id.as_str()));
        let page = database.rows(filter, after).await?;
        let mut text = String::new();
        for row in &page {
            write_row(row, format, &mut text)?;
        }
        target.write(&text)?;
        written += page.len() as u64;
        last = page.last().map(|row| (row.time_ms, row.id.clone()));
        if page.len() < MAX_PAGE {
            return Ok(written);
        }
    }
}

fn write_row(row: &LedgerRow, format: Format, text: &mut String) -> Result<(), Failure> {
    match format {
        Format::Csv => write_csv(text, row),
        Format::Jsonl => {
            let json = serde_json::to_string(row).map_err(std::io::Error::from)?;
            text.push_str(&json);
            text.push('\n');
        }
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
