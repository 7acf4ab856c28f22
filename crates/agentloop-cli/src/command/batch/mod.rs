//! `agentloop batch`: sends every row of a file to a model.

mod args;
mod provider;
mod request;
#[cfg(test)]
mod tests;

use std::future::Future;
use std::time::SystemTime;

use agentloop::{AgentLoop, ChatRequest, ChatResponse, Usd, inspect};
use serde_json::{Value, json};

pub(crate) use self::args::Args;
use self::request::Plan;
use super::rows::{
    Done, Engine, Estimate, Job, Limits, Outcome, Pending, Progress, Responses, Results, Row, Sent,
    Source, Spent, is_fatal,
};
use crate::failure::Failure;
use crate::model::choose_model;
use crate::output::Output;
use crate::setup::Setup;

/// How many requests `--dry-run` prints.
pub(super) const SHOWN: usize = 3;

pub(crate) async fn run(args: Args, setup: &Setup) -> Result<(), Failure> {
    let client = setup.build_client_for(&args.parameters.fallbacks, args.parameters.retries)?;
    let source = Source::open(&args.file, args.format)?;
    let mut base = args.build_base(setup);
    base.model = choose_model(args.model.as_deref(), &client, setup).await?;
    let plan = Plan::new(base, args.prompt.clone(), args.model.is_some());
    if args.dry_run {
        return show_plan(&source, &plan, &client, args.provider_batch.then_some("batch"));
    }
    // All rows are read once before the first is sent: a mistake in the last row should not be found after an hour.
    let (total, _) = source.count()?;
    if let Some(first) = source.rows()?.next() {
        plan.build(&first?)?;
    }
    if args.provider_batch {
        return provider::run(&args, setup, &client, &source, &plan).await;
    }
    let output = args.output.as_deref();
    let results = match output {
        // A line of `embed` has the length of its vector.
        Some(path) => Results::to_file(path, args.resume, args.in_order, &mut |head| {
            Ok(head.dimensions.is_none())
        })?,
        None => (Results::to_stdout(args.in_order), Done::new()),
    };
    let limits = Limits {
        concurrency: args.concurrency.into(),
        rows: 1,
        bytes: usize::MAX,
        max_cost: args.max_cost,
    };
    let job = Chats { client, plan, schema: args.schema, full: args.full };
    let mut engine = Engine::new(job, limits, results, Progress::new(total, setup.notes));
    let ended = engine.run(&source, output, setup.notes).await;
    setup.notes.print_note(&engine.progress.summarize());
    ended?;
    engine.describe_failed(output)
}

/// Prints the first requests and the estimated price of all.
fn show_plan(
    source: &Source,
    plan: &Plan,
    client: &AgentLoop,
    tier: Option<&str>,
) -> Result<(), Failure> {
    let mut output = Output::new();
    let mut estimate = Estimate::default();
    for (number, row) in source.rows()?.enumerate() {
        let request = plan.build(&row?)?;
        estimate.add(serde_json::to_vec(&request.messages).map_or(0, |json| json.len()));
        if number < SHOWN {
            output.write_document(&inspect::encode(client, &request, false)?)?;
        }
    }
    output.flush()?;
    let responses = plan.base.max_tokens.map_or(Responses::Unknown, Responses::Limited);
    output.write_line(&estimate.describe(client, &plan.base.model, responses, tier))?;
    Ok(output.flush()?)
}

/// Sends each row as a chat.
struct Chats {
    client: AgentLoop,
    plan: Plan,
    schema: Option<Value>,
    full: bool,
}

impl Job for Chats {
    type Item = ChatRequest;
    type Output = Value;

    fn settings(&self) -> &str {
        ""
    }

    fn build(&self, row: &Row) -> Result<ChatRequest, Failure> {
        self.plan.build(row)
    }

    fn size(_: &ChatRequest) -> usize {
        0
    }

    fn send(
        &self,
        rows: Vec<Pending<ChatRequest>>,
    ) -> impl Future<Output = Sent<Value>> + Send + 'static {
        let (client, schema, full) = (self.client.clone(), self.schema.clone(), self.full);
        async move {
            let mut all = Sent::default();
            // A request has one row.
            for mut row in rows {
                let request = std::mem::take(&mut row.item);
                let result = send(&client, request, schema.clone()).await;
                match result {
                    Ok((value, response)) => {
                        let tokens = response.usage.total_tokens.unwrap_or(0);
                        let cost = cost_of(&response, &client);
                        all.warnings.extend(response.warnings.iter().cloned());
                        let result = describe(value, &response, full, cost);
                        all.spent = Some(Spent { tokens, cost });
                        all.lines.push(row.finish(Outcome::Result(result)));
                    }
                    Err(error) if is_fatal(error.kind()) => all.stop = Some(error),
                    Err(error) => all.lines.push(row.finish(Outcome::of_error(&error))),
                }
            }
            all
        }
    }
}

/// Sends one row, and returns the value if there is a schema.
async fn send(
    client: &AgentLoop,
    request: ChatRequest,
    schema: Option<Value>,
) -> Result<(Option<Value>, ChatResponse), agentloop::Error> {
    let Some(schema) = schema else {
        return client.chat(request).await.map(|response| (None, response));
    };
    let structured = client.chat_structured_as(schema, request).await?;
    // The usage and the cost are those of all attempts.
    let mut response = structured.response;
    response.usage = structured.usage;
    response.cost = structured.cost.or(response.cost);
    Ok((Some(structured.data), response))
}

/// Returns the fields of a result.
pub(super) fn describe(
    value: Option<Value>,
    response: &ChatResponse,
    full: bool,
    cost: Option<Usd>,
) -> Value {
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
