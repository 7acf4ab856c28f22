//! Files.

use agentloop::Result;
use agentloop::protocol::serve::read_form;
use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{Request, Uri};
use serde_json::{Value, json};

use super::{
    Dialect, FIRST_MOMENT, MAX_STORED, MAX_STORED_BYTES, Storage, Stored, not_found, query_value,
    refused, write,
};

/// A file.
#[derive(Clone, Debug)]
pub(super) struct StoredContent {
    pub(super) name: String,
    pub(super) mime_type: String,
    pub(super) purpose: String,
    pub(super) content: Bytes,
}

impl Stored {
    /// Stores a file and returns its number.
    pub(super) fn store(&mut self, file: StoredContent) -> Result<u64> {
        let bytes = self.bytes + file.content.len();
        if bytes > MAX_STORED_BYTES || self.files.len() >= MAX_STORED {
            return Err(refused("the simulator stores no more files"));
        }
        self.bytes = bytes;
        let number = self.count();
        self.files.insert(number, file);
        Ok(number)
    }

    pub(super) fn file(&self, id: &str) -> Result<(u64, &StoredContent)> {
        let number = id.strip_prefix("file-").and_then(|number| number.parse().ok());
        number
            .and_then(|number: u64| Some((number, self.files.get(&number)?)))
            .ok_or_else(|| not_found("file", id))
    }
}

/// Reads the file of a form.
fn read_file(dialect: Dialect, request: &Request<Bytes>) -> Result<StoredContent> {
    let kind = request.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let mut fields = read_form(kind.unwrap_or_default(), request.body())
        .map_err(|error| error.with_status(400))?;
    let purpose = fields.iter().find(|field| field.name == "purpose");
    let purpose = purpose.map(|field| String::from_utf8_lossy(&field.data).into_owned());
    let Some(at) = fields.iter().position(|field| field.name == "file") else {
        return Err(refused("the form has no file"));
    };
    if dialect == Dialect::Purpose && purpose.is_none() {
        return Err(refused("the form has no purpose"));
    }
    let file = fields.swap_remove(at);
    let mime_type = file.content_type.unwrap_or_else(|| "application/octet-stream".to_owned());
    Ok(StoredContent {
        name: file.filename.unwrap_or_default(),
        mime_type,
        purpose: purpose.unwrap_or_default(),
        content: file.data,
    })
}

impl Storage {
    pub(super) fn upload_form(&self, dialect: Dialect, request: &Request<Bytes>) -> Result<Value> {
        let file = read_file(dialect, request)?;
        let described = file.clone();
        let number = self.lock().store(file)?;
        Ok(describe(dialect, number, &described))
    }

    pub(super) fn start_upload(&self, request: &Request<Bytes>) -> Result<u64> {
        let body: Value = serde_json::from_slice(request.body())
            .map_err(|error| refused(format!("the body is not JSON: {error}")))?;
        let name = body.pointer("/file/displayName").and_then(Value::as_str).unwrap_or_default();
        let mime = request.headers().get("x-goog-upload-header-content-type");
        let mime = mime.and_then(|mime| mime.to_str().ok()).unwrap_or("application/octet-stream");
        let mut stored = self.lock();
        if stored.uploads.len() >= MAX_STORED {
            return Err(refused("the simulator begins no more uploads"));
        }
        let number = stored.count();
        stored.uploads.insert(number, (name.to_owned(), mime.to_owned()));
        Ok(number)
    }

    pub(super) fn finish_upload(&self, number: u64, request: &Request<Bytes>) -> Result<Value> {
        let mut stored = self.lock();
        let begun = stored.uploads.remove(&number);
        let (name, mime_type) = begun.ok_or_else(|| not_found("upload", &number.to_string()))?;
        let content = request.body().clone();
        let file = StoredContent { name, mime_type, purpose: String::new(), content };
        let described = file.clone();
        let number = stored.store(file)?;
        Ok(json!({ "file": describe(Dialect::Operations, number, &described) }))
    }

    pub(super) fn list_files(&self, dialect: Dialect, uri: &Uri) -> Value {
        let stored = self.lock();
        // The newest first, as providers do.
        let files = stored.files.iter().rev();
        let all: Vec<Value> =
            files.map(|(number, file)| describe(dialect, *number, file)).collect();
        // Mistral's files are like OpenAI's, but its pages have numbers.
        let dialect = match (dialect, query_value(uri, "page")) {
            (Dialect::Purpose, Some(_)) => Dialect::Jobs,
            _ => dialect,
        };
        write::page(dialect, "files", all, |name| query_value(uri, name))
    }

    pub(super) fn describe_file(&self, dialect: Dialect, id: &str) -> Result<Value> {
        let stored = self.lock();
        let (number, file) = stored.file(id)?;
        Ok(describe(dialect, number, file))
    }

    pub(super) fn delete_file(&self, dialect: Dialect, id: &str) -> Result<Value> {
        let mut stored = self.lock();
        let number = stored.file(id)?.0;
        if let Some(file) = stored.files.remove(&number) {
            stored.bytes -= file.content.len();
        }
        Ok(match dialect {
            Dialect::Purpose | Dialect::Jobs => {
                json!({ "id": id, "object": "file", "deleted": true })
            }
            Dialect::Messages => json!({ "id": id, "type": "file_deleted" }),
            Dialect::Operations => json!({}),
        })
    }

    pub(super) fn content(&self, id: &str) -> Result<Bytes> {
        Ok(self.lock().file(id)?.1.content.clone())
    }
}

fn describe(dialect: Dialect, number: u64, file: &StoredContent) -> Value {
    let id = format!("file-{number}");
    let (bytes, moment) = (file.content.len(), FIRST_MOMENT + number);
    match dialect {
        Dialect::Purpose | Dialect::Jobs => json!({
            "id": id, "object": "file", "bytes": bytes, "created_at": moment, "filename": file.name,
            "purpose": file.purpose, "status": "processed",
        }),
        Dialect::Messages => json!({
            "id": id, "type": "file", "filename": file.name, "mime_type": file.mime_type,
            "size_bytes": bytes, "created_at": write::time(moment), "downloadable": true,
        }),
        Dialect::Operations => json!({
            "name": format!("files/{id}"), "displayName": file.name, "mimeType": file.mime_type,
            "sizeBytes": bytes.to_string(), "createTime": write::time(moment), "state": "ACTIVE",
            "uri": format!("sim://local/v1/files/{id}"),
        }),
    }
}
