//! `agentloop run`: let a model use tools until it has answered.

mod approve;
mod args;
mod begin;
mod excerpt;
mod mcp;
mod show;
mod store;
mod summary;
mod tools;

use std::path::Path;

use agentloop::ChatRequest;
use agentloop::agent::{CancelToken, Outcome, RunEvent, RunStream, StopReason};

use self::approve::Person;
pub(crate) use self::args::Args;
use self::begin::Begin;
use self::show::Show;
use self::store::{Claim, Held};
use crate::failure::Failure;
use crate::notes::Notes;
use crate::printable;
use crate::setup::Setup;

pub(crate) async fn run(args: Args, setup: &Setup) -> Result<(), Failure> {
    let client = setup.client()?;
    let keep = args.save.as_deref().or(args.resume.as_deref());
    if let Some(path) = &args.save {
        store::check(path)?;
    }
    let held = Held::take(args.save.as_deref(), args.resume.as_deref())?;
    let (mut agent, tools) = args.agent(client.clone(), setup.notes).await?;
    let person = Person::at_terminal(setup.notes);
    let Begin { request, question, claim } =
        Begin::of(&args, &client, setup, &tools, person.as_ref()).await?;
    if let Some(person) = person {
        agent = agent.approver(person);
    }
    let cancel = CancelToken::new();
    let mut request = request.cancel_token(&cancel);
    if args.no_stream {
        request = request.whole_responses();
    }
    let mut show = Show::new(args.events, setup.notes);
    let mut happened = false;
    let followed = follow(agent.stream(request), &cancel, setup.notes, |event| {
        happened |= !matches!(event, RunEvent::RunDone { .. });
        show.event(event)
    });
    let outcome = match (followed.await, &claim) {
        (Ok(outcome), _) => *outcome,
        (Err(failure), Some(claim)) => {
            let place = claim.place().display();
            setup.notes.note(&format!("{place} is the run as it stood before"));
            return Err(failure);
        }
        (Err(failure), None) => return Err(failure),
    };
    let kept = match (happened, keep) {
        (true, Some(path)) => {
            keep_outcome(&held, path, &question, claim.as_ref(), &outcome)?;
            Some(path)
        }
        _ => None,
    };
    if let Some(claim) = claim {
        if happened { claim.used_up() } else { claim.put_back() }
    }
    if !args.events {
        setup.notes.note(&summary::summary(&outcome, &client));
    }
    end(outcome, kept, &args, setup)
}

/// Reads the run to its end. Ctrl-C cancels it; a second one does not wait for that.
async fn follow(
    mut stream: RunStream,
    cancel: &CancelToken,
    notes: Notes,
    mut show: impl FnMut(&RunEvent) -> Result<(), Failure>,
) -> Result<Box<Outcome>, Failure> {
    let mut interrupt = Box::pin(tokio::signal::ctrl_c());
    loop {
        let event = tokio::select! {
            biased;
            interrupted = &mut interrupt => {
                interrupted.map_err(Failure::Runtime)?;
                if cancel.is_cancelled() {
                    return Err(Failure::Interrupted);
                }
                // The terminal shows the keys that were pressed.
                notes.end_line();
                cancel.cancel();
                interrupt.set(tokio::signal::ctrl_c());
                continue;
            }
            event = stream.next() => event,
        };
        let Some(event) = event else {
            return Err(Failure::Answer("the run ended without an outcome".to_owned()));
        };
        show(&event)?;
        if let RunEvent::RunDone { outcome } = event {
            return Ok(outcome);
        }
    }
}

/// Writes what can be gone on with: the run if it waits, else the conversation.
fn keep_outcome(
    held: &Held,
    path: &Path,
    question: &ChatRequest,
    claim: Option<&Claim>,
    outcome: &Outcome,
) -> Result<(), Failure> {
    // A run that is continued was taken out of its file.
    let is_taken = claim.is_some_and(|claim| claim.is_of(path));
    match &outcome.suspended {
        Some(run) => held.write(path, is_taken, run),
        None => {
            let messages = outcome.messages.iter().cloned();
            held.write(path, is_taken, &question.clone().messages(messages))
        }
    }
}

/// Says how it ended, and how it goes on.
fn end(outcome: Outcome, kept: Option<&Path>, args: &Args, setup: &Setup) -> Result<(), Failure> {
    let name = kept.map(|path| path.to_string_lossy());
    if outcome.stop == StopReason::Waiting {
        return Err(waiting(&outcome, name.as_deref(), args));
    }
    match &name {
        Some(name) => setup.notes.note(&format!("the conversation is kept in {name}")),
        None if outcome.stop == StopReason::Cancelled => {
            setup.notes.note("the conversation is not kept; --save FILE keeps it");
        }
        None => {}
    }
    match outcome.error {
        Some(error) => Err(error.into()),
        None => summary::complaint(&outcome.stop),
    }
}

fn waiting(outcome: &Outcome, kept: Option<&str>, args: &Args) -> Failure {
    let mut tools: Vec<String> = Vec::new();
    for call in outcome.suspended.iter().flat_map(|run| run.pending()) {
        let tool = format!("`{}`", printable::name(&call.tool));
        if !tools.contains(&tool) {
            tools.push(tool);
        }
    }
    let message = format!("the run waits for a word on {}", tools.join(", "));
    let hint = match kept {
        Some(name) => format!(
            "it is kept in {name}; `{}` asks at a terminal, --allow TOOL and --deny TOOL answer without one",
            args.going_on(name)
        ),
        None => "it is not kept; --save FILE keeps it, and --allow TOOL lets a tool run unasked"
            .to_owned(),
    };
    Failure::Waiting { message, hint }
}
