//! Bounds what a template can hold in memory.
//!
//! The interpreter counts steps, and one step can double a text or repeat it a million times. So everything that makes texts or lists is
//! done here: operators, filters and methods first look at how large their result is, and everything that they make is counted.

use std::fmt::{self, Write};
use std::sync::atomic::{AtomicUsize, Ordering};

use minijinja::value::{Value, ValueKind};
use minijinja::{Error, ErrorKind};

use crate::limits::{
    MAX_TEMPLATE_DEPTH, MAX_TEMPLATE_ITEMS, MAX_TEMPLATE_MEMORY, TEMPLATE_MEMORY_FACTOR,
    TEMPLATE_NODES, TEMPLATE_TEXT_BYTES, TEMPLATE_TEXT_FACTOR,
};

/// What an element of a list takes, in bytes.
const ITEM_BYTES: usize = 32;

/// What looking at an element counts as, in bytes. It makes nothing, but takes time.
const NODE_BYTES: usize = 16;

/// What one application of a template may still hold.
#[derive(Debug)]
pub(super) struct Budget {
    /// The most bytes of one text.
    text: usize,
    /// The most elements, at all levels, of one value.
    nodes: usize,
    /// How many bytes of texts and lists may still be made.
    left: AtomicUsize,
}

impl Budget {
    /// Creates the budget for a conversation with so many bytes.
    pub(super) fn new(input: usize) -> Self {
        let grown = input.saturating_mul(TEMPLATE_TEXT_FACTOR);
        let text = TEMPLATE_TEXT_BYTES.saturating_add(grown);
        let all = text.saturating_mul(TEMPLATE_MEMORY_FACTOR).min(MAX_TEMPLATE_MEMORY);
        // The conversation itself is such a value.
        let nodes = TEMPLATE_NODES.saturating_add(input);
        Self { text, nodes, left: AtomicUsize::new(all) }
    }

    /// Counts bytes that are made. They are not given back, because nothing shows when they are freed.
    pub(super) fn charge(&self, bytes: usize) -> Result<(), Error> {
        let charged = self
            .left
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(bytes));
        charged.map(drop).map_err(|_| too_large())
    }

    /// Fails if a text of so many bytes is too long, and counts it.
    pub(super) fn charge_text(&self, bytes: Option<usize>) -> Result<(), Error> {
        match bytes.filter(|bytes| *bytes <= self.text) {
            Some(bytes) => self.charge(bytes),
            None => Err(too_large()),
        }
    }

    /// Counts a value that was made.
    pub(super) fn admit(&self, value: Value) -> Result<Value, Error> {
        match value.kind() {
            ValueKind::String => self.charge_text(value.as_str().map(str::len))?,
            ValueKind::Seq | ValueKind::Map => {
                self.charge(value.len().unwrap_or_default().saturating_mul(ITEM_BYTES))?;
            }
            _ => {}
        }
        Ok(value)
    }

    /// Writes values one after the other, with a text between them.
    pub(super) fn write<'v>(
        &self,
        values: impl Iterator<Item = Result<Value, Error>> + 'v,
        between: &str,
    ) -> Result<Value, Error> {
        let mut text = Text { written: String::new(), most: self.text };
        for (index, value) in values.enumerate() {
            let value = value?;
            let gap = if index == 0 { "" } else { between };
            write!(text, "{gap}{value}").map_err(|_| too_large())?;
        }
        self.charge(text.written.len())?;
        Ok(Value::from(text.written))
    }

    /// Counts a value that is written to the output, which may be captured.
    pub(super) fn charge_output(&self, value: &Value) -> Result<(), Error> {
        let length = match value.as_str() {
            Some(text) => Some(text.len()),
            None => self.length(value),
        };
        self.charge_text(length)
    }

    /// Returns how long a value is as a text; `None` if it is too long. Lists that contain each other can be exponentially long.
    pub(super) fn length(&self, value: &Value) -> Option<usize> {
        let mut counter = Counter { length: 0, most: self.text };
        write!(counter, "{value}").ok().map(|()| counter.length)
    }

    /// Collects the elements of a list.
    pub(super) fn collect(&self, values: impl Iterator<Item = Value>) -> Result<Vec<Value>, Error> {
        let mut items = Vec::new();
        for value in values {
            if items.len() >= MAX_TEMPLATE_ITEMS {
                return Err(too_large());
            }
            self.charge(ITEM_BYTES)?;
            items.push(value);
        }
        Ok(items)
    }

    /// Fails if a text with `count` occurrences of `from` is too long when each becomes `to`.
    pub(super) fn check_replaced(&self, text: &str, from: &str, to: &str) -> Result<(), Error> {
        let count = text.matches(from).count();
        let added = count.checked_mul(to.len()).and_then(|added| added.checked_add(text.len()));
        match added.is_some_and(|length| length - count * from.len() <= self.text) {
            true => Ok(()),
            false => Err(too_large()),
        }
    }
}

impl Budget {
    /// Counts the elements of a value at all levels. Fails if there are too many, if they are nested too deeply, or if one of them is a
    /// namespace or a macro, which could contain the value itself.
    ///
    /// Everything that is compared, sorted or stored is weighed, because a few steps make lists that contain each other so often that
    /// comparing them takes years.
    pub(super) fn weigh(&self, value: &Value) -> Result<(), Error> {
        let mut left = self.nodes;
        self.weigh_parts(value, MAX_TEMPLATE_DEPTH, &mut left)?;
        self.charge((self.nodes - left).saturating_mul(NODE_BYTES))
    }

    /// Weighs a value that is stored in a namespace.
    pub(super) fn weigh_stored(&self, value: &Value) -> Result<(), Error> {
        check_plain(value)?;
        self.weigh(value)
    }

    fn weigh_parts(&self, value: &Value, depth: usize, left: &mut usize) -> Result<(), Error> {
        if !matches!(value.kind(), ValueKind::Seq | ValueKind::Iterable | ValueKind::Map) {
            return Ok(());
        }
        let depth = depth.checked_sub(1).ok_or_else(too_large)?;
        let mut part = |part: &Value| {
            *left = left.checked_sub(1).ok_or_else(too_large)?;
            check_plain(part)?;
            self.weigh_parts(part, depth, left)
        };
        let Some(object) = value.as_object() else { return Ok(()) };
        if value.kind() == ValueKind::Map {
            for (key, value) in object.try_iter_pairs().into_iter().flatten() {
                part(&key)?;
                part(&value)?;
            }
        } else {
            object.try_iter().into_iter().flatten().try_for_each(|value| part(&value))?;
        }
        Ok(())
    }
}

/// Fails for what can contain itself: namespaces, and macros and loops, which know the variables around them.
fn check_plain(value: &Value) -> Result<(), Error> {
    let name = value.as_object().map(|object| object.type_name()).unwrap_or_default();
    if !name.starts_with("minijinja::vm::") && !name.ends_with("::Namespace") {
        return Ok(());
    }
    let message = "namespaces, macros and loops cannot be parts of lists, maps and namespaces";
    Err(Error::new(ErrorKind::InvalidOperation, message))
}

/// Returns the error of a template that makes too much.
pub(super) fn too_large() -> Error {
    Error::new(ErrorKind::InvalidOperation, "it makes texts or lists that are too large")
}

/// A text that does not grow beyond a limit.
struct Text {
    written: String,
    most: usize,
}

impl Write for Text {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if self.written.len().saturating_add(text.len()) > self.most {
            return Err(fmt::Error);
        }
        self.written.push_str(text);
        Ok(())
    }
}

/// Counts what is written, up to a limit.
struct Counter {
    length: usize,
    most: usize,
}

impl Write for Counter {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.length = self.length.saturating_add(text.len());
        if self.length > self.most { Err(fmt::Error) } else { Ok(()) }
    }
}

impl std::io::Write for Counter {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.length = self.length.saturating_add(bytes.len());
        match self.length > self.most {
            true => Err(std::io::Error::other("too long")),
            false => Ok(bytes.len()),
        }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Budget {
    /// Fails if a value is too long as JSON.
    pub(super) fn check_json(&self, value: &Value) -> Result<(), Error> {
        let mut counter = Counter { length: 0, most: self.text };
        serde_json::to_writer(&mut counter, value).map_err(|error| match error.is_io() {
            true => too_large(),
            false => Error::new(ErrorKind::BadSerialization, "a value cannot be written as JSON")
                .with_source(error),
        })
    }
}
