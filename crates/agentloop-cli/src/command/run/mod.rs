//! A chat with tools: the model calls them until it has finished.

mod approve;
mod args;
mod choice;
mod excerpt;
mod kit;
mod mcp;
mod pattern;
mod result;
mod show;
mod start;
mod store;
mod summary;
mod tools;

use std::path::Path;

use agentloop::ChatRequest;
use agentloop::agent::{CancelToken, Outcome, RunEvent, RunStream, StopReason};

pub(in crate::command) use self::approve::TerminalApprover;
pub(crate) use self::args::ToolArgs;
pub(in crate::command) use self::args::ToolNames;
pub(in crate::command) use self::choice::names_of as local_names;
pub(in crate::command) use self::kit::{Kit, Offered, Selection, Source};
pub(in crate::command) use self::pattern::Pattern;
pub(in crate::command) use self::show::Show;
use self::start::Start;
use self::store::{Claim, LockedFiles};
use crate::command::chat::{Args, Format, print_code};
use crate::failure::Failure;
use crate::notes::Notes;
use crate::output::Output;
use crate::printable;
use crate::render::save_media;
use crate::setup::Setup;

pub(in crate::command) use self::summary::{check_finished, print_summary};
pub(in crate::command) use self::tools::clock;

pub(crate) async fn run(args: Args, setup: &Setup) -> Result<(), Failure> {
    let client = setup.build_client_for(&args.parameters.fallbacks, args.parameters.retries)?;
    let (save, resume) = (args.tools.save.as_deref(), args.tools.resume.as_deref());
    let target = save.or(resume);
    if let Some(path) = save {
        store::check_writable(path)?;
    }
    let files = LockedFiles::lock(save, resume)?;
    let mut recorder = setup.record(&args.history)?;
    let earlier = recorder.earlier_request();
    let (mut agent, kit) = args.tools.build_agent(client.clone(), setup).await?;
    let approver = TerminalApprover::at_terminal(setup.notes)
        .map(|approver| approver.with_root(args.tools.root()));
    let Start { request, conversation, claim } =
        Start::prepare(&args, earlier, &client, setup, &kit, approver.as_ref()).await?;
    // A conversation that is continued from a file stays in its file.
    if resume.is_none() {
        recorder.begin(&conversation);
    }
    if let Some(approver) = approver {
        agent = agent.approver(approver);
    }
    let cancel = CancelToken::new();
    let mut request = request.cancel_token(&cancel);
    if args.output.no_stream {
        request = request.whole_responses();
    }
    let format = match args.output.format() {
        // Only the value that matches the schema is printed.
        Format::Text if args.output.schema.is_some() => Format::Json,
        format => format,
    };
    let mut show = Show::new(format, &args.output, setup.notes);
    let mut has_progress = false;
    let followed = follow(agent.stream(request), &cancel, setup.notes, |event| {
        has_progress |= !matches!(event, RunEvent::RunDone { .. });
        recorder.run_event(event);
        show.show_event(event)
    });
    let outcome = match (followed.await, &claim) {
        (Ok(outcome), _) => *outcome,
        (Err(failure), Some(_)) => {
            let note = "the run before this attempt is stored; --resume at a terminal continues it";
            setup.notes.print_note(note);
            return Err(failure);
        }
        (Err(failure), None) => return Err(failure),
    };
    let saved = match (has_progress, target) {
        (true, Some(path)) => {
            save_outcome(&files, path, &conversation, claim.as_ref(), &outcome)?;
            if let Some(run) = &outcome.suspended {
                store::suspend(run, path, recorder.is_enabled(), setup);
            }
            Some(path)
        }
        _ => None,
    };
    if let Some(claim) = claim {
        if has_progress { claim.end(setup) } else { claim.restore(recorder.is_enabled(), setup)? }
    }
    if format == Format::Json {
        result::print_result(&outcome, &args.output)?;
    }
    if let Format::Code(which) = format
        && outcome.error.is_none()
        && outcome.suspended.is_none()
    {
        print_code(&mut Output::new(), &outcome.text(), which, setup.notes)?;
    }
    if let Some(folder) = &args.output.save_media {
        for step in &outcome.steps {
            save_media(&step.response, folder, setup.notes)?;
        }
    }
    if format != Format::Events {
        print_summary(&outcome, &client, setup.notes);
    }
    finish(outcome, saved, recorder.is_logged(), &args, setup)
}

/// Reads the run to its end. Ctrl-C cancels the run; a second Ctrl-C returns at once.
pub(in crate::command) async fn follow(
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
                // The terminal shows `^C` on the current line.
                notes.end_line();
                cancel.cancel();
                interrupt.set(tokio::signal::ctrl_c());
                continue;
            }
            event = stream.next() => event,
        };
        let Some(event) = event else {
            return Err(Failure::Response("the run ended without an outcome".to_owned()));
        };
        show(&event)?;
        if let RunEvent::RunDone { outcome } = event {
            return Ok(outcome);
        }
    }
}

/// Writes what --resume can continue: a run that waits, else the conversation.
fn save_outcome(
    files: &LockedFiles,
    path: &Path,
    conversation: &ChatRequest,
    claim: Option<&Claim>,
    outcome: &Outcome,
) -> Result<(), Failure> {
    // A run that is continued was moved from its file to the store.
    let is_claimed = claim.is_some_and(|claim| claim.is_of(path));
    match &outcome.suspended {
        Some(run) => files.write(path, is_claimed, run),
        None => {
            let messages = outcome.messages.iter().cloned();
            files.write(path, is_claimed, &conversation.clone().messages(messages))
        }
    }
}

/// Reports how the run ended and how to continue it.
fn finish(
    outcome: Outcome,
    saved: Option<&Path>,
    is_logged: bool,
    args: &Args,
    setup: &Setup,
) -> Result<(), Failure> {
    let name = saved.map(|path| path.to_string_lossy());
    if outcome.stop == StopReason::Waiting {
        return Err(describe_waiting(&outcome, name.as_deref(), args, setup));
    }
    match &name {
        Some(name) => setup.notes.print_note(&format!("the conversation is saved in {name}")),
        None if outcome.stop == StopReason::Cancelled && is_logged => {
            setup.notes.print_note("the conversation is stored; continue it with `agentloop -c`");
        }
        None if outcome.stop == StopReason::Cancelled => {
            setup.notes.print_note("the conversation is not saved; use --save FILE to save it");
        }
        None => {}
    }
    match outcome.error {
        Some(error) => Err(error.into()),
        None => check_finished(&outcome.stop),
    }
}

/// Creates the failure for a run that waits for approval.
fn describe_waiting(outcome: &Outcome, saved: Option<&str>, args: &Args, setup: &Setup) -> Failure {
    let mut tools: Vec<String> = Vec::new();
    for call in outcome.suspended.iter().flat_map(|run| run.pending()) {
        let tool = format!("`{}`", printable::escape_name(&call.tool));
        if !tools.contains(&tool) {
            tools.push(tool);
        }
    }
    let message = format!("the run waits for approval of {}", tools.join(", "));
    let hint = match saved {
        Some(name) => format!(
            "the run is saved in {name}; continue it at a terminal with `{}`, or elsewhere by adding --allow TOOL or \
             --deny TOOL",
            args.tools.format_resume_command(name, &setup.config.tools)
        ),
        None => "the run is not saved; use --save FILE to save it, or --allow TOOL to allow the tool in advance"
            .to_owned(),
    };
    Failure::Waiting { message, hint }
}
