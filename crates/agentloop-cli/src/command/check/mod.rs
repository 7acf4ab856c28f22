//! `agentloop check`: checks a provider with the user's key.

mod args;
mod requests;
mod rules;

use std::io::IsTerminal as _;
use std::sync::Arc;
use std::time::SystemTime;

use agentloop::credential::CredentialSource;
use agentloop::models::ModelKind;
use agentloop::transport::HttpTransport;
use agentloop::{AgentLoop, ModelData, Usage, Usd};
use agentloop_sim::Recording;
use serde::Serialize;

pub(crate) use self::args::Args;
use self::rules::{Rule, Subject, Verdict};
use super::rows::format_usd;
use crate::failure::Failure;
use crate::model::choose_model;
use crate::output::Output;
use crate::printable::escape_line;
use crate::prompt::Prompt;
use crate::setup::Setup;
use crate::table::Table;

/// The result of a check.
#[derive(Debug, Serialize)]
struct Row {
    check: &'static str,
    result: &'static str,
    detail: String,
}

impl Row {
    fn new(rule: Rule, verdict: Verdict) -> Self {
        let (result, detail) = match verdict {
            Verdict::Pass(detail) => ("pass", detail),
            Verdict::Fail(detail) => ("fail", detail),
            Verdict::Skipped(detail) => ("skipped", detail),
        };
        Self { check: rule.name(), result, detail }
    }
}

pub(crate) async fn run(args: &Args, setup: &Setup) -> Result<(), Failure> {
    let client = setup.build_client()?;
    let (mut subject, recording) = prepare(args, client, setup).await?;
    // Without its key nothing can be checked. The error states where keys are looked up.
    if let Err(error) = subject.client.check_key(&subject.provider.name) {
        // A credential may come from a service on the network, which is asked with the first request.
        match subject.provider.credential {
            CredentialSource::None => return Err(error.into()),
            _ => setup.notes.print_warning(error.message()),
        }
    }
    let estimate = estimate(&subject);
    confirm(args, &subject, estimate, setup).await?;
    let mut rows = Vec::new();
    for rule in Rule::ALL {
        setup.notes.show_wait(&format!("checking {}", rule.name()));
        let is_over = args.max_cost.is_some_and(|limit| subject.spent > Some(limit));
        let verdict = match rule.reason_to_skip(&subject) {
            Some(why) => Verdict::Skipped(why),
            None if is_over => Verdict::Skipped("the limit of --max-cost is reached".to_owned()),
            None => rule.run(&mut subject).await,
        };
        if let Some(folder) = &args.record {
            let file = format!("{}.json", rule.name());
            recording.save(folder.join(&*subject.provider.name).join(file))?;
        }
        recording.clear();
        let mut row = Row::new(rule, verdict);
        row.detail = recording.hide(&row.detail);
        rows.push(row);
    }
    show(args, &subject, &rows, setup)
}

/// Chooses the model, and builds a client that records what it sends.
async fn prepare(
    args: &Args,
    client: AgentLoop,
    setup: &Setup,
) -> Result<(Subject, Recording), Failure> {
    let model = choose_model(args.model.as_deref(), &client, setup).await?;
    let target = client.resolve(&model)?;
    let mut provider = (*target.provider).clone();
    let known = client.catalog().lookup(&provider.name, &target.model);
    let mut embedding_models = client.catalog().of_provider(&provider.name);
    embedding_models.retain(|model| model.kind == Some(ModelKind::Embedding));
    let embedding_model = match (&args.embedding_model, embedding_models.as_slice()) {
        (Some(named), _) if named.contains('/') => Some(named.clone()),
        (Some(named), _) => Some(format!("{}/{named}", provider.name)),
        (None, [only]) => Some(only.id.clone()),
        (None, _) => None,
    };
    let model = format!("{}/{}", provider.name, target.model);
    // Also without --record: the keys that are sent must not be shown if a response repeats them.
    let inner = provider.transport.take().unwrap_or_else(|| Arc::new(HttpTransport::new()));
    let recording = Recording::in_memory(inner);
    let provider = provider.transport(recording.clone());
    let client = setup.build_client_with(provider.clone())?;
    let known = known.unwrap_or_else(|| ModelData::new(&model));
    let protocol = args.protocol;
    let subject =
        Subject { client, model, provider, embedding_model, known, protocol, spent: None };
    Ok((subject, recording))
}

/// Returns the highest cost of the checks that are not skipped. `None` if the price is not known.
fn estimate(subject: &Subject) -> Option<Usd> {
    let rules = Rule::ALL.into_iter().filter(|rule| rule.reason_to_skip(subject).is_none());
    let (prompts, responses) = rules.map(Rule::tokens).fold((0, 0), |sum, tokens| {
        let most = match subject.known.abilities.reasoning {
            Some(true) if tokens.1 > 0 => tokens.1.max(rules::MAX_THINKING_TOKENS),
            _ => tokens.1,
        };
        (sum.0 + tokens.0, sum.1 + most)
    });
    let mut usage = Usage::default();
    usage.prompt_tokens = Some(prompts);
    usage.completion_tokens = Some(responses);
    usage.total_tokens = Some(prompts + responses);
    subject.known.cost(&usage, SystemTime::now(), None).map(|cost| cost.usd)
}

/// States the cost, and asks whether the requests should be sent.
async fn confirm(
    args: &Args,
    subject: &Subject,
    estimate: Option<Usd>,
    setup: &Setup,
) -> Result<(), Failure> {
    let model = &subject.model;
    let price = match estimate {
        Some(cost) => format!("at most about ${}", format_usd(cost)),
        None => "an unknown price".to_owned(),
    };
    match (args.max_cost, estimate) {
        (Some(limit), Some(cost)) if cost > limit => {
            return Err(Failure::input_with_hint(
                format!("the checks of {model} cost {price}, more than the limit of ${limit}"),
                "raise --max-cost, or check a cheaper model",
            ));
        }
        (Some(_), None) => {
            return Err(Failure::input_with_hint(
                format!("the price of {model} is not known, so --max-cost cannot be checked"),
                "add the price under [models.\"PROVIDER/MODEL\"] in agentloop.toml, or leave out --max-cost",
            ));
        }
        _ => {}
    }
    let message = format!("about 20 small requests to {model}, for {price}");
    if args.yes {
        setup.notes.print_note(&message);
        return Ok(());
    }
    let prompt = Prompt::at_terminal(setup.notes).filter(|_| std::io::stdin().is_terminal());
    let Some(prompt) = prompt else {
        return Err(Failure::input_with_hint(
            format!("this sends {message}"),
            "add --yes to send them without a terminal",
        ));
    };
    let reply = prompt.ask(&format!("Send {message}? [y/N] ")).await.unwrap_or_default();
    match reply.trim().to_lowercase().as_str() {
        "y" | "yes" => Ok(()),
        _ => Err(Failure::input("nothing is sent")),
    }
}

fn show(args: &Args, subject: &Subject, rows: &[Row], setup: &Setup) -> Result<(), Failure> {
    let count = |result: &str| rows.iter().filter(|row| row.result == result).count();
    let mut output = Output::new();
    if args.json {
        output.write_document(&serde_json::json!({
            "model": subject.model,
            "protocol": args.protocol.unwrap_or(subject.provider.protocol).name(),
            "costUsd": subject.spent,
            "checks": rows,
        }))?;
    } else {
        let mut table = Table::new(["RESULT", "CHECK", "DETAIL"]);
        for row in rows {
            let detail = escape_line(&row.detail).into_owned();
            table.push(vec![row.result.to_owned(), row.check.to_owned(), detail]);
        }
        table.write(&mut output)?;
    }
    output.flush()?;
    let (passed, failed, skipped) = (count("pass"), count("fail"), count("skipped"));
    setup.notes.print_note(&format!(
        "{}: {passed} passed, {failed} failed, {skipped} skipped, {}",
        subject.model,
        subject.spent.map_or("cost unknown".to_owned(), |usd| format!("${}", format_usd(usd)))
    ));
    match failed {
        0 => Ok(()),
        1 => Err(Failure::Response("1 check failed".to_owned())),
        failed => Err(Failure::Response(format!("{failed} checks failed"))),
    }
}
