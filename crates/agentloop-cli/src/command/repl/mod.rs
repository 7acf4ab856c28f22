//! An interactive conversation: `agentloop` alone at a terminal.

mod command;
mod editor;
mod export;
mod session;

use std::io::IsTerminal as _;

use agentloop::agent::{Agent, CancelToken, Outcome, RunRequest, StopReason};
use agentloop::{AgentLoop, ContentPart, ErrorKind};

use self::command::{Command, HELP, Typed, parse};
use self::editor::{Input, LineEditor};
use self::session::Session;
use crate::command::chat::{Args, Base};
use crate::command::run::{self, TerminalApprover};
use crate::context::Context;
use crate::failure::Failure;
use crate::model::choose_model;
use crate::setup::Setup;
use crate::store::HistoryArgs;
use crate::{printable, store};

/// The file with the lines that were typed, beside the file with the conversations.
const LINES: &str = "lines.txt";

/// How often Ctrl-C at an empty line explains how to leave, before it leaves.
const MAX_HINTS: u32 = 2;

/// Returns whether a conversation can be held at the terminal.
pub(crate) fn is_at_terminal() -> bool {
    let is_dumb = std::env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb");
    std::io::stdin().is_terminal()
        && std::io::stdout().is_terminal()
        && std::io::stderr().is_terminal()
        && !is_dumb
}

/// Holds a conversation until the user leaves.
pub(crate) async fn run(args: Args, setup: &Setup) -> Result<(), Failure> {
    let client = setup.build_client_for(&args.parameters.fallbacks, args.parameters.retries)?;
    let mut talk = Talk::start(args, client, setup).await?;
    talk.greet();
    let mut editor = LineEditor::start(talk.list_models(), talk.list_names(), talk.lines_path());
    let mut hints = 0;
    loop {
        let prompt = format!("{}> ", printable::escape_name(&talk.session.request.model));
        let line = match editor.read(&prompt).await? {
            Input::Line(line) => line,
            Input::End => return Ok(()),
            Input::Interrupted if hints >= MAX_HINTS => return Ok(()),
            Input::Interrupted => {
                hints += 1;
                talk.setup.notes.print_note("press Ctrl-D or type /quit to leave");
                continue;
            }
        };
        hints = 0;
        match talk.handle(parse(&line)).await {
            Ok(Next::Continue) => {}
            Ok(Next::Leave) => return Ok(()),
            // The terminal is gone.
            Err(failure @ Failure::Output(_)) => return Err(failure),
            Err(failure) => {
                let _ = failure.report(talk.setup.notes);
            }
        }
    }
}

/// Whether the conversation goes on.
#[derive(Debug, PartialEq)]
enum Next {
    Continue,
    Leave,
}

/// The conversation with its client and tools.
struct Talk<'a> {
    args: Args,
    client: AgentLoop,
    agent: Agent,
    kit: run::Kit,
    session: Session,
    /// Which stored conversation the next prompt belongs to.
    history: HistoryArgs,
    setup: &'a Setup,
}

impl<'a> Talk<'a> {
    async fn start(args: Args, client: AgentLoop, setup: &'a Setup) -> Result<Self, Failure> {
        let history = args.history.clone();
        let recorder = setup.record(&history)?;
        let base = Base::continuing(recorder.earlier_request());
        let request = args.build_settings(base, &client, setup).await?;
        let (agent, kit) = build_agent(&args, &client, setup).await?;
        let session = Session::new(request);
        Ok(Self { args, client, agent, kit, session, history, setup })
    }

    fn greet(&self) {
        let notes = self.setup.notes;
        let messages = self.session.request.messages.len();
        notes.print_note("type a prompt; /help lists the commands, and Ctrl-D leaves");
        if messages > 1 {
            notes.print_note(&format!("this conversation has {messages} messages"));
        }
    }

    async fn handle(&mut self, typed: Typed) -> Result<Next, Failure> {
        let notes = self.setup.notes;
        match typed {
            Typed::Nothing => {}
            Typed::Prompt(text) => {
                self.session.push_prompt(text);
                self.send().await?;
            }
            Typed::Unknown(name, meant) => {
                let name = printable::escape_name(&name).into_owned();
                let hint = match meant {
                    Some(meant) => format!("did you mean {meant}?"),
                    None => "/help lists the commands; // starts a prompt with a slash".to_owned(),
                };
                notes.print_error(&format!("unknown command {name}"), Some(&hint));
            }
            Typed::Misused(usage) => notes.print_error("wrong arguments", Some(&usage)),
            Typed::Command(Command::Quit) => return Ok(Next::Leave),
            Typed::Command(command) => self.run_command(command).await?,
        }
        Ok(Next::Continue)
    }

    async fn run_command(&mut self, command: Command) -> Result<(), Failure> {
        let notes = self.setup.notes;
        match command {
            Command::Help => {
                for (name, arguments, about) in HELP {
                    notes.print_plain(&format!("  {:<20} {about}", format!("{name} {arguments}")));
                }
                notes.print_plain("  A line that ends with \\ continues on the next; \"\"\" starts and ends several lines.");
            }
            Command::Model(None) => {
                notes.print_note(&format!("the model is {}", self.session.request.model));
            }
            Command::Model(Some(name)) => {
                let model = choose_model(Some(&name), &self.client, self.setup).await?;
                self.client.resolve(&model)?;
                self.session.request.model = model;
            }
            Command::System(None) => match self.session.system() {
                Some(system) => notes.print_plain(&system),
                None => notes.print_note("there is no system prompt"),
            },
            Command::System(Some(text)) => self.session.set_system(text),
            Command::File(sources) => {
                let context = Context::read(&sources).await?;
                context.print_summary(notes);
                self.session.attach(context.into_parts());
            }
            Command::Image(paths) => {
                let parts: agentloop::Result<Vec<ContentPart>> = paths
                    .iter()
                    .map(|path| {
                        if path.contains("://") {
                            Ok(ContentPart::image_url(path.clone()))
                        } else {
                            ContentPart::image_path(path)
                        }
                    })
                    .collect();
                let count = self.session.attach(parts?);
                notes.print_note(&format!("{count} attached to the next prompt"));
            }
            Command::Tools(names) if names.is_empty() => self.list_tools(),
            Command::Tools(names) => self.change_tools(&names).await?,
            Command::Retry => {
                if self.session.retry() {
                    self.forget()?;
                    self.send().await?;
                } else {
                    notes.print_note("there is no prompt to send again");
                }
            }
            Command::Undo => {
                if self.session.undo() {
                    self.forget()?;
                    notes.print_note("the last prompt and its response are removed");
                } else {
                    notes.print_note("there is no prompt to remove");
                }
            }
            Command::Cost => notes.print_note(&self.session.describe_cost()),
            Command::Save(file) => {
                export::save(&self.session.request, &file)?;
                notes.print_note(&format!("saved to {file}"));
            }
            Command::New => {
                self.session.clear();
                self.history = HistoryArgs::new_conversation(&self.args.history);
                notes.print_note("this is a new conversation");
            }
            Command::Quit => {}
        }
        Ok(())
    }

    /// Sends the conversation, and adds the response to it. Ctrl-C ends the response and keeps what had arrived.
    async fn send(&mut self) -> Result<(), Failure> {
        let notes = self.setup.notes;
        let mut recorder = self.setup.record(&self.history)?;
        recorder.begin(&self.session.request);
        if let Some(id) = recorder.conversation_id() {
            self.history = self.history.in_conversation(id);
        }
        let cancel = CancelToken::new();
        let request = RunRequest::new(self.session.request.clone()).cancel_token(&cancel);
        let mut show = run::Show::new(crate::command::chat::Format::Text, &self.args.output, notes);
        notes.show_wait(&format!("waiting for {}", self.session.request.model));
        let followed = run::follow(self.agent.stream(request), &cancel, notes, |event| {
            recorder.run_event(event);
            show.show_event(event)
        });
        let outcome = match followed.await {
            Ok(outcome) => outcome,
            Err(failure) => {
                self.session.withdraw();
                drop(recorder);
                self.forget()?;
                return Err(failure);
            }
        };
        self.add(*outcome)
    }

    /// Adds the outcome of a prompt to the conversation.
    fn add(&mut self, outcome: Outcome) -> Result<(), Failure> {
        for step in &outcome.steps {
            self.session.count(&step.response, &self.client);
        }
        let has_response = !outcome.messages.is_empty();
        match (&outcome.error, has_response) {
            // Without any response the next prompt would follow this one.
            (Some(_), false) => {
                self.session.withdraw();
                self.forget()?;
            }
            _ => self.session.push_messages(outcome.messages.iter().cloned()),
        }
        run::print_summary(&outcome, &self.client, self.setup.notes);
        match outcome.error {
            Some(error) if error.kind() != ErrorKind::Cancelled => Err(error.into()),
            _ if outcome.stop == StopReason::Waiting => Err(Failure::Response(
                "the call was not approved, so the response is not finished; send another prompt to continue".to_owned(),
            )),
            _ if outcome.stop == StopReason::Cancelled => {
                self.setup.notes.print_note("interrupted; what had arrived is part of the conversation");
                Ok(())
            }
            _ => run::check_finished(&outcome.stop),
        }
    }

    /// Removes the messages from the stored conversation that are no longer part of this one.
    fn forget(&self) -> Result<(), Failure> {
        let messages = &self.session.request.messages;
        let kept =
            messages.iter().filter(|message| message.role != agentloop::Role::System).count();
        self.setup.record(&self.history)?.truncate(kept);
        Ok(())
    }

    /// Lists the tools that are enabled, and the names that `/tools` accepts.
    fn list_tools(&self) {
        let notes = self.setup.notes;
        if self.kit.tools.is_empty() {
            notes.print_note("no tools are enabled");
        }
        for offered in &self.kit.tools {
            let name = printable::escape_name(offered.tool.name());
            let state = match &offered.source {
                _ if self.kit.denied.contains(offered.tool.name()) => "denied",
                _ if self.kit.asks(offered) => "asks for approval",
                _ => "runs without approval",
            };
            notes.print_note(&format!("enabled: {name} ({state})"));
        }
        notes.print_note(&format!("available: {}", self.list_names().join(", ")));
    }

    /// Returns the tools, groups and servers that can be enabled.
    fn list_names(&self) -> Vec<String> {
        let config = &self.setup.config.tools;
        let servers = config.servers.iter().filter(|(_, server)| server.enabled);
        let servers = servers.map(|(name, _)| format!("{name}:*"));
        let local = run::local_names(config).chain(config.groups.keys().map(String::as_str));
        local.map(str::to_owned).chain(servers).collect()
    }

    /// Enables tools, and disables those that are written with a minus.
    async fn change_tools(&mut self, names: &[String]) -> Result<(), Failure> {
        let mut args = self.args.clone();
        for name in names {
            match name.strip_prefix('-') {
                Some(name) => args.tools.disable(name, self.setup)?,
                None => args.tools.enable(name, self.setup)?,
            }
        }
        (self.agent, self.kit) = build_agent(&args, &self.client, self.setup).await?;
        self.args = args;
        self.list_tools();
        Ok(())
    }

    /// Returns the models that `/model` completes: the known ones of providers that are ready.
    fn list_models(&self) -> Vec<String> {
        let catalog = self.client.catalog();
        let ready = self.client.providers().filter(|provider| self.setup.is_configured(provider));
        let models = ready.flat_map(|provider| {
            let known = catalog.of_provider(&provider.name).into_iter();
            known.map(|model| format!("{}/{}", provider.name, model.id))
        });
        let mut models: Vec<String> = models.collect();
        models.push(crate::simulator::ECHO.to_owned());
        models.sort();
        models.dedup();
        models
    }

    /// Returns the file for the lines that are typed, if conversations are stored.
    fn lines_path(&self) -> Option<std::path::PathBuf> {
        let recorder =
            self.setup.record(&HistoryArgs::new_conversation(&self.args.history)).ok()?;
        let file = store::find_file().filter(|_| recorder.is_enabled())?;
        Some(file.with_file_name(LINES))
    }
}

async fn build_agent(
    args: &Args,
    client: &AgentLoop,
    setup: &Setup,
) -> Result<(Agent, run::Kit), Failure> {
    let (mut agent, kit) = args.tools.build_agent(client.clone(), setup).await?;
    if let Some(approver) = TerminalApprover::at_terminal(setup.notes) {
        agent = agent.approver(approver.with_root(args.tools.root()));
    }
    Ok((agent, kit))
}
