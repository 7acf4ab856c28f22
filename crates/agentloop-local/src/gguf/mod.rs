//! Reads the head of a GGUF file and checks it against the length of the file, before the engine maps the file into memory.
//!
//! The format: <https://github.com/ggml-org/ggml/blob/master/docs/gguf.md>.

mod reader;
pub(crate) mod split;
mod tensor;

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use agentloop::{Error, ErrorKind, Result};

use crate::limits::{MAX_GGUF_ENTRIES, MAX_GGUF_SPLITS};
use reader::{Reader, Value};
use split::SplitName;

/// The alignment of tensors in a file that does not name one.
const DEFAULT_ALIGNMENT: u64 = 32;

/// The largest alignment. Files use 32 or 64.
const MAX_ALIGNMENT: u64 = 1 << 16;

/// What the head of a GGUF file states about the model.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Head {
    pub(crate) architecture: String,
    pub(crate) context_length: Option<u64>,
    /// How a model for embeddings reduces its vectors to one. Absent in models for chat.
    pub(crate) pooling: Option<u64>,
    pub(crate) is_causal: bool,
    /// The chat template, and the one for conversations with tools if there is another.
    pub(crate) template: Option<String>,
    pub(crate) tool_template: Option<String>,
    splits: u64,
}

impl Head {
    /// Returns whether the model only makes embeddings, so that it cannot chat.
    pub(crate) fn is_embedder(&self) -> bool {
        !self.is_causal || self.pooling.is_some_and(|pooling| pooling != 0)
    }
}

/// Reads and checks the head of a file, and those of the other files of a model that is split.
pub(crate) fn check(path: &Path) -> Result<Head> {
    let head = check_one(path)?;
    if head.splits > 1 {
        for part in split_paths(path, head.splits)? {
            check_file(&part, head.splits)?;
        }
    }
    Ok(head)
}

/// Reads and checks the head of a file that is one of `splits` files, without the others.
pub(crate) fn check_file(path: &Path, splits: u64) -> Result<Head> {
    let head = check_one(path)?;
    match head.splits.max(1) {
        found if found == splits => Ok(head),
        found => Err(invalid(path, &format!("it is one of {found} files instead of {splits}"))),
    }
}

fn invalid(path: &Path, why: &str) -> Error {
    Error::new(
        ErrorKind::InvalidRequest,
        format!("{} is not a valid GGUF file: {why}", path.display()),
    )
    .with_hint("the file may be damaged or incomplete; pull it again with `agentloop pull`")
}

fn check_one(path: &Path) -> Result<Head> {
    let fail = |why: String| invalid(path, &why);
    let unopened = |error: std::io::Error| fail(format!("it cannot be opened: {error}"));
    // Opening a pipe would wait for its other end.
    if !path.metadata().map_err(unopened)?.is_file() {
        return Err(fail("it is not a regular file".to_owned()));
    }
    let file = File::open(path).map_err(unopened)?;
    let metadata = file.metadata().map_err(unopened)?;
    read_head(&mut Reader::new(BufReader::new(file), metadata.len())).map_err(fail)
}

/// Reads the head, and checks that every tensor is inside the file.
fn read_head<R: std::io::Read>(reader: &mut Reader<R>) -> std::result::Result<Head, String> {
    if reader.bytes::<4>()? != *b"GGUF" {
        return Err("it does not start with GGUF".to_owned());
    }
    let version = reader.u32()?;
    if !matches!(version, 2 | 3) {
        return Err(format!("its version is {version}; versions 2 and 3 are supported"));
    }
    let tensors = reader.count(MAX_GGUF_ENTRIES, "tensors")?;
    let entries = reader.count(MAX_GGUF_ENTRIES, "metadata entries")?;
    let mut head = Head { is_causal: true, ..Head::default() };
    let mut alignment = DEFAULT_ALIGNMENT;
    // The number of the file in a split model, from 0.
    let mut number = 0;
    for _ in 0..entries {
        let key = reader.text()?;
        let value = reader.value()?;
        match (key.as_str(), value) {
            ("general.architecture", Value::Text(name)) => head.architecture = name,
            ("general.alignment", Value::Number(number)) => alignment = number,
            ("tokenizer.chat_template", Value::Text(text)) => head.template = Some(text),
            ("tokenizer.chat_template.tool_use", Value::Text(text)) => {
                head.tool_template = Some(text);
            }
            ("split.count", Value::Number(number)) => head.splits = number,
            ("split.no", Value::Number(found)) => number = found,
            (key, Value::Number(number)) if key.ends_with(".context_length") => {
                head.context_length = Some(number);
            }
            (key, Value::Number(number)) if key.ends_with(".pooling_type") => {
                head.pooling = Some(number);
            }
            (key, Value::Bool(is_causal)) if key.ends_with(".attention.causal") => {
                head.is_causal = is_causal;
            }
            _ => {}
        }
    }
    // The later files of a split model have tensors only.
    if head.architecture.is_empty() && number == 0 {
        return Err("it does not name its architecture".to_owned());
    }
    // The engine reads these as signed 32-bit numbers.
    if head.context_length.is_some_and(|length| length == 0 || length > i32::MAX as u64) {
        return Err("its context length is not possible".to_owned());
    }
    if head.splits > MAX_GGUF_SPLITS {
        return Err(format!("it claims to be one of {} files", head.splits));
    }
    if !alignment.is_power_of_two() || alignment > MAX_ALIGNMENT {
        return Err(format!("its alignment is {alignment}"));
    }
    check_tensors(reader, tensors, alignment)?;
    Ok(head)
}

fn check_tensors<R: std::io::Read>(
    reader: &mut Reader<R>,
    count: u64,
    alignment: u64,
) -> std::result::Result<(), String> {
    let mut end = 0_u64;
    let mut names = std::collections::HashSet::new();
    for _ in 0..count {
        let name = reader.text()?;
        let (offset, bytes) = tensor::read(reader, &name)?;
        if offset % alignment != 0 {
            return Err(format!("the tensor {name} is not aligned"));
        }
        let last = offset.checked_add(bytes).ok_or("the offset of a tensor is too large")?;
        end = end.max(last);
        if !names.insert(name) {
            return Err("two tensors have the same name".to_owned());
        }
    }
    let start = reader.position().next_multiple_of(alignment);
    let needed = start.checked_add(end).ok_or("its tensors are too large")?;
    if needed > reader.length() {
        return Err(format!("it has {} bytes, but its tensors need {needed}", reader.length()));
    }
    Ok(())
}

/// Returns the paths of all files of a split model: `NAME-00001-of-00003.gguf` and so on.
fn split_paths(path: &Path, splits: u64) -> Result<Vec<PathBuf>> {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let split = name.strip_suffix(".gguf").and_then(SplitName::of);
    let Some(split) = split.filter(|split| split.number == 1 && split.count == splits) else {
        let first = format!("-00001-of-{splits:05}.gguf");
        return Err(Error::new(
            ErrorKind::InvalidRequest,
            format!("{} is one of {splits} files, and not the first", path.display()),
        )
        .with_hint(format!("name the file that ends in {first}")));
    };
    Ok(split.files().skip(1).map(|name| path.with_file_name(name)).collect())
}

#[cfg(test)]
pub(crate) mod tests;
