//! Shows Markdown on a terminal as it arrives.
//!
//! - A line is written once it cannot change, and the line that is still open is rewritten. The lines above are never touched.
//! - What is kept does not depend on the length of the text: one line, one held piece of markup ([`inline`]), and the first rows of
//!   a table ([`table`]). The work grows in proportion to the text.
//! - The result does not depend on how the text is split into pieces.
//! - Line breaks of the text are kept. Markup ends at the end of its line, because a line that is on the screen cannot change.

mod code;
mod inline;
mod link;
mod lists;
mod start;
mod table;

use self::code::Code;
use self::inline::Inline;
use self::lists::Lists;
use self::start::{Kind, LineStart};
use self::table::Table;
use super::live::LiveLine;
use super::style::{Color, Line, Style};
use super::terminal;
use super::wrap::Wrapper;
use crate::printable::Sanitizer;

/// The most bytes of a line that are held back to decide what the line is. Longer rows of tables are text, and longer lines of code
/// are broken.
const MAX_HELD: usize = 16 * 1024;

/// The widest text. Longer lines are hard to read.
const MAX_WIDTH: usize = 100;

/// The length of a rule.
const RULE: usize = 40;

/// Shows Markdown on a terminal.
#[derive(Debug)]
pub(crate) struct Markdown {
    live: LiveLine,
    size: fn() -> (usize, usize),
    /// The columns of the terminal when the last text arrived.
    columns: usize,
    sanitizer: Sanitizer,
    /// The start of a line, before it is decided what the line is; or the line of code that is open.
    start: String,
    /// Whether only the end of the line can decide about `start`.
    needs_end: bool,
    /// The line of text that is open.
    text: Option<TextLine>,
    code: Option<Code>,
    /// A line that is the header of a table if the next line is the line below it.
    header: Option<(String, Line)>,
    table: Option<(Table, Line)>,
    lists: Lists,
    /// Whether a blank line goes before the next line.
    needs_blank: bool,
    /// Whether the line before was blank, or there was none.
    is_after_blank: bool,
    has_output: bool,
    /// Lines that are final and not written yet.
    lines: Vec<Line>,
}

/// A line of text that is open.
#[derive(Debug)]
struct TextLine {
    wrapper: Wrapper,
    /// `None`: the text has no markup.
    inline: Option<Inline>,
}

impl Markdown {
    pub(crate) fn new(has_colors: bool) -> Self {
        Self::with_size(has_colors, terminal::size)
    }

    fn with_size(has_colors: bool, size: fn() -> (usize, usize)) -> Self {
        Self {
            live: LiveLine::new(has_colors),
            size,
            columns: size().0,
            sanitizer: Sanitizer::default(),
            start: String::new(),
            needs_end: false,
            text: None,
            code: None,
            header: None,
            table: None,
            lists: Lists::default(),
            needs_blank: false,
            is_after_blank: true,
            has_output: false,
            lines: Vec::new(),
        }
    }

    /// Shows more text. What the terminal has to receive is added to `out`.
    pub(crate) fn push(&mut self, text: &str, out: &mut String) {
        let text = self.sanitizer.push(text);
        self.columns = (self.size)().0;
        for piece in text.split_inclusive('\n') {
            let line = piece.strip_suffix('\n');
            self.add(line.unwrap_or(piece));
            if line.is_some() {
                self.end_line();
            }
            // Text that arrives at once is not kept at once.
            self.write_lines(out);
        }
        let preview = self.preview();
        self.live.preview(&preview, self.columns, out);
    }

    /// Ends the text: what is open is shown as it is.
    pub(crate) fn finish(&mut self, out: &mut String) {
        if self.text.is_some() || !self.start.is_empty() {
            self.end_line();
        }
        self.end_table();
        if let Some(code) = self.code.take() {
            self.lines.push(code.end());
        }
        self.write_lines(out);
        self.live.abandon(out);
        *self = Self::with_size(self.live.has_colors(), self.size);
    }

    /// Returns whether the cursor is within a line.
    #[cfg(test)]
    pub(crate) fn is_open(&self) -> bool {
        self.live.is_open()
    }

    fn width(&self) -> usize {
        self.columns.clamp(10, MAX_WIDTH)
    }

    /// Adds text without line breaks.
    fn add(&mut self, mut text: &str) {
        while !text.is_empty() {
            if self.text.is_some() {
                return self.add_text(text);
            }
            // The same amount is held back however the text is split.
            let mut end = text.len().min(MAX_HELD - self.start.len().min(MAX_HELD));
            while !text.is_char_boundary(end) {
                end -= 1;
            }
            let is_full = end < text.len();
            self.start.push_str(&text[..end]);
            text = &text[end..];
            match &mut self.code {
                Some(code) if is_full => {
                    code.push(&std::mem::take(&mut self.start), &mut self.lines);
                }
                Some(_) => {}
                None if is_full => self.force_start(),
                None if self.needs_end => {}
                None => match start::read(&self.start, false) {
                    Ok(start) => self.begin(&start),
                    Err(undecided) => self.needs_end = undecided.needs_end,
                },
            }
        }
    }

    /// Decides about a line that is too long to wait for its end.
    fn force_start(&mut self) {
        let mut start = match start::read(&self.start, true) {
            Ok(start) => start,
            Err(_) => return,
        };
        if !matches!(start.kind, Kind::Heading(_)) {
            start.kind = Kind::Text;
        }
        self.begin(&start);
    }

    fn end_line(&mut self) {
        if let Some(code) = &mut self.code {
            let line = std::mem::take(&mut self.start);
            if code.is_end(&line) {
                if let Some(code) = self.code.take() {
                    self.lines.push(code.end());
                }
            } else {
                code.push(&line, &mut self.lines);
            }
            return;
        }
        if self.text.is_none() {
            match start::read(&self.start, true) {
                Ok(start) => self.begin(&start),
                Err(_) => return,
            }
        }
        if let Some(mut text) = self.text.take() {
            text.finish_inline(&mut self.lines);
            text.wrapper.finish(&mut self.lines);
        }
    }

    /// Begins a line of which the start is known.
    fn begin(&mut self, start: &LineStart) {
        let line = std::mem::take(&mut self.start);
        self.needs_end = false;
        let content = &line[start.content..];
        let is_after_blank = std::mem::replace(&mut self.is_after_blank, start.kind == Kind::Blank);
        if start.kind != Kind::Row {
            self.end_table();
        }
        if start.kind != Kind::Blank || start.quotes > 0 {
            if std::mem::take(&mut self.needs_blank) && self.has_output {
                self.lines.push(Line::default());
            }
            self.has_output = true;
        }
        let is_code = start.items.is_empty() && start.column >= 4 && self.lists.is_empty();
        let (first, indent) = self.lists.place(start, self.width());
        match start.kind {
            Kind::Blank if start.quotes == 0 => self.needs_blank = true,
            // A quote that goes on keeps its bar.
            Kind::Blank => self.lines.push(first),
            Kind::Rule => {
                let mut rule = first;
                rule.push(&"─".repeat(RULE.min(self.width())), Style::DIM);
                self.lines.push(rule);
            }
            Kind::Fence(marker, length, ref language) => {
                let marker = (marker, length);
                let (code, line) =
                    Code::start(marker, language, start, (first, indent), self.width());
                self.lines.push(line);
                self.code = Some(code);
            }
            Kind::Row => self.add_row(content.to_owned(), first, indent),
            Kind::Heading(level) => {
                let underline = level == 1;
                let style = Style { underline, color: Some(Color::Magenta), ..Style::BOLD };
                let style = if level > 2 { Style::BOLD } else { style };
                self.begin_text(content, first, indent, Some(style));
            }
            Kind::Text if is_code && is_after_blank => {
                let mut first = first;
                first.push_spaces(start.column);
                self.begin_text(content, first.clone(), first, None);
                // The lines after it are code too.
                self.is_after_blank = true;
            }
            Kind::Text => self.begin_text(content, first, indent, Some(Style::PLAIN)),
        }
    }

    fn begin_text(&mut self, text: &str, first: Line, indent: Line, style: Option<Style>) {
        let wrapper = Wrapper::new(self.width(), first, indent);
        self.text = Some(TextLine { wrapper, inline: style.map(Inline::new) });
        self.add_text(text);
    }

    fn add_text(&mut self, text: &str) {
        let width = self.width();
        let Some(TextLine { wrapper, inline }) = &mut self.text else { return };
        wrapper.resize(width);
        let lines = &mut self.lines;
        match inline {
            Some(inline) => inline.push(text, &mut |text, style| wrapper.push(text, style, lines)),
            None => wrapper.push(text, Style::PLAIN, lines),
        }
    }

    /// Adds a line that looks like a row of a table.
    fn add_row(&mut self, row: String, first: Line, indent: Line) {
        let columns = self.columns.max(10);
        if let Some((table, indent)) = &mut self.table {
            let from = self.lines.len();
            table.push(&row, columns.saturating_sub(indent.columns()), &mut self.lines);
            prefix(&mut self.lines[from..], indent);
            return;
        }
        if let Some((header, indent)) = self.header.take() {
            match Table::start(&header, &row) {
                Some(table) => {
                    self.table = Some((table, indent));
                    return;
                }
                None => self.show_text(&header, indent.clone(), indent),
            }
        }
        // The marker of a list item has to be on the screen before the table.
        if first != indent {
            self.lines.push(first);
        }
        self.header = Some((row, indent));
    }

    /// Ends a table, or shows a line that is not the header of one.
    fn end_table(&mut self) {
        if let Some((header, indent)) = self.header.take() {
            self.show_text(&header, indent.clone(), indent);
        }
        if let Some((table, indent)) = self.table.take() {
            let columns = self.columns.max(10);
            let from = self.lines.len();
            table.finish(columns.saturating_sub(indent.columns()), &mut self.lines);
            prefix(&mut self.lines[from..], &indent);
        }
    }

    /// Shows a complete line of text.
    fn show_text(&mut self, text: &str, first: Line, indent: Line) {
        let open = self.text.take();
        self.begin_text(text, first, indent, Some(Style::PLAIN));
        if let Some(mut text) = std::mem::replace(&mut self.text, open) {
            text.finish_inline(&mut self.lines);
            text.wrapper.finish(&mut self.lines);
        }
    }

    /// Returns the line that is open, as it is known so far.
    fn preview(&self) -> Line {
        if let Some(code) = &self.code {
            return code.preview(&self.start);
        }
        if let Some(TextLine { wrapper, inline }) = &self.text {
            let mut line = wrapper.preview();
            if let Some(inline) = inline {
                // A tab would move the cursor further than its width.
                line.push(&inline.held().replace('\t', " "), inline.style());
            }
            return line;
        }
        if let Some((table, indent)) = &self.table {
            let mut line = indent.clone();
            line.push(&format!("… {}", table.describe()), Style::DIM);
            return line;
        }
        if self.needs_end {
            Line::new(&self.start.replace('\t', " "), Style::DIM)
        } else {
            Line::default()
        }
    }

    fn write_lines(&mut self, out: &mut String) {
        for line in self.lines.drain(..) {
            self.live.commit(&line, out);
        }
    }
}

impl TextLine {
    fn finish_inline(&mut self, lines: &mut Vec<Line>) {
        let Self { wrapper, inline } = self;
        if let Some(inline) = inline {
            inline.finish(&mut |text, style| wrapper.push(text, style, lines));
        }
    }
}

fn prefix(lines: &mut [Line], indent: &Line) {
    if indent.is_empty() {
        return;
    }
    for line in lines {
        let mut indented = indent.clone();
        indented.append(line);
        *line = indented;
    }
}

#[cfg(test)]
mod tests;
