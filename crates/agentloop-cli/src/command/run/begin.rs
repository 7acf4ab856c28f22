//! What a run begins with: a question, a conversation, or a run that waits.

use std::path::Path;

use agentloop::agent::{Pending, RunRequest, Suspended, Tool};
use agentloop::{AgentLoop, ChatRequest, Role};

use super::Args;
use super::approve::{Person, decide_waiting};
use super::store::{Claim, Stored};
use crate::command::model;
use crate::failure::Failure;
use crate::input;
use crate::notes::Notes;
use crate::printable;
use crate::setup::Setup;

pub(super) struct Begin {
    pub(super) request: RunRequest,
    /// What was said before the run.
    pub(super) question: ChatRequest,
    /// The file of the run that is gone on with.
    pub(super) claim: Option<Claim>,
}

impl Begin {
    pub(super) async fn of(
        args: &Args,
        client: &AgentLoop,
        setup: &Setup,
        tools: &[Tool],
        person: Option<&Person>,
    ) -> Result<Self, Failure> {
        let (question, needs_words) = match args.resume.as_deref() {
            None => (ChatRequest::default(), true),
            Some(path) => match Stored::read(path)? {
                Stored::Run(run) => {
                    return Self::run(path, *run, args, tools, person, setup.notes).await;
                }
                Stored::Conversation(said) => {
                    let last = said.messages.last().map(|message| message.role);
                    // What ends with a question or with results can be asked again as it is.
                    (*said, !matches!(last, Some(Role::User | Role::Tool)))
                }
            },
        };
        let question = ask(question, needs_words, args, client, setup)?;
        Ok(Self { request: RunRequest::new(question.clone()), question, claim: None })
    }

    /// Goes on with a run, after somebody has said something to what it waits for.
    async fn run(
        path: &Path,
        mut run: Suspended,
        args: &Args,
        tools: &[Tool],
        person: Option<&Person>,
        notes: Notes,
    ) -> Result<Self, Failure> {
        if !args.prompt.is_empty() || args.model.is_some() || args.system.is_some() {
            return Err(Failure::input_with_hint(
                format!("{} holds a run that waits", path.display()),
                "it goes on with what it was asked: without a prompt, --model and --system",
            ));
        }
        let is_there = |call: &Pending| tools.iter().any(|tool| tool.name() == call.tool);
        if let Some(call) = run.pending().iter().find(|call| !is_there(call)) {
            return Err(Failure::input_with_hint(
                format!(
                    "the run waits for `{}`, and has no such tool",
                    printable::name(&call.tool)
                ),
                format!(
                    "name the tools of the run again, as --tool {}",
                    printable::name(&call.tool)
                ),
            ));
        }
        let stored = run.clone();
        decide_waiting(&mut run, tools, &args.allowed, &args.denied, person, notes).await?;
        let claim = Claim::take(path, &stored)?;
        let question = run.initial_request();
        Ok(Self { request: run.into(), question, claim: Some(claim) })
    }
}

/// The question, with what was typed and piped in.
fn ask(
    mut question: ChatRequest,
    needs_words: bool,
    args: &Args,
    client: &AgentLoop,
    setup: &Setup,
) -> Result<ChatRequest, Failure> {
    let prompt = match needs_words || !args.prompt.is_empty() {
        true => input::prompt(&args.prompt, setup.notes)?,
        false => String::new(),
    };
    if needs_words && prompt.trim().is_empty() {
        return Err(input::nothing());
    }
    if let Some(system) = &args.system {
        if !question.messages.is_empty() {
            return Err(Failure::input("--system is for a new conversation"));
        }
        question = question.system(system.clone());
    }
    if !prompt.trim().is_empty() {
        question = question.user(prompt);
    }
    if args.model.is_some() || question.model.is_empty() {
        question.model = model::choose(args.model.as_deref(), client, setup)?;
    }
    Ok(question)
}
