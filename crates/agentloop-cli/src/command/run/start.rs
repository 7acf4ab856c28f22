//! Prepares a run: a new request, a saved conversation, or a saved run that waits for approval.

use std::path::Path;

use agentloop::agent::{Pending, RunRequest, Suspended};
use agentloop::{AgentLoop, ChatRequest};

use super::approve::{TerminalApprover, decide_pending};
use super::kit::Kit;
use super::store::{Claim, Stored};
use crate::command::chat::{Args, Base};
use crate::failure::Failure;
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
        earlier: Option<ChatRequest>,
        client: &AgentLoop,
        setup: &Setup,
        kit: &Kit,
        approver: Option<&TerminalApprover>,
    ) -> Result<Self, Failure> {
        let base = match args.tools.resume.as_deref() {
            None => Base::continuing(earlier),
            Some(path) => match Stored::read(path, &setup.store)? {
                Stored::Run(run) => {
                    return Self::continue_run(path, *run, args, kit, approver, setup).await;
                }
                Stored::Conversation(saved) => Base::Conversation(saved),
            },
        };
        let conversation = args.build_request(base, client, setup).await?;
        let mut request = RunRequest::new(conversation.clone());
        if let Some(schema) = &args.output.schema {
            request = request.output_as(schema.clone());
        }
        Ok(Self { request, conversation, claim: None })
    }

    /// Continues a run, after a decision about the calls that wait for approval.
    async fn continue_run(
        path: &Path,
        mut run: Suspended,
        args: &Args,
        kit: &Kit,
        approver: Option<&TerminalApprover>,
        setup: &Setup,
    ) -> Result<Self, Failure> {
        let is_changed = args.parameters.is_used(setup) || args.output.schema.is_some();
        if !args.prompt.is_empty() || args.model.is_some() || args.system.is_some() || is_changed {
            return Err(Failure::input_with_hint(
                format!("{} contains a run that waits for approval", path.display()),
                "continue it without a prompt, --model, --system and other options of the request; they cannot be changed",
            ));
        }
        let is_known = |call: &Pending| kit.find(&call.tool).is_some();
        if let Some(call) = run.pending().iter().find(|call| !is_known(call)) {
            let tool = printable::escape_name(&call.tool);
            return Err(Failure::input_with_hint(
                format!("the run waits for approval of `{tool}`, but this tool is not given"),
                format!("name the tools of the run again, for example --tool {tool}"),
            ));
        }
        let stored = run.clone();
        decide_pending(&mut run, kit, approver, setup.notes).await?;
        let claim = Claim::take(path, stored, setup).await?;
        let conversation = run.initial_request();
        Ok(Self { request: run.into(), conversation, claim: Some(claim) })
    }
}
