//! Builds the request from the options, stdin, and a request or conversation in a file.

use std::path::Path;

use agentloop::limits::MAX_SAVED_BYTES;
use agentloop::{AgentLoop, ChatMessage, ChatRequest, ContentPart, Role};

use super::Args;
use crate::context::Context;
use crate::failure::Failure;
use crate::files;
use crate::input;
use crate::model::choose_model;
use crate::setup::Setup;
use crate::template::{self, Template};

/// An example of a request, for hints.
pub(in crate::command) const EXAMPLE: &str =
    r#"an example: {"model":"openai/gpt-4.1","messages":[{"role":"user","content":"Hello"}]}"#;

/// What the options and the prompt are added to.
pub(in crate::command) enum Base {
    /// Nothing, or the request of --request.
    Request,
    /// A conversation that was saved. It keeps its system prompt.
    Conversation(Box<ChatRequest>),
    /// A conversation of the log. Its system prompt can be replaced.
    Stored(Box<ChatRequest>),
}

impl Base {
    /// Continues a conversation of the log, if there is one.
    pub(in crate::command) fn continuing(earlier: Option<ChatRequest>) -> Self {
        earlier.map_or(Self::Request, |earlier| Self::Stored(Box::new(earlier)))
    }
}

/// The prompt of a call.
struct Prompt {
    text: String,
    /// The system prompt of the template.
    system: Option<String>,
    /// Whether the request cannot be sent without a prompt.
    is_needed: bool,
}

impl Args {
    /// Builds the request, with its model.
    pub(in crate::command) async fn build_request(
        &self,
        base: Base,
        client: &AgentLoop,
        setup: &Setup,
    ) -> Result<ChatRequest, Failure> {
        let (mut request, is_saved) = match base {
            Base::Conversation(saved) => (*saved, true),
            Base::Stored(stored) => (*stored, false),
            Base::Request => (self.read_request()?, false),
        };
        let template = self.template.as_deref().map(template::find).transpose()?;
        let prompt = self.read_prompt(&request, template.as_ref(), setup)?;
        let system = self.system.as_ref().or(prompt.system.as_ref());
        if let Some(system) = system {
            if is_saved && !request.messages.is_empty() {
                return Err(Failure::input_with_hint(
                    "--system cannot be used with a saved conversation",
                    "remove --system, or start a new conversation without --resume",
                ));
            }
            request.messages.retain(|message| message.role != Role::System);
            request.messages.insert(0, ChatMessage::system(system.clone()));
        }
        self.add_prompt(&mut request, prompt, setup).await?;
        if let Some(template) = &template {
            template.settings.apply(&mut request);
        }
        self.parameters.apply(&mut request, setup);
        request.output_strategy = self.output.strategy.or(request.output_strategy);
        let named = Some(request.model.as_str()).filter(|model| !model.is_empty());
        request.model = choose_model(self.model.as_deref().or(named), client, setup).await?;
        Ok(request)
    }

    /// Builds the settings of a conversation: the request without a prompt.
    pub(in crate::command) async fn build_settings(
        &self,
        base: Base,
        client: &AgentLoop,
        setup: &Setup,
    ) -> Result<ChatRequest, Failure> {
        let mut request = match base {
            Base::Conversation(saved) | Base::Stored(saved) => *saved,
            Base::Request => ChatRequest::default(),
        };
        if let Some(system) = &self.system {
            request.messages.retain(|message| message.role != Role::System);
            request.messages.insert(0, ChatMessage::system(system.clone()));
        }
        self.parameters.apply(&mut request, setup);
        if self.model.is_some() || request.model.is_empty() {
            request.model = choose_model(self.model.as_deref(), client, setup).await?;
        }
        Ok(request)
    }

    /// Reads the prompt: the words of the command line and stdin, in the template if there is one.
    fn read_prompt(
        &self,
        request: &ChatRequest,
        template: Option<&Template>,
        setup: &Setup,
    ) -> Result<Prompt, Failure> {
        // A conversation that ends with a user message or tool results can be sent as it is.
        let last = request.messages.last().map(|message| message.role);
        let is_needed = !matches!(last, Some(Role::User | Role::Tool));
        let is_stdin_used = self.request.as_deref() == Some(Path::new("-"))
            || Context::reads_stdin(&self.attachments.files);
        let reads_prompt = is_needed || self.history.continues() || !self.prompt.is_empty();
        let text = match reads_prompt {
            _ if is_stdin_used => self.prompt.join(" "),
            true => input::read_prompt(&self.prompt, setup.notes)?,
            false => String::new(),
        };
        let Some(template) = template else { return Ok(Prompt { text, system: None, is_needed }) };
        let filled = template.fill(&self.variables.iter().cloned().collect(), &text)?;
        Ok(Prompt { text: filled.prompt, system: filled.system, is_needed })
    }

    /// Adds the prompt, the files and the attachments as a message. Files stand before the prompt, as providers recommend.
    async fn add_prompt(
        &self,
        request: &mut ChatRequest,
        prompt: Prompt,
        setup: &Setup,
    ) -> Result<(), Failure> {
        let context = Context::read(&self.attachments.files).await?;
        context.print_summary(setup.notes);
        let attachments = self.attachments.read_parts()?;
        let has_text = !prompt.text.trim().is_empty();
        if !has_text && attachments.is_empty() && context.is_empty() {
            return if prompt.is_needed { Err(input::missing_prompt()) } else { Ok(()) };
        }
        request.messages.push(if attachments.is_empty() && context.is_empty() {
            ChatMessage::user(prompt.text)
        } else {
            let text = has_text.then(|| ContentPart::text(prompt.text));
            let parts = context.into_parts().into_iter().chain(text).chain(attachments);
            ChatMessage::user(parts.collect::<Vec<_>>())
        });
        Ok(())
    }

    /// Reads the request of --request. Without one the request is empty.
    fn read_request(&self) -> Result<ChatRequest, Failure> {
        let Some(path) = self.request.as_deref() else { return Ok(ChatRequest::default()) };
        let name = if path == Path::new("-") { "stdin".into() } else { path.to_string_lossy() };
        let bytes = if path == Path::new("-") {
            input::read_at_most(MAX_SAVED_BYTES)?
        } else {
            files::read_at_most(path, MAX_SAVED_BYTES)?
        };
        if bytes.trim_ascii().is_empty() {
            let message = format!("--request: {name} is empty; expected a ChatRequest as JSON");
            return Err(Failure::input_with_hint(message, EXAMPLE));
        }
        serde_json::from_slice(&bytes).map_err(|error| {
            let message = format!("--request: {name} does not contain a ChatRequest: {error}");
            Failure::input_with_hint(message, EXAMPLE)
        })
    }
}
