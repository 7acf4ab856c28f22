//! Citations of files in OpenAI's protocols: annotations in responses, in requests, and as a server writes them.

#[cfg(feature = "serve")]
use serde_json::Map;
use serde_json::{Value, json};

use crate::chat::{FileCitation, ProviderState};

/// The kinds of annotations that cite files. The last one has the content of a file that was parsed.
const KINDS: [&str; 4] = ["file_citation", "container_file_citation", "file_path", PARSED];

/// The kind of an annotation with a file as the provider parsed it. Sending it back saves parsing the file again.
const PARSED: &str = "file";

/// Reads an annotation that cites a file.
///
/// # Errors
///
/// Returns the annotation unchanged if it is of another kind or names no file.
pub(crate) fn read(annotation: Value, provider: &str) -> Result<FileCitation, Value> {
    let kind = kind(&annotation);
    if !KINDS.contains(&kind) {
        return Err(annotation);
    }
    // The fields are in an object with the name of the kind, or beside the kind.
    let nested = annotation.get(kind).filter(|nested| nested.is_object());
    let field = |name: &str| nested.and_then(|nested| nested.get(name)).or(annotation.get(name));
    let word = |name: &str| {
        let word = field(name)?.as_str().filter(|word| !word.is_empty());
        word.map(str::to_owned)
    };
    let number = |name: &str| field(name).and_then(Value::as_u64);
    let mut citation = FileCitation {
        file_id: word("file_id").or_else(|| word("hash")),
        filename: word("filename").or_else(|| word("name")),
        container_id: word("container_id"),
        cited_text: word("quote"),
        index: number("index"),
        start_index: number("start_index"),
        end_index: number("end_index"),
        provider_state: None,
    };
    if citation.file_id.is_none() && citation.filename.is_none() {
        return Err(annotation);
    }
    citation.provider_state = Some(Box::new(ProviderState::new(provider, annotation)));
    Ok(citation)
}

fn kind(annotation: &Value) -> &str {
    annotation.get("type").and_then(Value::as_str).unwrap_or_default()
}

/// Returns whether the provider may have made the state. A history in OpenAI's form need not name its origin.
fn may_be_of(state: &ProviderState, provider: &str) -> bool {
    state.provider.is_empty() || state.provider == provider
}

/// Returns whether an annotation has the form of the Responses protocol, with its fields beside its kind.
fn is_flat(annotation: &Value) -> bool {
    KINDS.contains(&kind(annotation)) && annotation.get("file_id").is_some_and(Value::is_string)
}

/// Returns the citation as an annotation for `provider` in the Responses protocol. Returns `None` if another provider
/// made it, or if a required field is missing.
pub(crate) fn annotation(file: &FileCitation, provider: &str) -> Option<Value> {
    match file.provider_state.as_deref() {
        Some(state) if !may_be_of(state, provider) => return None,
        Some(state) if is_flat(&state.data) => return Some(state.data.clone()),
        _ => {}
    }
    let (file_id, filename) = (file.file_id.as_deref()?, file.filename.as_deref()?);
    Some(match file.container_id.as_deref() {
        Some(container_id) => json!({
            "type": "container_file_citation", "container_id": container_id, "file_id": file_id,
            "filename": filename, "start_index": file.start_index?, "end_index": file.end_index?,
        }),
        None => json!({ "type": "file_citation", "file_id": file_id, "filename": filename,
                        "index": file.index? }),
    })
}

/// Returns the file as `provider` parsed it, which it accepts as input.
pub(crate) fn parsed<'a>(file: &'a FileCitation, provider: &str) -> Option<&'a Value> {
    let state = file.provider_state.as_deref().filter(|state| may_be_of(state, provider))?;
    Some(&state.data).filter(|data| kind(data) == PARSED)
}

/// Writes the citation as a server of the Responses protocol does, whichever provider made it.
#[cfg(feature = "serve")]
pub(crate) fn served(file: &FileCitation) -> Value {
    match file.provider_state.as_deref() {
        Some(state) if is_flat(&state.data) => state.data.clone(),
        _ => {
            let mut wire = fields(file);
            let kind = match file.container_id {
                Some(_) => "container_file_citation",
                None => "file_citation",
            };
            wire.insert("type".to_owned(), json!(kind));
            Value::Object(wire)
        }
    }
}

/// Writes the citation as a server of chat completions does, whichever provider made it.
#[cfg(feature = "serve")]
pub(crate) fn served_in_chat(file: &FileCitation) -> Value {
    match file.provider_state.as_deref() {
        Some(state) if KINDS.contains(&kind(&state.data)) => state.data.clone(),
        _ => json!({ "type": "file_citation", "file_citation": fields(file) }),
    }
}

#[cfg(feature = "serve")]
fn fields(file: &FileCitation) -> Map<String, Value> {
    let words = [
        ("file_id", &file.file_id),
        ("filename", &file.filename),
        ("container_id", &file.container_id),
        ("quote", &file.cited_text),
    ];
    let numbers =
        [("index", file.index), ("start_index", file.start_index), ("end_index", file.end_index)];
    let words = words.into_iter().filter_map(|(name, word)| Some((name, json!(word.as_ref()?))));
    let numbers = numbers.into_iter().filter_map(|(name, number)| Some((name, json!(number?))));
    words.chain(numbers).map(|(name, value)| (name.to_owned(), value)).collect()
}
