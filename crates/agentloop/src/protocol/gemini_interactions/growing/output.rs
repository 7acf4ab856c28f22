//! The output of the model: its contents, one after the other.

use std::borrow::Cow;
use std::mem::{size_of, take};

use serde_json::{Map, Value};

use super::held::{opaque, take_word};
use super::{is_blank, list, put_state, step_state, tree, unreadable, value};
use crate::chat::{
    FilePart, ImagePart, PartDelta, PartStart, ProviderState, ResponsePart, Warning, Weight as _,
};
use crate::error::Result;
use crate::nesting;
use crate::protocol::Emitter;
use crate::protocol::base64_join::Base64Joiner;
use crate::protocol::fields::Fields;
use crate::protocol::google::offsets::Texts;
use crate::protocol::json::{fill_json, mended};
use crate::protocol::lenient::List;

use super::super::citations;

/// An output that is not finished.
#[derive(Debug, Default)]
pub(super) struct Output {
    growing: Growing,
    /// The fields of the step that are for its first part.
    rest: Map<String, Value>,
    /// The last text, for annotations that follow another content.
    last_text: Option<Text>,
}

/// What the next content may continue.
#[derive(Debug, Default)]
enum Growing {
    #[default]
    Nothing,
    Text(Text),
    Audio {
        part: u32,
        mime_type: String,
        joiner: Base64Joiner,
    },
}

/// A text.
#[derive(Debug)]
struct Text {
    part: u32,
    /// How many bytes of it have arrived, and how many before its last content.
    bytes: usize,
    base: usize,
    /// The text as it was sent, if the response contains another one.
    sent: Option<String>,
    /// Annotations, each with the byte that its offsets count from.
    annotations: Vec<(usize, Value)>,
    charged: usize,
}

impl Output {
    /// Starts an output with the contents that it has. An error of the step is put into `error`.
    pub(super) fn start(
        mut fields: Fields<'_>,
        error: &mut Option<Value>,
        emitter: &mut Emitter,
    ) -> Result<Self> {
        let contents = fields.raw("content");
        if let Some(failure) = fields.raw("error").and_then(value) {
            emitter.charge(failure.weight())?;
            *error = Some(failure);
        }
        for name in ["type", "content", "error"] {
            fields.remove(name);
        }
        let mut rest = tree(fields)?;
        rest.retain(|_, value| !is_blank(value));
        emitter.charge(rest.weight())?;
        let mut output = Self { rest, ..Self::default() };
        if let Some(contents) = contents {
            output.contents(contents.get(), emitter)?;
        }
        Ok(output)
    }

    /// Reads contents. They are emitted one by one, so what a strict parser refuses in any of them is mended first.
    fn contents(&mut self, json: &str, emitter: &mut Emitter) -> Result<()> {
        let mut list = List::<Fields<'_>>::default();
        let mended = match fill_json(json.as_bytes(), &mut list) {
            Err(error) => Some(mended(json.as_bytes(), &error).ok_or(error)?),
            // Only escapes can be wrong in what the lists have not read yet.
            Ok(()) if memchr::memmem::find(json.as_bytes(), b"\\u").is_some() => {
                let error = nesting::read(json).err().map(unreadable);
                error.and_then(|error| mended(json.as_bytes(), &error))
            }
            Ok(()) => None,
        };
        let Some(json) = mended else { return self.listed(list, emitter) };
        let mut list = List::<Fields<'_>>::default();
        fill_json(&json, &mut list)?;
        self.listed(list, emitter)
    }

    fn listed(&mut self, list: List<Fields<'_>>, emitter: &mut Emitter) -> Result<()> {
        for mut content in list.0 {
            self.delta(&mut content, emitter)?;
            self.is_complete();
        }
        Ok(())
    }

    /// Notes that the next text is a content of its own, whose annotations count from its start.
    fn is_complete(&mut self) {
        if let Growing::Text(text) = &mut self.growing {
            text.base = text.bytes;
        }
    }

    /// Adds a content, or a piece of one: they have the same form.
    pub(super) fn delta(&mut self, content: &mut Fields<'_>, emitter: &mut Emitter) -> Result<()> {
        let kind = content.text("type");
        match kind.unwrap_or(if content.text("text").is_some() { "text" } else { "" }) {
            "text" => {
                let text = content.take_text("text").unwrap_or_default();
                self.add_text(text, emitter)?;
                self.annotate(content, emitter)
            }
            "text_annotation_delta" | "text_annotation" => self.annotate(content, emitter),
            "audio" => self.audio(take(content), emitter),
            _ => {
                self.leave(emitter)?;
                let content = tree(take(content))?;
                let part = self.medium(content, emitter);
                emitter.whole(0, part)
            }
        }
    }

    pub(super) fn add_text(&mut self, text: Cow<'_, str>, emitter: &mut Emitter) -> Result<()> {
        if text.is_empty() {
            return Ok(());
        }
        if !matches!(self.growing, Growing::Text(_)) {
            self.leave(emitter)?;
            let part = emitter.open(0, PartStart::Text {})?;
            put_state(part, self.first_state(emitter), emitter)?;
            let sent = (!emitter.keeps_text()).then(String::new);
            let annotations = Vec::new();
            let text = Text { part, bytes: 0, base: 0, sent, annotations, charged: 0 };
            self.growing = Growing::Text(text);
        }
        let Growing::Text(open) = &mut self.growing else { return Ok(()) };
        open.bytes += text.len();
        if let Some(sent) = &mut open.sent {
            emitter.charge(text.len())?;
            open.charged += text.len();
            sent.push_str(&text);
        }
        emitter.delta(0, open.part, PartDelta::Text { text: text.into_owned() })
    }

    /// Keeps the annotations of the text until it is complete: their places are counted in it.
    fn annotate(&mut self, content: &Fields<'_>, emitter: &mut Emitter) -> Result<()> {
        let list = match content.raw("annotations") {
            Some(raw) => list(raw),
            None => return Ok(()),
        };
        let text = match &mut self.growing {
            Growing::Text(text) => Some(text),
            _ => self.last_text.as_mut(),
        };
        let Some(text) = text else {
            if !list.is_empty() {
                emitter.warn(Warning::about_response(
                    "the sources of a text that is not there are left out",
                ));
            }
            return Ok(());
        };
        for annotation in list {
            let bytes = size_of::<(usize, Value)>() + annotation.weight();
            emitter.charge(bytes)?;
            text.charged += bytes;
            text.annotations.push((text.base, annotation));
        }
        Ok(())
    }

    /// Adds audio, which may arrive in pieces.
    fn audio(&mut self, content: Fields<'_>, emitter: &mut Emitter) -> Result<()> {
        let word = |name: &str| content.word(name).unwrap_or_default().into_owned();
        let (data, mime_type) = (word("data"), word("mime_type"));
        let goes_on = matches!(&self.growing, Growing::Audio { mime_type: known, .. }
            if mime_type.is_empty() || mime_type == *known);
        if data.is_empty() {
            // A URL, or nothing.
            let uri = word("uri");
            if uri.is_empty() && goes_on {
                return Ok(());
            }
            self.leave(emitter)?;
            let content = tree(content)?;
            let part = self.medium(content, emitter);
            return emitter.whole(0, part);
        }
        if !goes_on {
            self.leave(emitter)?;
            let mut fields = tree(content)?;
            fields.retain(|name, value| name != "data" && !is_blank(value));
            let named = with_rate(&mime_type, &fields);
            let part = emitter.open(0, PartStart::Audio { mime_type: named })?;
            let state = self.content_state(fields, emitter);
            put_state(part, Some(state), emitter)?;
            self.growing = Growing::Audio { part, mime_type, joiner: Base64Joiner::default() };
        }
        match &mut self.growing {
            Growing::Audio { part, joiner, .. } => {
                let data = joiner.push(Cow::Owned(data));
                emitter.delta(0, *part, PartDelta::Audio { data })
            }
            _ => Ok(()),
        }
    }

    /// Returns the part of a content that arrived whole.
    fn medium(&mut self, mut content: Map<String, Value>, emitter: &Emitter) -> ResponsePart {
        let kind = content.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
        let is_known = matches!(kind.as_str(), "image" | "audio" | "video" | "document")
            && ["data", "uri"].iter().any(|name| content.get(*name).is_some_and(Value::is_string));
        if !is_known {
            let mut step = self.take_step();
            step.insert("content".to_owned(), Value::Array(vec![Value::Object(content)]));
            return opaque(kind, step, emitter);
        }
        content.retain(|_, value| !is_blank(value));
        let data = take_word(&mut content, "data");
        let url = Some(take_word(&mut content, "uri")).filter(|uri| !uri.is_empty());
        let word = |name: &str| content.get(name).and_then(Value::as_str).map(str::to_owned);
        let (mime_type, name) = (word("mime_type").unwrap_or_default(), word("name"));
        let provider_state = Some(Box::new(self.content_state(content, emitter)));
        match kind.as_str() {
            "image" => {
                let mime_type =
                    if mime_type.is_empty() { "image/png".to_owned() } else { mime_type };
                ResponsePart::Image(ImagePart { mime_type, data, url, provider_state })
            }
            _ => ResponsePart::File(FilePart { mime_type, data, url, name, provider_state }),
        }
    }

    /// Takes the step of the first part.
    fn take_step(&mut self) -> Map<String, Value> {
        let mut step = Map::from_iter([("type".to_owned(), Value::from("model_output"))]);
        step.extend(take(&mut self.rest));
        step
    }

    /// Returns the state of a text, if the step has fields that must be sent back with it.
    fn first_state(&mut self, emitter: &Emitter) -> Option<ProviderState> {
        (!self.rest.is_empty()).then(|| step_state(self.take_step(), emitter))
    }

    /// Returns the state of a medium: the step, and the content without its data.
    fn content_state(&mut self, content: Map<String, Value>, emitter: &Emitter) -> ProviderState {
        let mut state = step_state(self.take_step(), emitter);
        if let Value::Object(data) = &mut state.data {
            data.insert("content".to_owned(), Value::Object(content));
        }
        state
    }

    /// Closes the part that is open.
    fn leave(&mut self, emitter: &mut Emitter) -> Result<()> {
        match take(&mut self.growing) {
            Growing::Nothing => Ok(()),
            Growing::Text(mut text) => {
                for citation in text.citations(emitter)? {
                    emitter.delta(0, text.part, PartDelta::Citation { citation })?;
                }
                emitter.close(0, text.part, |_| {})?;
                if let Some(mut before) = self.last_text.replace(text) {
                    before.release(emitter);
                }
                Ok(())
            }
            Growing::Audio { part, mut joiner, .. } => {
                if let Some(data) = joiner.finish() {
                    emitter.delta(0, part, PartDelta::Audio { data })?;
                }
                emitter.close(0, part, |_| {})
            }
        }
    }

    pub(super) fn end(mut self, emitter: &mut Emitter) -> Result<()> {
        self.leave(emitter)?;
        let Some(mut text) = self.last_text.take() else { return Ok(()) };
        for citation in text.citations(emitter)? {
            emitter.cite(0, text.part, citation)?;
        }
        text.release(emitter);
        Ok(())
    }
}

impl Text {
    /// Returns the sources that have been named so far.
    fn citations(&mut self, emitter: &mut Emitter) -> Result<Vec<crate::chat::Citation>> {
        if self.annotations.is_empty() {
            return Ok(Vec::new());
        }
        // A copy, because the citations are added to the response whose text they are found in.
        let text = match &self.sent {
            Some(sent) => sent.clone(),
            None => emitter.text(0, self.part).unwrap_or_default().to_owned(),
        };
        emitter.charge(text.len())?;
        let texts = Texts::new(vec![&text]);
        let provider = emitter.provider().to_owned();
        let read = |(base, annotation)| citations::read(annotation, &texts, base, &provider);
        let citations = take(&mut self.annotations).into_iter().map(read).collect();
        emitter.release(text.len());
        Ok(citations)
    }

    fn release(&mut self, emitter: &mut Emitter) {
        emitter.release(take(&mut self.charged));
    }
}

/// Returns the media type of audio, with the rate of its samples if it is raw and the type does not state it.
fn with_rate(mime_type: &str, content: &Map<String, Value>) -> String {
    let rate = content.get("sample_rate").or_else(|| content.get("rate")).and_then(Value::as_u64);
    match rate {
        Some(rate) if mime_type.eq_ignore_ascii_case("audio/l16") => {
            format!("{mime_type};rate={rate}")
        }
        _ => mime_type.to_owned(),
    }
}
