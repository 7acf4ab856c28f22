//! A server that loads several models on demand: llama.cpp's router mode. Its models are those in its cache and in a file of ours.

use std::path::Path;

use agentloop::{Error, ErrorKind, Result};
use serde_json::{Value, json};

use super::folders::{MAX_MODELS, name_of};
use super::name::{REPOSITORY, Wanted};
use super::servers::Server;
use crate::files::replace;
use crate::notes::Notes;

/// The longest event about a download, in bytes.
const MAX_EVENT: usize = 64 << 10;

/// A section of the file of models: its name, which is the id of the model, and its lines.
pub(super) type Section = (String, String);

/// Writes the file of models.
pub(super) fn write(file: &Path, sections: &[Section]) -> Result<()> {
    let text: String = sections.iter().map(|(id, lines)| format!("[{id}]\n{lines}")).collect();
    let failed = |error| Error::new(ErrorKind::Other, format!("{}: {error}", file.display()));
    replace(file, format!("# Written by agentloop\n{text}").as_bytes()).map_err(failed)
}

/// Returns the lines of a model. Some characters of paths cannot be written there.
fn lines(Wanted { option, value, task, .. }: &Wanted) -> Result<String> {
    if value.contains(['#', ';', '\n', '\r']) || value.trim() != value {
        let message = format!("{value}: llama-server cannot read a path with # or ;");
        return Err(Error::new(ErrorKind::InvalidRequest, message));
    }
    let task = task.map(|task| format!("{task} = true\n")).unwrap_or_default();
    Ok(format!("{option} = {value}\n{task}"))
}

/// Returns the id of a model that has none yet: its name, in characters that need no quotes.
fn id(value: &str, sections: &[Section]) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || ".-_".contains(letter);
    let name = name_of(Path::new(value)).unwrap_or_else(|| value.to_owned());
    let id = name.replace(|letter| !is_plain(letter), "_");
    // `default` has a meaning of its own in the file.
    let is_free = id != "default" && !sections.iter().any(|(it, _)| *it == id);
    if is_free { id } else { format!("{id}~{}", sections.len()) }
}

/// Makes the server know a model, and returns its id. Without `notes` nothing is downloaded.
pub(super) async fn add(
    server: &Server,
    mut wanted: Wanted,
    notes: Option<Notes>,
) -> Result<String> {
    // One at a time: the list also has the name of a repository that is being downloaded.
    let mut sections = server.sections.lock().await;
    if wanted.option == REPOSITORY {
        let name = &wanted.value;
        wanted.value = match (find(name, list(server, "/models").await?), notes) {
            (Some(id), _) => id,
            (None, Some(notes)) => download(server, name, notes).await?,
            (None, None) => {
                let message = format!("local/{name} is not on this machine");
                let hint = format!("download it with `agentloop -m local/{name} Hello`");
                return Err(Error::new(ErrorKind::InvalidRequest, message).with_hint(hint));
            }
        };
        if wanted.task.is_none() {
            return Ok(wanted.value);
        }
    }
    let lines = lines(&wanted)?;
    if let Some((id, _)) = sections.iter().find(|(_, it)| *it == lines) {
        return Ok(id.clone());
    }
    let id = id(&wanted.value, &sections);
    let all = [sections.as_slice(), &[(id.clone(), lines)]].concat();
    write(&server.file, &all)?;
    if !list(server, "/models?reload=1").await?.contains(&id) {
        let message = format!("llama-server does not take {}", wanted.value);
        let error = Error::new(ErrorKind::Server, message);
        return Err(error.with_hint("this version may be too old: update it"));
    }
    *sections = all;
    Ok(id)
}

/// Lists the models that the server knows. Those in its cache have a slash in their names.
pub(super) async fn list(server: &Server, path: &str) -> Result<Vec<String>> {
    let (_, list) = server.call(path, Vec::new()).await?;
    let models = list.get("data").and_then(Value::as_array).into_iter().flatten();
    let ids = models.filter_map(|model| model.get("id")?.as_str());
    let plain = ids.filter(|id| !id.chars().any(char::is_control));
    Ok(plain.take(MAX_MODELS).map(str::to_owned).collect())
}

/// Finds a repository in the cache, in any quantization if none is named.
fn find(name: &str, cached: Vec<String>) -> Option<String> {
    let name = name.to_lowercase();
    cached.into_iter().find(|id| {
        let id = id.to_lowercase();
        id == name || id.strip_prefix(&name).is_some_and(|rest| rest.starts_with(':'))
    })
}

/// Lets the server download a repository, shows its progress, and returns its id. It continues what was cut off.
async fn download(server: &Server, name: &str, notes: Notes) -> Result<String> {
    notes.print_note(&format!("llama-server downloads {name}"));
    let lines = server.process.lines();
    let failed = |why: &str| {
        let message = format!("llama-server cannot download {name}{why}");
        server.process.explain(Error::new(ErrorKind::NotFound, message), lines)
    };
    let mut events = server.send("/models/sse", Vec::new()).await?.into_body();
    let model = json!({ "model": name }).to_string().into_bytes();
    let (status, body) = server.call("/models", model).await?;
    if !status.is_success() {
        let why = body.pointer("/error/message").and_then(Value::as_str);
        return Err(failed(&why.map(|why| format!(": {why}")).unwrap_or_default()));
    }
    let mut text = String::new();
    'events: while let Some(bytes) = events.next().await {
        text.push_str(&String::from_utf8_lossy(&bytes?));
        let end = text.rfind('\n').map_or(0, |at| at + 1);
        for line in text.drain(..end).collect::<String>().lines() {
            let data = line.strip_prefix("data:").unwrap_or_default();
            let event: Value = serde_json::from_str(data).unwrap_or_default();
            let is_ours = event.get("model").and_then(Value::as_str) == Some(name);
            match event.get("event").and_then(Value::as_str).filter(|_| is_ours) {
                Some("download_progress") => notes.update_wait(&progress(name, &event)),
                Some("download_finished" | "download_failed") => break 'events,
                _ => {}
            }
        }
        text.truncate(if text.len() > MAX_EVENT { 0 } else { text.len() });
    }
    // It reports the end of a download also if there is no such repository.
    let found = find(name, list(server, "/models?reload=1").await?);
    found.ok_or_else(|| failed(""))
}

/// Describes the progress of all files of a repository.
fn progress(name: &str, event: &Value) -> String {
    let files = event.pointer("/data/progress").and_then(Value::as_object);
    let sum = |key| -> u64 {
        let values = files.into_iter().flat_map(|files| files.values());
        values.filter_map(|file| file.get(key)?.as_u64()).fold(0, u64::saturating_add) / 1_000_000
    };
    format!("downloading {name}: {} of {} MB", sum("done"), sum("total"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::local::name::FILE;

    #[test]
    fn each_model_has_an_id_of_its_own_that_needs_no_quotes() {
        let mut sections = Vec::new();
        for (name, expected) in [
            ("/a/tiny.gguf", "tiny"),
            ("/b/tiny.gguf", "tiny~1"),
            ("/a/x],y = [ü.gguf", "x__y_____"),
            ("/a/default.gguf", "default~3"),
            ("owner/tiny:Q8_0", "owner_tiny_Q8_0"),
        ] {
            let id = id(name, &sections);
            assert_eq!(id, expected);
            sections.push((id, String::new()));
        }
    }

    #[test]
    fn a_path_cannot_add_lines_to_the_file() {
        for path in
            ["/a/x#y.gguf", "/a/x;y.gguf", "/a/x\nport = 1.gguf", "/a/x\r.gguf", "/a/x.gguf "]
        {
            let wanted = Wanted { option: FILE, value: path.to_owned(), task: None };
            let error = lines(&wanted).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidRequest, "{path:?}");
        }
    }

    #[test]
    fn a_repository_is_found_in_any_quantization_unless_one_is_named() {
        let cached = || vec!["a/b-c:Q8_0".to_owned(), "a/b:Q4_K_M".to_owned()];
        assert_eq!(find("A/b", cached()).as_deref(), Some("a/b:Q4_K_M"));
        assert_eq!(find("a/b:q4_k_m", cached()).as_deref(), Some("a/b:Q4_K_M"));
        assert_eq!(find("a/b:Q8_0", cached()), None);
        assert_eq!(find("a", cached()), None);
    }

    #[test]
    fn the_progress_is_that_of_all_files() {
        let event = json!({"data": {"progress": {"a": {"done": 1_000_000, "total": 4_000_000}, "b": {"done": 1_000_000, "total": 4_000_000}}}});
        assert_eq!(progress("a/b", &event), "downloading a/b: 2 of 8 MB");
        assert_eq!(progress("a/b", &Value::Null), "downloading a/b: 0 of 0 MB");
        let huge = json!({"data": {"progress": {"a": {"done": u64::MAX, "total": 1}, "b": {"done": u64::MAX}}}});
        assert!(progress("a/b", &huge).starts_with("downloading"));
    }
}
