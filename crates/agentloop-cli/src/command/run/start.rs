//! Prepares a run: a new request, a saved conversation, or a saved run that waits for approval.

use std::path::Path;

use agentloop::agent::{Pending, RunRequest, Suspended, Tool};
use agentloop::{AgentLoop, ChatRequest, Role};

use super::Args;
use super::approve::{TerminalApprover, decide_pending};
use super::store::{Claim, Stored};
use crate::failure::Failure;
use crate::input;
use crate::model::choose_model;
use crate::notes::Notes;
use crate::printable;
use crate::setup::Setup;

/// A run that is ready to start.
pub(super) struct Start {
    pub(super) request: RunRequest,
    /// The conversation before the run.
    pub(super) conversation: ChatRequest,
    /// The file of the run that is continued.
    pub(super) claim: Option<Claim>,
}

impl Start {
    /// Builds the request of the run from the command line, stdin and the file of --resume.
    pub(super) async fn prepare(
        args: &Args,
        client: &AgentLoop,
        setup: &Setup,
        tools: &[Tool],
        approver: Option<&TerminalApprover>,
    ) -> Result<Self, Failure> {
        let (conversation, needs_prompt) = match args.resume.as_deref() {
            None => (ChatRequest::default(), true),
            Some(path) => match Stored::read(path)? {
                Stored::Run(run) => {
                    return Self::continue_run(path, *run, args, tools, approver, setup.notes)
                        .await;
                }
                Stored::Conversation(saved) => {
                    let last = saved.messages.last().map(|message| message.role);
                    // A conversation that ends with a user message or tool results can be sent as it is.
                    (*saved, !matches!(last, Some(Role::User | Role::Tool)))
                }
            },
        };
        let conversation = extend_conversation(conversation, needs_prompt, args, client, setup)?;
        Ok(Self { request: RunRequest::new(conversation.clone()), conversation, claim: None })
    }

    /// Continues a run, after a decision about the calls that wait for approval.
    async fn continue_run(
        path: &Path,
        mut run: Suspended,
        args: &Args,
        tools: &[Tool],
        approver: Option<&TerminalApprover>,
        notes: Notes,
    ) -> Result<Self, Failure> {
        if !args.prompt.is_empty() || args.model.is_some() || args.system.is_some() {
            return Err(Failure::input_with_hint(
                format!("{} contains a run that waits for approval", path.display()),
                "continue it without a prompt, --model and --system; they cannot be changed",
            ));
        }
        let is_known = |call: &Pending| tools.iter().any(|tool| tool.name() == call.tool);
        if let Some(call) = run.pending().iter().find(|call| !is_known(call)) {
            let tool = printable::escape_name(&call.tool);
            return Err(Failure::input_with_hint(
                format!("the run waits for approval of `{tool}`, but this tool is not given"),
                format!("name the tools of the run again, for example --tool {tool}"),
            ));
        }
        let stored = run.clone();
        decide_pending(&mut run, tools, &args.allowed, &args.denied, approver, notes).await?;
        let claim = Claim::take(path, &stored)?;
        let conversation = run.initial_request();
        Ok(Self { request: run.into(), conversation, claim: Some(claim) })
    }
}

/// Adds the system prompt, the prompt and the model to a conversation.
fn extend_conversation(
    mut conversation: ChatRequest,
    needs_prompt: bool,
    args: &Args,
    client: &AgentLoop,
    setup: &Setup,
) -> Result<ChatRequest, Failure> {
    let prompt = match needs_prompt || !args.prompt.is_empty() {
        true => input::read_prompt(&args.prompt, setup.notes)?,
        false => String::new(),
    };
    if needs_prompt && prompt.trim().is_empty() {
        return Err(input::missing_prompt());
    }
    if let Some(system) = &args.system {
        if !conversation.messages.is_empty() {
            return Err(Failure::input_with_hint(
                "--system cannot be used with a saved conversation",
                "remove --system, or start a new conversation without --resume",
            ));
        }
        conversation = conversation.system(system.clone());
    }
    if !prompt.trim().is_empty() {
        conversation = conversation.user(prompt);
    }
    if args.model.is_some() || conversation.model.is_empty() {
        conversation.model = choose_model(args.model.as_deref(), client, setup)?;
    }
    Ok(conversation)
}
