//! Reads rows: JSON lines, CSV or lines of text.

use std::cell::Cell;
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use clap::ValueEnum;
use serde_json::{Map, Value};

use crate::failure::Failure;
use crate::{files, input};

/// The longest line or record, in bytes.
const MAX_ROW_BYTES: u64 = 16 << 20;

/// The most bytes that are read from stdin. A file is read row by row and may be larger.
const MAX_STDIN_BYTES: usize = 256 << 20;

/// How many bytes beyond a record the CSV reader may read ahead.
const READ_AHEAD: u64 = 1 << 16;

/// The name of the only value of a row that is a line of text.
pub(in crate::command) const INPUT: &str = "input";

/// The format of the rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(in crate::command) enum Format {
    /// One JSON object, or one JSON string, per line.
    Jsonl,
    /// Comma-separated values with a header.
    Csv,
    /// One text per line. Blank lines are skipped.
    Text,
}

impl Format {
    /// Returns the format of a file by its extension.
    pub(in crate::command) fn of_path(path: &Path) -> Self {
        let extension = path.extension().map(|it| it.to_string_lossy().to_ascii_lowercase());
        match extension.as_deref() {
            Some("jsonl" | "ndjson" | "json") => Self::Jsonl,
            Some("csv") => Self::Csv,
            _ => Self::Text,
        }
    }
}

/// A row: its number, from 0, and its values by name.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::command) struct Row {
    pub(in crate::command) index: u64,
    pub(in crate::command) values: Map<String, Value>,
}

/// The file, or the bytes of stdin. It can be read more than once.
#[derive(Debug)]
pub(in crate::command) struct Source {
    name: String,
    format: Format,
    from: From,
}

#[derive(Debug)]
enum From {
    File(PathBuf),
    Bytes(Vec<u8>),
    Texts(Vec<String>),
}

impl Source {
    /// Opens the file; `-` is stdin.
    pub(in crate::command) fn open(path: &Path, format: Option<Format>) -> Result<Self, Failure> {
        if path == Path::new("-") {
            let bytes = input::read_at_most(MAX_STDIN_BYTES)?;
            return Ok(Self::of_stdin(bytes, format.unwrap_or(Format::Text)));
        }
        files::open_regular(path).map_err(|error| Failure::file(path, error))?;
        Ok(Self {
            name: path.display().to_string(),
            format: format.unwrap_or_else(|| Format::of_path(path)),
            from: From::File(path.to_owned()),
        })
    }

    /// Reads stdin: the strings of a JSON array, else lines of text.
    pub(in crate::command) fn read_stdin_texts() -> Result<Self, Failure> {
        let bytes = input::read_at_most(MAX_STDIN_BYTES)?;
        let is_array = bytes.trim_ascii_start().starts_with(b"[");
        Ok(match is_array.then(|| serde_json::from_slice(&bytes)) {
            Some(Ok(texts)) => Self::of_texts(texts),
            _ => Self::of_stdin(bytes, Format::Text),
        })
    }

    fn of_stdin(bytes: Vec<u8>, format: Format) -> Self {
        Self { name: "stdin".to_owned(), format, from: From::Bytes(bytes) }
    }

    /// Creates a source whose rows are these texts.
    pub(in crate::command) fn of_texts(texts: Vec<String>) -> Self {
        let name = "the command line".to_owned();
        Self { name, format: Format::Text, from: From::Texts(texts) }
    }

    /// Creates a source of bytes that are in memory.
    #[cfg(test)]
    pub(in crate::command) fn of_bytes(bytes: &[u8], format: Format) -> Self {
        Self { name: "test".to_owned(), format, from: From::Bytes(bytes.to_vec()) }
    }

    /// Returns the rows, from the first.
    pub(in crate::command) fn rows(&self) -> Result<Rows<'_>, Failure> {
        let reader: Box<dyn BufRead + '_> = match &self.from {
            From::File(path) => {
                let file = files::open_regular(path).map_err(|error| Failure::file(path, error))?;
                Box::new(BufReader::with_capacity(1 << 16, file))
            }
            From::Bytes(bytes) => Box::new(Cursor::new(&bytes[..])),
            From::Texts(texts) => return Ok(Rows::new(self, Reader::Texts(texts.iter()))),
        };
        let from = match self.format {
            Format::Csv => {
                let left = Rc::new(Cell::new(MAX_ROW_BYTES + READ_AHEAD));
                let bounded = Bounded { reader, left: Rc::clone(&left) };
                let mut reader = csv::ReaderBuilder::new().from_reader(bounded);
                let header = reader.headers().map_err(|error| self.fail_csv(&error))?.clone();
                check_header(&header).map_err(|why| self.fail(1, &why))?;
                Reader::Csv { reader: Box::new(reader), header, left }
            }
            Format::Jsonl => Reader::Lines(reader, parse_json),
            Format::Text => Reader::Lines(reader, parse_text),
        };
        Ok(Rows::new(self, from))
    }

    /// Reads all rows once, and returns how many there are and how many blank lines are skipped.
    pub(in crate::command) fn count(&self) -> Result<(u64, u64), Failure> {
        let mut rows = self.rows()?;
        for row in rows.by_ref() {
            row?;
        }
        Ok((rows.index, rows.blank))
    }

    fn fail(&self, line: u64, why: &str) -> Failure {
        Failure::input(format!("{}, line {line}: {why}", self.name))
    }

    fn fail_csv(&self, error: &csv::Error) -> Failure {
        let line = error.position().map_or(1, csv::Position::line);
        let why = match error.kind() {
            csv::ErrorKind::UnequalLengths { expected_len, len, .. } => {
                format!("the record has {len} values, but the header has {expected_len}")
            }
            csv::ErrorKind::Utf8 { .. } => "not UTF-8 text".to_owned(),
            csv::ErrorKind::Io(error) => error.to_string(),
            _ => error.to_string(),
        };
        self.fail(line, &why)
    }
}

type Parse = fn(&str) -> Result<Option<Map<String, Value>>, String>;

enum Reader<'a> {
    Lines(Box<dyn BufRead + 'a>, Parse),
    Csv {
        reader: Box<csv::Reader<Bounded<'a>>>,
        header: csv::StringRecord,
        /// How many bytes may be read before the record must end.
        left: Rc<Cell<u64>>,
    },
    Texts(std::slice::Iter<'a, String>),
}

/// A reader that fails if a record is too long: a quote that is not closed would read the whole file into memory.
struct Bounded<'a> {
    reader: Box<dyn BufRead + 'a>,
    left: Rc<Cell<u64>>,
}

impl Read for Bounded<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.left.get() == 0 {
            let why = format!("longer than the limit of {MAX_ROW_BYTES} bytes");
            return Err(io::Error::new(io::ErrorKind::InvalidData, why));
        }
        let read = self.reader.by_ref().take(self.left.get()).read(buffer)?;
        self.left.set(self.left.get().saturating_sub(read as u64));
        Ok(read)
    }
}

/// The rows of a source.
pub(in crate::command) struct Rows<'a> {
    source: &'a Source,
    from: Reader<'a>,
    index: u64,
    line: u64,
    /// Blank lines that were skipped.
    blank: u64,
}

impl<'a> Rows<'a> {
    fn new(source: &'a Source, from: Reader<'a>) -> Self {
        Self { source, from, index: 0, line: 0, blank: 0 }
    }

    fn read(&mut self) -> Result<Option<Map<String, Value>>, Failure> {
        let source = self.source;
        match &mut self.from {
            Reader::Texts(texts) => Ok(texts.next().map(|text| single(text))),
            Reader::Csv { reader, header, left } => {
                left.set(MAX_ROW_BYTES + READ_AHEAD);
                let mut record = csv::StringRecord::new();
                if !reader.read_record(&mut record).map_err(|error| source.fail_csv(&error))? {
                    return Ok(None);
                }
                let values = header.iter().zip(&record);
                Ok(Some(values.map(|(name, value)| (name.to_owned(), value.into())).collect()))
            }
            Reader::Lines(reader, parse) => loop {
                self.line += 1;
                let mut bytes = Vec::new();
                let read = reader.by_ref().take(MAX_ROW_BYTES + 1).read_until(b'\n', &mut bytes);
                read.map_err(|error| source.fail(self.line, &error.to_string()))?;
                if bytes.is_empty() {
                    return Ok(None);
                }
                if bytes.len() as u64 > MAX_ROW_BYTES {
                    let why = format!("longer than the limit of {MAX_ROW_BYTES} bytes");
                    return Err(source.fail(self.line, &why));
                }
                let text = std::str::from_utf8(&bytes)
                    .map_err(|_| source.fail(self.line, "not UTF-8 text"))?;
                let text = match self.line {
                    1 => text.strip_prefix('\u{feff}').unwrap_or(text),
                    _ => text,
                };
                let text = text.trim_end_matches(['\r', '\n']);
                if text.trim().is_empty() {
                    self.blank += 1;
                    continue;
                }
                if let Some(row) = parse(text).map_err(|why| source.fail(self.line, &why))? {
                    return Ok(Some(row));
                }
            },
        }
    }
}

impl Iterator for Rows<'_> {
    type Item = Result<Row, Failure>;

    fn next(&mut self) -> Option<Self::Item> {
        let values = self.read().transpose()?;
        let index = self.index;
        self.index += 1;
        Some(values.map(|values| Row { index, values }))
    }
}

fn parse_json(line: &str) -> Result<Option<Map<String, Value>>, String> {
    match serde_json::from_str(line) {
        Ok(Value::Object(values)) => Ok(Some(values)),
        Ok(Value::String(text)) => Ok(Some(single(&text))),
        Ok(_) => Err("neither a JSON object nor a JSON string".to_owned()),
        Err(error) => Err(format!("not JSON: {error}")),
    }
}

fn parse_text(line: &str) -> Result<Option<Map<String, Value>>, String> {
    Ok(Some(single(line)))
}

fn single(text: &str) -> Map<String, Value> {
    Map::from_iter([(INPUT.to_owned(), text.into())])
}

fn check_header(header: &csv::StringRecord) -> Result<(), String> {
    let mut names = std::collections::BTreeSet::new();
    match header.iter().find(|name| !names.insert(*name)) {
        Some(twice) => Err(format!("the header has the column `{twice}` twice")),
        None => Ok(()),
    }
}
