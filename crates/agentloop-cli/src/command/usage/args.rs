//! Options of `agentloop usage`.

use std::path::PathBuf;

use agentloop_gateway::{By, ExportFormat, RowFilter};
use clap::Subcommand;
use clap::builder::{PossibleValuesParser, TypedValueParser};

use crate::store;
use crate::time::{Moment, parse_day};

/// Options of `agentloop usage`.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(super) action: Option<Action>,

    /// What the sums are grouped by.
    #[arg(long, value_parser = groups(), default_value = "key")]
    pub(super) by: By,

    #[command(flatten)]
    pub(super) filter: Filter,

    /// Print JSON with exact amounts.
    #[arg(long)]
    pub(super) json: bool,

    /// Print CSV with exact amounts.
    #[arg(long, conflicts_with = "json")]
    pub(super) csv: bool,
}

#[derive(Debug, Subcommand)]
pub(super) enum Action {
    /// Print the rows of the ledger, one for each call to a provider, the oldest first.
    ///
    /// Example: agentloop usage export --format jsonl --since 2026-11-01 -o november.jsonl
    Export(Export),
    /// Delete old rows of the ledger.
    ///
    /// Budgets of a day, week or month no longer count what is deleted, so keep at least the current month. Budgets in total still do.
    Prune(Prune),
}

/// Reads what the sums are grouped by.
fn groups() -> impl TypedValueParser<Value = By> {
    named(By::ALL.map(By::as_str), By::of_name)
}

/// Reads the format of an export.
fn formats() -> impl TypedValueParser<Value = ExportFormat> {
    named(ExportFormat::ALL.map(ExportFormat::as_str), ExportFormat::of_name)
}

fn named<T: Clone + Send + Sync + 'static, const N: usize>(
    names: [&'static str; N],
    of_name: fn(&str) -> Option<T>,
) -> impl TypedValueParser<Value = T> {
    PossibleValuesParser::new(names).try_map(move |name| of_name(&name).ok_or("it is not known"))
}

/// Which rows are meant.
#[derive(Debug, clap::Args)]
pub(super) struct Filter {
    /// Only calls since this time: an age such as 12h, 7d or 4w, a day such as 2026-11-01, or a
    /// time with its offset such as 2026-11-01T09:00+02:00.
    #[arg(long, value_name = "TIME", value_parser = Moment::parse)]
    since: Option<Moment>,

    /// Only calls before this time, in the same form. A day itself is left out.
    #[arg(long, value_name = "TIME", value_parser = Moment::parse)]
    until: Option<Moment>,

    /// Only calls of this key.
    #[arg(long, value_name = "NAME")]
    key: Option<String>,

    /// Only calls of this team.
    #[arg(long, value_name = "NAME")]
    team: Option<String>,

    /// Only calls of this model of a provider, for example openai/gpt-5.
    #[arg(long, value_name = "PROVIDER/MODEL")]
    model: Option<String>,

    /// Only calls of this provider.
    #[arg(long, value_name = "NAME")]
    provider: Option<String>,

    /// Only calls with this tag.
    #[arg(long, value_name = "TAG")]
    tag: Option<String>,
}

impl Filter {
    /// Returns the filter, with the last `usual` days if no begin is given.
    pub(super) fn resolve(&self, usual: Option<Moment>) -> RowFilter {
        let now = store::now();
        let mut filter = RowFilter::default();
        filter.since_ms = self.since.or(usual).map(|moment| moment.resolve(now));
        filter.until_ms = self.until.map(|moment| moment.resolve(now));
        filter.key.clone_from(&self.key);
        filter.team.clone_from(&self.team);
        filter.model.clone_from(&self.model);
        filter.provider.clone_from(&self.provider);
        filter.tag.clone_from(&self.tag);
        filter
    }
}

/// Options of `agentloop usage export`.
#[derive(Debug, clap::Args)]
pub(super) struct Export {
    /// The format: csv with a header, for spreadsheets, or jsonl, a JSON object per line. [default: jsonl if the name of the file ends
    /// with it, else csv]
    #[arg(long, value_parser = formats())]
    pub(super) format: Option<ExportFormat>,

    #[command(flatten)]
    pub(super) filter: Filter,

    /// Write to this file instead of stdout. It is replaced when all rows are written.
    #[arg(short, long, value_name = "FILE")]
    pub(super) output: Option<PathBuf>,
}

/// Options of `agentloop usage prune`.
#[derive(Debug, clap::Args)]
pub(super) struct Prune {
    /// Delete the calls before this day (UTC), for example 2026-01-01.
    #[arg(long, value_name = "DAY", value_parser = parse_day)]
    pub(super) before: i64,

    /// Do not ask.
    #[arg(short, long)]
    pub(super) yes: bool,
}
