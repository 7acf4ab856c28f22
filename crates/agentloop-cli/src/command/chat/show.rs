//! Prints a response as text, as one JSON document, or as events.

use std::io;
use std::path::PathBuf;
use std::time::Instant;

use agentloop::structured::Structured;
use agentloop::{
    ChatResponse, ChatStream, ChatStreamEvent, Choice, Citation, Error, ModelCatalog, Usage, Usd,
};
use serde_json::Value;

use crate::extract::{self, Which};
use crate::failure::Failure;
use crate::notes::Notes;
use crate::output::Output;
use crate::render::{
    TextRenderer, describe_hidden_part, describe_incomplete, save_media, show_media,
};
use crate::screen::{Options, last_line};

/// The format of the output on stdout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::command) enum Format {
    /// The text, as it arrives.
    Text,
    /// The complete response as JSON.
    Json,
    /// Each event as JSON, as it arrives.
    Events,
    /// One code block, when the response is complete.
    Code(Which),
}

/// Prints one response.
#[derive(Debug)]
pub(super) struct Show {
    format: Format,
    notes: Notes,
    text: TextRenderer,
    /// The folder that media are saved to.
    save: Option<PathBuf>,
    catalog: ModelCatalog,
    started: Instant,
    /// Whether the response is complete or an error was shown.
    is_over: bool,
}

impl Show {
    pub(super) fn new(
        format: Format,
        save: Option<PathBuf>,
        screen: Options,
        catalog: ModelCatalog,
        notes: Notes,
    ) -> Self {
        let text = TextRenderer::new(screen, notes);
        Self { format, notes, text, save, catalog, started: Instant::now(), is_over: false }
    }

    /// Prints a streamed response to its end.
    pub(super) async fn show_stream(&mut self, mut stream: ChatStream) -> Result<(), Failure> {
        while let Some(event) = stream.next().await {
            let event = match event {
                Ok(event) => event,
                Err(error) => return self.show_error(error),
            };
            match self.format {
                Format::Events => {
                    self.text.output().write_json(&event)?;
                    self.text.output().flush()?;
                }
                Format::Text => self.show_event(&event)?,
                Format::Json | Format::Code(_) => {}
            }
            if let ChatStreamEvent::MessageDone { response } = event {
                return self.finish(&response);
            }
        }
        self.show_error(Error::new(
            agentloop::ErrorKind::IncompleteStream,
            "the stream ended before the response was complete",
        ))
    }

    /// Prints an error in the format of the output, and returns it as a failure.
    pub(super) fn show_error(&mut self, error: Error) -> Result<(), Failure> {
        self.is_over = true;
        self.text.finish()?;
        match self.format {
            Format::Text => {}
            // A block that was cut off may still be useful; other text is not.
            Format::Code(which) => {
                let partial = error.partial().map(ChatResponse::text).unwrap_or_default();
                if extract::find(&partial, which).is_some() {
                    print_code(self.text.output(), &partial, which, self.notes)?;
                }
            }
            Format::Json => self.text.output().write_error(&error)?,
            Format::Events => {
                self.text.output().write_json(&ChatStreamEvent::from(&error))?;
            }
        }
        self.text.output().flush()?;
        if let Some(partial) = error.partial() {
            self.notes.print_warnings(&partial.warnings);
        }
        Err(error.into())
    }

    /// Prints a response that matches a schema.
    pub(super) fn show_structured(
        &mut self,
        structured: &Structured<Value>,
    ) -> Result<(), Failure> {
        match self.format {
            Format::Json => self.text.output().write_document(&serde_json::json!({
                "data": structured.data,
                "strategy": structured.strategy,
                "attempts": structured.attempts,
                "usage": structured.usage,
                "cost": structured.cost,
                "response": structured.response,
            }))?,
            Format::Text | Format::Events | Format::Code(_) => {
                self.text.output().write_document(&structured.data)?;
            }
        }
        self.text.output().flush()?;
        self.notes.print_warnings(&structured.response.warnings);
        let cost = structured.cost.as_ref().map(|cost| cost.usd);
        self.show_last_line(&structured.response, &structured.usage, cost);
        Ok(())
    }

    /// Prints the end of a response and its warnings, and saves its media.
    fn finish(&mut self, response: &ChatResponse) -> Result<(), Failure> {
        self.is_over = true;
        self.text.finish()?;
        match self.format {
            Format::Json => self.text.output().write_document(response)?,
            Format::Text => self.show_sources(response),
            Format::Code(which) => {
                print_code(self.text.output(), &response.text(), which, self.notes)?;
            }
            Format::Events => {}
        }
        self.text.output().flush()?;
        self.notes.print_warnings(&response.warnings);
        if let Some(folder) = &self.save {
            save_media(response, folder, self.notes)?;
        } else if self.format == Format::Text && self.text.is_terminal() {
            show_media(response, self.text.output(), self.notes)?;
        }
        self.show_last_line(response, &response.usage, None);
        let mut reasons = response.choices.iter().map(|choice| &choice.finish_reason);
        match reasons.find_map(describe_incomplete) {
            Some(message) => Err(Failure::Response(message.to_owned())),
            None => Ok(()),
        }
    }

    /// Prints the last line: model, tokens, cost and time. The cost of one response is calculated if it is not given.
    fn show_last_line(&self, response: &ChatResponse, usage: &Usage, cost: Option<Usd>) {
        if self.notes.is_terminal() {
            let price = || last_line::cost_of(response, &self.catalog).map(|cost| cost.usd);
            let cost = cost.or_else(|| (*usage == response.usage).then(price).flatten());
            let line = last_line::describe(response, usage, cost, self.started.elapsed());
            self.notes.print_dimmed(&line);
        }
    }

    /// Prints the sources that the text cites, and a note about further choices.
    fn show_sources(&self, response: &ChatResponse) {
        let choices = response.choices.len();
        if choices > 1 {
            self.notes.print_note(&format!(
                "only the first of {choices} choices is shown; use --json to see all"
            ));
        }
        let mut shown: Vec<&str> = Vec::new();
        for citation in response.choices.iter().take(1).flat_map(Choice::citations) {
            let (number, title, target) = match citation {
                Citation::Url(page) => (page.number, page.title.as_deref(), page.url.as_str()),
                Citation::File(file) => {
                    let id = file.file_id.as_deref().or(file.container_id.as_deref());
                    let Some(target) = id.or(file.filename.as_deref()) else { continue };
                    (None, file.filename.as_deref().filter(|name| *name != target), target)
                }
                _ => continue,
            };
            if !shown.contains(&target) {
                shown.push(target);
                self.notes.print_source(number, title, target);
            }
        }
    }

    /// Prints the text of an event, and a note if a part starts that cannot be printed as text.
    fn show_event(&mut self, event: &ChatStreamEvent) -> io::Result<()> {
        self.text.print_event(event)?;
        let Some(part) = describe_hidden_part(event) else { return Ok(()) };
        if part.is_media && (self.save.is_some() || self.text.is_terminal()) {
            return Ok(());
        }
        self.text.make_room();
        let how = if part.is_media {
            "--save-media DIR to save it, or --json to see it"
        } else {
            "--json to see it"
        };
        self.notes.print_note(&format!("the response contains {}; use {how}", part.description));
        Ok(())
    }
}

/// Prints a code block of a text as it is, without colours. Without a block, prints the text and a note.
pub(in crate::command) fn print_code(
    output: &mut Output,
    text: &str,
    which: Which,
    notes: Notes,
) -> io::Result<()> {
    let block = extract::find(text, which);
    let shown = block.as_ref().map_or(text, |block| block.code.as_str());
    output.write_untrusted(shown)?;
    if !shown.is_empty() && !shown.ends_with('\n') {
        output.write_text("\n")?;
    }
    output.flush()?;
    match block {
        None => notes.print_note("the response has no code block, so all of it is printed"),
        Some(block) if !block.is_closed => {
            notes.print_note("the code block is not closed, so it may be incomplete");
        }
        Some(_) => {}
    }
    Ok(())
}

/// Reports what was kept of a response that Ctrl-C ended.
impl Drop for Show {
    fn drop(&mut self) {
        let characters = self.text.printed();
        if !self.is_over && characters > 0 {
            // The command has been interrupted, so an error of stdout is not reported.
            let _ = self.text.finish();
            self.notes.begin_line();
            self.notes.print_note(&format!(
                "the response is incomplete: only its first {characters} characters arrived"
            ));
        }
    }
}
