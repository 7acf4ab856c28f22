//! Reads requests.

use bytes::Bytes;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::{ServedTask, TaskForm, route_task};
use crate::chat::{
    ChatMessage, ContentPart, ImageRequest, MediaFile, MessageContent, Modality, ModerateRequest,
    RerankRequest, SpeechRequest, Task, Timestamps, TranscribeRequest,
};
use crate::error::{Error, ErrorKind, Result};
use crate::media::DataUrl;
use crate::protocol::multipart::{FormPart, read_form};
use crate::protocol::serve::known::read_object;

/// Reads a request: its path, the value of its `content-type` header, and its body, which is JSON or a form.
///
/// ```
/// use agentloop::Task;
/// use agentloop::protocol::serve::read_task;
///
/// let body = br#"{"model":"m","query":"a","documents":["b",{"text":"c"}],"top_n":1}"#;
/// let served = read_task("/v1/rerank", "application/json", &body.to_vec().into())?;
/// let Task::Rerank(request) = served.task else { panic!("the path is that of a ranking") };
/// assert_eq!(request.documents, ["b", "c"]);
/// # Ok::<(), agentloop::Error>(())
/// ```
///
/// # Errors
///
/// Fails if the path is of no modality, the body cannot be read, a required field is missing, or a field has the wrong type. The error
/// names the field.
pub fn read_task(path: &str, content_type: &str, body: &Bytes) -> Result<ServedTask> {
    let Some(modality) = route_task(&http::Method::POST, path) else {
        let message = format!("{path} is not the path of a modality");
        return Err(Error::new(ErrorKind::NotFound, message).with_status(404));
    };
    let is_form = content_type
        .trim_start()
        .get(..10)
        .is_some_and(|start| start.eq_ignore_ascii_case("multipart/"));
    let mut fields = if is_form {
        Fields::of_form(content_type, body)?
    } else {
        Fields { json: read_object(body)?, ..Fields::default() }
    };
    let path = path.split('?').next().unwrap_or_default().trim_end_matches('/');
    let mut stream = false;
    let mut form = TaskForm::Usual;
    let task = match modality {
        Modality::Image => {
            stream = fields.take("stream")?.unwrap_or(false);
            Task::Image(fields.image(path.ends_with("/edits"), stream)?)
        }
        Modality::Speech => {
            stream = fields.take::<String>("stream_format")?.as_deref() == Some("sse");
            Task::Speech(fields.speech()?)
        }
        Modality::Transcription => {
            stream = fields.take("stream")?.unwrap_or(false);
            let translate = path.ends_with("/translations");
            let (request, wanted) = fields.transcribe(translate)?;
            form = wanted;
            Task::Transcribe(request)
        }
        Modality::Rerank => Task::Rerank(fields.rerank()?),
        Modality::Moderation => {
            Task::Moderate(fields.moderate(path.ends_with("/chat/moderations"))?)
        }
    };
    Ok(ServedTask { task, form, stream })
}

/// The fields and the files of a request.
#[derive(Default)]
struct Fields {
    json: Map<String, Value>,
    files: Vec<(String, MediaFile)>,
    is_form: bool,
}

fn invalid(name: &str, why: impl std::fmt::Display) -> Error {
    Error::new(ErrorKind::InvalidRequest, format!("`{name}`: {why}"))
        .with_status(400)
        .with_param(name)
}

impl Fields {
    fn of_form(content_type: &str, body: &Bytes) -> Result<Self> {
        let parts = read_form(content_type, body).map_err(|error| error.with_status(400))?;
        let mut fields = Self { is_form: true, ..Self::default() };
        for FormPart { name, filename, content_type, data } in parts {
            let plain = name.strip_suffix("[]").unwrap_or(&name);
            if filename.is_some() {
                let mut file = MediaFile::default();
                (file.filename, file.mime_type, file.data) = (filename, content_type, data);
                fields.files.push((plain.to_owned(), file));
                continue;
            }
            let text =
                String::from_utf8(data.to_vec()).map_err(|_| invalid(&name, "it is not UTF-8"))?;
            // A field that occurs several times is a list.
            match fields.json.get_mut(plain) {
                Some(Value::Array(values)) => values.push(Value::String(text)),
                Some(first) => {
                    *first = Value::Array(vec![first.take(), Value::String(text)]);
                }
                None if plain.len() < name.len() => {
                    fields.json.insert(plain.to_owned(), Value::Array(vec![Value::String(text)]));
                }
                None => {
                    fields.json.insert(plain.to_owned(), Value::String(text));
                }
            }
        }
        Ok(fields)
    }

    /// Takes a field. In a form, numbers and truth values are text.
    fn take<T: DeserializeOwned>(&mut self, name: &str) -> Result<Option<T>> {
        let value = match self.json.remove(name) {
            None | Some(Value::Null) => return Ok(None),
            Some(value) => value,
        };
        let read = match &value {
            Value::String(text) if self.is_form => T::deserialize(&value)
                .or_else(|error| serde_json::from_str(text).map_err(|_| error)),
            _ => T::deserialize(&value),
        };
        read.map(Some).map_err(|error| invalid(name, error))
    }

    fn required<T: DeserializeOwned>(&mut self, name: &str) -> Result<T> {
        self.take(name)?.ok_or_else(|| invalid(name, "it is required"))
    }

    fn files(&mut self, name: &str) -> Vec<MediaFile> {
        let (taken, rest) =
            std::mem::take(&mut self.files).into_iter().partition(|(known, _)| known == name);
        self.files = rest;
        taken.into_iter().map(|(_, file)| file).collect()
    }

    /// Takes the only file of that name. Of several, none is the right one.
    fn file(&mut self, name: &str) -> Result<Option<MediaFile>> {
        let mut files = self.files(name);
        match files.len() {
            0 | 1 => Ok(files.pop()),
            count => Err(invalid(name, format!("one file is expected, not {count}"))),
        }
    }

    /// Returns the fields that the library does not know. Files among them are an error.
    fn rest(&mut self) -> Result<Map<String, Value>> {
        if let Some((name, _)) = self.files.first() {
            return Err(invalid(name, "a file is not expected here"));
        }
        let mut rest = std::mem::take(&mut self.json);
        rest.retain(|_, value| !value.is_null());
        Ok(rest)
    }

    fn image(&mut self, is_edit: bool, stream: bool) -> Result<ImageRequest> {
        #[derive(Deserialize)]
        struct Reference {
            image_url: Option<String>,
        }
        let of_url = |name: &str, reference: Reference| match reference.image_url {
            Some(url) => file_of_url(name, url),
            None => Err(invalid(name, "an `image_url` is required; file ids are not supported")),
        };
        if is_edit && stream {
            return Err(invalid("stream", "edits are not streamed"));
        }
        let mut request = ImageRequest::new(
            self.take::<String>("model")?.unwrap_or_default(),
            self.required::<String>("prompt")?,
        );
        request.n = self.take("n")?;
        request.size = self.take("size")?;
        request.aspect_ratio = self.take("aspect_ratio")?;
        request.quality = self.take("quality")?;
        request.background = self.take("background")?;
        request.output_format = self.take("output_format")?;
        request.seed = self.take("seed")?;
        let partial: Option<u32> = self.take("partial_images")?;
        // A stream without unfinished images is one too.
        request.partial_images = if stream { partial.or(Some(0)) } else { None };
        request.user_id = self.take("user")?;
        // Whether bytes or URLs are returned depends on the provider; clients read both.
        let _: Option<Value> = self.take("response_format")?;
        if is_edit {
            request.images = self.files("image");
            request.mask = self.file("mask")?;
            for reference in self.take::<Vec<Reference>>("images")?.unwrap_or_default() {
                request.images.push(of_url("images", reference)?);
            }
            if let Some(mask) = self.take::<Reference>("mask")? {
                if request.mask.is_some() {
                    return Err(invalid("mask", "it is given twice"));
                }
                request.mask = Some(of_url("mask", mask)?);
            }
            if request.images.is_empty() {
                return Err(invalid("image", "it is required"));
            }
        }
        request.extra_body = self.rest()?;
        Ok(request)
    }

    fn speech(&mut self) -> Result<SpeechRequest> {
        let mut request = SpeechRequest::new(
            self.take::<String>("model")?.unwrap_or_default(),
            self.required::<String>("input")?,
        );
        request.voice = match self.take::<Value>("voice")? {
            Some(Value::String(voice)) => Some(voice),
            Some(Value::Object(mut voice)) => match voice.remove("id") {
                Some(Value::String(id)) => Some(id),
                _ => return Err(invalid("voice", "a name or an object with an `id` is expected")),
            },
            Some(_) => return Err(invalid("voice", "a name is expected")),
            None => None,
        };
        request.instructions = self.take("instructions")?;
        request.format = self.take("response_format")?;
        request.speed = self.take("speed")?;
        request.extra_body = self.rest()?;
        Ok(request)
    }

    fn transcribe(&mut self, translate: bool) -> Result<(TranscribeRequest, TaskForm)> {
        let audio = match (self.file("file")?, self.take::<String>("url")?) {
            (Some(_), Some(_)) => return Err(invalid("url", "there is a file too")),
            (Some(file), None) => file,
            (None, Some(url)) => file_of_url("url", url)?,
            (None, None) => return Err(invalid("file", "it is required")),
        };
        let mut request =
            TranscribeRequest::new(self.take::<String>("model")?.unwrap_or_default(), audio);
        request.language = self.take("language")?;
        request.prompt = self.take("prompt")?;
        request.temperature = self.take("temperature")?;
        request.translate = translate;
        request.timestamps = match self.take::<Value>("timestamp_granularities")? {
            None => Vec::new(),
            Some(Value::Array(values)) => Vec::deserialize(Value::Array(values))
                .map_err(|error| invalid("timestamp_granularities", error))?,
            Some(one) => vec![
                Timestamps::deserialize(one)
                    .map_err(|error| invalid("timestamp_granularities", error))?,
            ],
        };
        let form = match self.take::<String>("response_format")?.as_deref() {
            None | Some("json") => TaskForm::Usual,
            Some("text") => TaskForm::Text,
            Some(subtitles @ ("srt" | "vtt")) => {
                request.timestamps = vec![Timestamps::Segment];
                if subtitles == "srt" { TaskForm::Srt } else { TaskForm::Vtt }
            }
            Some("verbose_json" | "diarized_json") => {
                if request.timestamps.is_empty() {
                    request.timestamps.push(Timestamps::Segment);
                }
                TaskForm::Verbose
            }
            Some(other) => {
                let why =
                    format!("`{other}` is not supported; use json, text, verbose_json, srt or vtt");
                return Err(invalid("response_format", why));
            }
        };
        request.extra_body = self.rest()?;
        Ok((request, form))
    }

    fn rerank(&mut self) -> Result<RerankRequest> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Document {
            Text(String),
            Object { text: String },
        }
        let documents: Vec<Document> = self.required("documents")?;
        let documents = documents.into_iter().map(|document| match document {
            Document::Text(text) | Document::Object { text } => text,
        });
        let mut request = RerankRequest::new(
            self.take::<String>("model")?.unwrap_or_default(),
            self.required::<String>("query")?,
            documents,
        );
        request.top_n = self.take("top_n")?;
        // The client has the documents.
        let _: Option<Value> = self.take("return_documents")?;
        request.extra_body = self.rest()?;
        Ok(request)
    }

    /// Reads inputs, or at Mistral's path a conversation.
    fn moderate(&mut self, is_conversation: bool) -> Result<ModerateRequest> {
        let wrong = |error| invalid("input", error);
        if is_conversation {
            let messages = match self.required::<Value>("input")? {
                // One conversation, or a list with one.
                Value::Array(mut items) if items.first().is_some_and(Value::is_array) => {
                    if items.len() > 1 {
                        return Err(invalid(
                            "input",
                            "only one conversation is moderated at a time",
                        ));
                    }
                    items.swap_remove(0)
                }
                items => items,
            };
            let messages = Vec::<ChatMessage>::deserialize(messages).map_err(wrong)?;
            if messages.is_empty() {
                return Err(invalid("input", "the conversation has no messages"));
            }
            let model = self.take::<String>("model")?.unwrap_or_default();
            let mut request = ModerateRequest::conversation(model, messages);
            request.extra_body = self.rest()?;
            return Ok(request);
        }
        let input = match self.required::<Value>("input")? {
            Value::String(text) => vec![MessageContent::from(text)],
            Value::Array(items) if items.iter().all(Value::is_string) => {
                let texts = Vec::<String>::deserialize(Value::Array(items)).map_err(wrong)?;
                texts.into_iter().map(MessageContent::from).collect()
            }
            items => {
                let parts = Vec::<ContentPart>::deserialize(items).map_err(wrong)?;
                vec![MessageContent::Parts(parts)]
            }
        };
        let model = self.take::<String>("model")?.unwrap_or_default();
        let mut request = ModerateRequest::new(model, input);
        request.extra_body = self.rest()?;
        Ok(request)
    }
}

/// Returns the file of a URL; the bytes of a data URL.
fn file_of_url(name: &str, url: String) -> Result<MediaFile> {
    let Some(data) = DataUrl::parse(&url) else {
        return Ok(MediaFile::from_url(url));
    };
    let bytes = data.bytes().map_err(|error| invalid(name, error.message()))?;
    let mime_type = data.known_mime().map(std::borrow::Cow::into_owned);
    Ok(MediaFile { mime_type, data: bytes.into(), ..MediaFile::default() })
}
