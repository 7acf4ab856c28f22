//! Shows sums of the ledger.

use std::time::Duration;

use agentloop::Usd;
use agentloop_gateway::{MAX_PAGE, UsageQuery, UsageSum};
use serde_json::json;

use super::args::Args;
use super::{count, format_usd, group_digits};
use crate::failure::Failure;
use crate::gateway_store;
use crate::output::Output;
use crate::setup::Setup;
use crate::table::Table;
use crate::time::{Moment, format_utc};

/// How far back the sums reach, unless it is given.
const USUAL: Duration = Duration::from_secs(30 * 86_400);

/// The columns of CSV.
const CSV: &str = "calls,incomplete,cached,estimated,unpriced,prompt_tokens,completion_tokens,cached_tokens,usd,estimated_usd";

pub(super) async fn run(args: &Args, setup: &Setup) -> Result<(), Failure> {
    let config = setup.config.gateway.clone().unwrap_or_default();
    let filter = args.filter.resolve(Some(Moment::Ago(USUAL)));
    if filter.since_ms.zip(filter.until_ms).is_some_and(|(since, until)| since >= until) {
        return Err(Failure::input("--since is not before --until, so there is nothing between"));
    }
    let (since, until) = (filter.since_ms, filter.until_ms);
    let (sums, total) = match gateway_store::open_existing(&config)? {
        None => (Vec::new(), UsageSum::default()),
        Some(database) => {
            let grouped = UsageQuery::new(Some(args.by), filter.clone());
            let sums = database.usage(&grouped).await?;
            // A call with several tags is in several groups, so the total is a sum of its own.
            let total = database.usage(&UsageQuery::new(None, filter)).await?;
            (sums, total.into_iter().next().unwrap_or_default())
        }
    };
    let mut output = Output::new();
    if args.json {
        output.write_document(&json!({
            "by": args.by.as_str(),
            "since": since.map(format_utc),
            "until": until.map(format_utc),
            "groups": sums,
            "total": total,
        }))?;
    } else if args.csv {
        write_csv(args.by.as_str(), &sums, &mut output)?;
    } else if total.calls == 0 {
        let since = since.map(|since| format!(" since {}", format_utc(since)));
        let since = since.unwrap_or_default();
        setup.notes.print_note(&format!("the ledger has no calls{since}"));
    } else if output.is_terminal() {
        write_table(args.by.as_str(), &sums, &total, &mut output)?;
        output.flush()?;
        explain(&total, setup);
    } else {
        for sum in &sums {
            let group = if sum.group.is_empty() { "-" } else { &sum.group };
            write_line(group, sum, &mut output)?;
        }
        write_line("total", &total, &mut output)?;
    }
    if sums.len() >= MAX_PAGE {
        setup.notes.print_warning(&format!("only the first {MAX_PAGE} groups are shown"));
    }
    Ok(output.flush()?)
}

fn write_table(
    by: &str,
    sums: &[UsageSum],
    total: &UsageSum,
    output: &mut Output,
) -> Result<(), Failure> {
    let names = sums
        .iter()
        .map(|sum| if sum.group.is_empty() { "(none)".to_owned() } else { sum.group.clone() });
    let names = names.chain(["total".to_owned()]);
    let sums = sums.iter().chain([total]);
    let head = ["COST", "CALLS", "PROMPT", "CACHED", "RESPONSE", "INCOMPLETE"].map(str::to_owned);
    let head = std::iter::once(by.to_uppercase()).chain(head);
    let mut table = Table::new(head).with_numbers(|column| column > 0);
    for (name, sum) in names.zip(sums) {
        table.push(vec![
            name,
            format_cost(sum.usd, sum.estimated_usd),
            group_digits(sum.calls),
            group_digits(sum.prompt_tokens),
            group_digits(sum.cached_tokens),
            group_digits(sum.completion_tokens),
            group_digits(sum.incomplete),
        ]);
    }
    Ok(table.write(output)?)
}

/// Formats a cost, and marks one that contains estimates.
fn format_cost(usd: Usd, estimated: Usd) -> String {
    let mark = if estimated == Usd::default() { "" } else { "~" };
    format!("{mark}{}", format_usd(usd))
}

/// Explains the marks of the table.
fn explain(total: &UsageSum, setup: &Setup) {
    if total.estimated > 0 {
        setup.notes.print_note(&format!(
            "~ marks estimates: {} of {} without reported usage",
            format_usd(total.estimated_usd),
            count(total.estimated, "call")
        ));
    }
    if total.unpriced > 0 {
        let has = if total.unpriced == 1 { "has" } else { "have" };
        setup.notes.print_note(&format!(
            "{} {has} no known price; set it in [models] of agentloop.toml",
            count(total.unpriced, "call")
        ));
    }
}

/// Writes a line of a pipe, with exact amounts.
fn write_line(group: &str, sum: &UsageSum, output: &mut Output) -> Result<(), Failure> {
    let group = group.replace(['\t', '\n', '\r'], " ");
    Ok(output.write_line(&format!(
        "{group}\t{}\t{}\t{}\t{}\t{}\t{}\t{}",
        sum.calls,
        sum.incomplete,
        sum.prompt_tokens,
        sum.cached_tokens,
        sum.completion_tokens,
        sum.usd,
        sum.estimated_usd
    ))?)
}

fn write_csv(by: &str, sums: &[UsageSum], output: &mut Output) -> Result<(), Failure> {
    output.write_text(&format!("{by},{CSV}\r\n"))?;
    for sum in sums {
        output.write_untrusted(&format!(
            "{},{},{},{},{},{},{},{},{},{},{}\r\n",
            agentloop_gateway::csv_cell(&sum.group),
            sum.calls,
            sum.incomplete,
            sum.cached,
            sum.estimated,
            sum.unpriced,
            sum.prompt_tokens,
            sum.completion_tokens,
            sum.cached_tokens,
            sum.usd,
            sum.estimated_usd
        ))?;
    }
    Ok(())
}
