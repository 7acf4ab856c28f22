//! `agentloop batch`: sends every row of a file to a model.

mod args;
mod estimate;
mod input;
mod progress;
mod request;
mod results;
#[cfg(test)]
mod tests;

use std::time::{Duration, SystemTime};

use agentloop::{AgentLoop, ChatRequest, ChatResponse, ErrorKind, Usd, inspect};
use serde_json::{Value, json};
use tokio::task::JoinSet;

pub(crate) use self::args::Args;
use self::estimate::Estimate;
use self::input::{Row, Source};
use self::progress::Progress;
use self::request::Plan;
use self::results::{Done, Line, Outcome, Results, hash_row};
use crate::failure::Failure;
use crate::model::choose_model;
use crate::output::Output;
use crate::setup::Setup;

/// How many requests `--dry-run` prints.
const SHOWN: usize = 3;

/// How often the status line is updated.
const TICK: Duration = Duration::from_millis(200);

/// With `--in-order`, how many results may wait for an earlier row, for each row that is sent at the same time.
const WAITING_PER_ROW: usize = 32;

pub(crate) async fn run(args: Args, setup: &Setup) -> Result<(), Failure> {
    let client = setup.build_client_for(&args.parameters.fallbacks, args.parameters.retries)?;
    let source = Source::open(&args.file, args.format)?;
    let mut base = args.build_base(setup);
    base.model = choose_model(args.model.as_deref(), &client, setup).await?;
    let plan = Plan { base, prompt: args.prompt.clone(), has_model: args.model.is_some() };
    if args.dry_run {
        return show_plan(&source, &plan, &client);
    }
    // All rows are read once before the first is sent: a mistake in the last row should not be found after an hour.
    let total = source.count()?;
    if let Some(first) = source.rows()?.next() {
        plan.build(&first?)?;
    }
    let (results, done) = match &args.output {
        Some(path) => Results::to_file(path, args.resume, args.in_order)?,
        None => (Results::to_stdout(args.in_order), Done::new()),
    };
    let progress = Progress::new(total, setup.notes);
    let mut batch =
        Batch { client, plan, args: &args, results, done, progress, running: JoinSet::new() };
    let ended = batch.send_all(&source).await;
    batch.progress.hide();
    batch.running.abort_all();
    batch.results.finish()?;
    setup.notes.print_note(&batch.progress.summarize());
    ended?;
    match batch.progress.failed {
        0 => Ok(()),
        failed => {
            let (rows, them) = if failed == 1 { ("row", "it") } else { ("rows", "them") };
            Err(Failure::Response(match args.output {
                Some(_) => format!("{failed} {rows} failed; --resume tries {them} again"),
                None => format!("{failed} {rows} failed"),
            }))
        }
    }
}

/// Prints the first requests and the estimated price of all.
fn show_plan(source: &Source, plan: &Plan, client: &AgentLoop) -> Result<(), Failure> {
    let mut output = Output::new();
    let mut estimate = Estimate::default();
    for (number, row) in source.rows()?.enumerate() {
        let request = plan.build(&row?)?;
        estimate.add(&request);
        if number < SHOWN {
            output.write_document(&inspect::encode(client, &request, false)?)?;
        }
    }
    output.flush()?;
    output.write_line(&estimate.describe(client, &plan.base))?;
    Ok(output.flush()?)
}

/// A row that was sent.
type Sent = (Line, Option<Spent>);

/// What a row used.
#[derive(Debug)]
struct Spent {
    tokens: u64,
    cost: Option<Usd>,
}

struct Batch<'a> {
    client: AgentLoop,
    plan: Plan,
    args: &'a Args,
    results: Results,
    done: Done,
    progress: Progress,
    running: JoinSet<Result<Sent, agentloop::Error>>,
}

impl Batch<'_> {
    /// Sends all rows. Returns an error if the batch has to stop before its end.
    async fn send_all(&mut self, source: &Source) -> Result<(), Failure> {
        let mut rows = source.rows()?;
        let mut has_more = true;
        let mut interrupt = std::pin::pin!(tokio::signal::ctrl_c());
        let mut tick = tokio::time::interval(TICK);
        tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Skip);
        loop {
            while has_more && self.has_room() {
                if self.is_over_budget() {
                    break;
                }
                match rows.next() {
                    Some(row) => self.start(&row?)?,
                    None => has_more = false,
                }
            }
            if self.running.is_empty() {
                return match has_more {
                    false => Ok(()),
                    true => Err(self.describe_budget()),
                };
            }
            tokio::select! {
                biased;
                interrupted = &mut interrupt => {
                    interrupted.map_err(Failure::Runtime)?;
                    return Err(Failure::Interrupted);
                }
                Some(ended) = self.running.join_next() => self.record(ended)?,
                _ = tick.tick() => {}
            }
            self.progress.show();
        }
    }

    fn has_room(&self) -> bool {
        let most = usize::from(self.args.concurrency);
        self.running.len() < most && self.results.waiting() < most * WAITING_PER_ROW
    }

    /// Returns whether the limit would be exceeded when another row is sent, if the rows that are being processed cost the average.
    fn is_over_budget(&self) -> bool {
        let Some(limit) = self.args.max_cost else { return false };
        let running = i128::try_from(self.running.len()).unwrap_or(i128::MAX);
        let expected = self.progress.average().picos().saturating_mul(running.saturating_add(1));
        match self.progress.done {
            // Nothing is known about the cost before the first row has ended, so it is sent alone.
            0 => running > 0 || limit <= Usd::default(),
            _ => self.progress.spent.picos().saturating_add(expected) > limit.picos(),
        }
    }

    fn describe_budget(&self) -> Failure {
        let limit = self.args.max_cost.unwrap_or_default();
        let message = format!("the next row would exceed the limit of ${limit} (--max-cost)");
        Failure::Response(match self.args.output {
            Some(_) => format!("{message}; --resume with a higher limit continues"),
            None => message,
        })
    }

    /// Sends a row, unless an earlier process did.
    fn start(&mut self, row: &Row) -> Result<(), Failure> {
        let hash = hash_row(row);
        if let Some(before) = self.done.get(&row.index) {
            if *before != hash {
                return Err(Failure::input_with_hint(
                    format!("row {} has changed since the batch was started", row.index + 1),
                    "restore the file, or choose another name for --output",
                ));
            }
            self.progress.skipped += 1;
            return self.results.skip(row.index);
        }
        let request = match self.plan.build(row) {
            Ok(request) => request,
            Err(Failure::Input { message, .. }) => {
                let error = json!({ "kind": ErrorKind::InvalidRequest, "message": message });
                self.progress.failed += 1;
                return self.results.write(&Line {
                    index: row.index,
                    hash,
                    result: Outcome::Error { error },
                });
            }
            Err(failure) => return Err(failure),
        };
        let client = self.client.clone();
        let (schema, full) = (self.args.schema.clone(), self.args.full);
        self.running.spawn(send(client, request, schema, full, row.index, hash));
        Ok(())
    }

    /// Writes the result of a row that has ended.
    fn record(
        &mut self,
        ended: Result<Result<Sent, agentloop::Error>, tokio::task::JoinError>,
    ) -> Result<(), Failure> {
        let (line, spent) = ended.map_err(|error| Failure::Response(error.to_string()))??;
        match spent {
            Some(spent) => {
                self.progress.done += 1;
                self.progress.tokens += spent.tokens;
                match spent.cost {
                    Some(cost) => self.progress.spent = self.progress.spent + cost,
                    None => self.progress.unpriced += 1,
                }
            }
            None => self.progress.failed += 1,
        }
        self.results.write(&line)?;
        match (self.args.max_cost, self.progress.unpriced) {
            (Some(_), 1..) => Err(Failure::Response(
                "the price of the model is not known, so --max-cost cannot be checked".to_owned(),
            )),
            _ => Ok(()),
        }
    }
}

/// Sends one row. An error that every other row would have too is returned; other errors are results.
async fn send(
    client: AgentLoop,
    request: ChatRequest,
    schema: Option<Value>,
    full: bool,
    index: u64,
    hash: String,
) -> Result<Sent, agentloop::Error> {
    let result = match schema {
        Some(schema) => client.chat_structured_as(schema, request).await.map(|structured| {
            // The usage and the cost are those of all attempts.
            let mut response = structured.response;
            response.usage = structured.usage;
            response.cost = structured.cost.or(response.cost);
            (Some(structured.data), response)
        }),
        None => client.chat(request).await.map(|response| (None, response)),
    };
    match result {
        Ok((value, response)) => {
            let spent = Spent {
                tokens: response.usage.total_tokens.unwrap_or(0),
                cost: cost_of(&response, &client),
            };
            let result = Outcome::Response(describe(value, &response, full, spent.cost));
            Ok((Line { index, hash, result }, Some(spent)))
        }
        Err(error) if is_fatal(error.kind()) => Err(error),
        Err(error) => {
            let error = serde_json::to_value(&error).unwrap_or_default();
            Ok((Line { index, hash, result: Outcome::Error { error } }, None))
        }
    }
}

/// Returns the fields of a result.
fn describe(value: Option<Value>, response: &ChatResponse, full: bool, cost: Option<Usd>) -> Value {
    if full {
        return json!({ "response": response });
    }
    let mut fields = json!({
        "model": format!("{}/{}", response.provider, response.model),
        "finishReason": response.finish_reason(),
        "usage": response.usage,
    });
    match value {
        Some(value) => fields["value"] = value,
        None => fields["text"] = response.text().into(),
    }
    if let Some(cost) = cost {
        fields["costUsd"] = json!(cost);
    }
    fields
}

/// Returns the cost of a response: as reported, else by the price list.
fn cost_of(response: &ChatResponse, client: &AgentLoop) -> Option<Usd> {
    if let Some(cost) = &response.cost {
        return Some(cost.usd);
    }
    let known = client.catalog().lookup(&response.provider, &response.model)?;
    known.cost(&response.usage, SystemTime::now(), None).map(|cost| cost.usd)
}

/// Returns whether an error would be the same for every row.
fn is_fatal(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::Auth
            | ErrorKind::MissingKey
            | ErrorKind::Quota
            | ErrorKind::UnknownProvider
            | ErrorKind::MissingModel
            | ErrorKind::Config
            | ErrorKind::SpendingLimit
            | ErrorKind::Tls
    )
}
