//! Reads transcripts: `json`, `verbose_json`, with or without speakers, and plain text.

use serde::Deserialize;

use crate::chat::{TaskResponse, TranscribeResponse, TranscriptSegment, TranscriptWord};
use crate::error::Result;
use crate::protocol::ReportedCost;
use crate::protocol::lenient::{Float, Many, Object, Text};
use crate::protocol::task::{Reader, TaskDecoded, WireUsage};

/// A transcript as providers write it, complete or in the last event of a stream.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(in crate::protocol) struct Wire<'a> {
    #[serde(borrow)]
    model: Text<'a>,
    #[serde(borrow)]
    pub(in crate::protocol) text: Text<'a>,
    #[serde(borrow)]
    language: Text<'a>,
    #[serde(borrow)]
    languages: Option<Many<Language<'a>>>,
    duration: Float,
    #[serde(borrow)]
    segments: Option<Many<Segment<'a>>>,
    #[serde(borrow)]
    words: Option<Many<Word<'a>>>,
    #[serde(borrow)]
    usage: Object<WireUsage<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Language<'a> {
    #[serde(borrow)]
    code: Text<'a>,
    #[serde(borrow)]
    language: Text<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Segment<'a> {
    #[serde(borrow)]
    text: Text<'a>,
    start: Float,
    end: Float,
    #[serde(borrow)]
    speaker: Text<'a>,
    #[serde(borrow)]
    speaker_id: Text<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Word<'a> {
    #[serde(borrow)]
    word: Text<'a>,
    start: Float,
    end: Float,
}

impl Wire<'_> {
    /// Returns the response, with the cost that the provider names.
    pub(in crate::protocol) fn response(self) -> (TranscribeResponse, ReportedCost) {
        let usage = self.usage.0.unwrap_or_default();
        let mut response = TranscribeResponse {
            text: self.text.0.unwrap_or_default().into_owned(),
            model: self.model.into_non_empty().unwrap_or_default().into_owned(),
            ..TranscribeResponse::default()
        };
        let listed = || {
            let first = self.languages?.0.into_iter().next()?;
            first.code.into_non_empty().or(first.language.into_non_empty())
        };
        let language = self.language.into_non_empty().or_else(listed);
        response.language = language.map(std::borrow::Cow::into_owned);
        response.duration = self.duration.0.filter(|seconds| *seconds >= 0.0).or(usage.seconds());
        for segment in self.segments.map(|segments| segments.0).unwrap_or_default() {
            // A segment without times is of no use; its text is in the whole text.
            let (Some(start), Some(end)) = (segment.start.0, segment.end.0) else { continue };
            let text = segment.text.0.unwrap_or_default();
            let mut read = TranscriptSegment::new(text, start, end);
            let speaker = segment.speaker.into_non_empty().or(segment.speaker_id.into_non_empty());
            read.speaker = speaker.map(std::borrow::Cow::into_owned);
            response.segments.push(read);
        }
        for word in self.words.map(|words| words.0).unwrap_or_default() {
            let (Some(start), Some(end)) = (word.start.0, word.end.0) else { continue };
            response.words.push(TranscriptWord::new(word.word.0.unwrap_or_default(), start, end));
        }
        response.usage = usage.tokens();
        (response, usage.cost())
    }
}

pub(in crate::protocol) fn decode(reader: &Reader<'_>) -> Result<TaskDecoded> {
    let bare = crate::protocol::json::bare(reader.body);
    // `response_format` may have been set to text.
    if reader.mime() == "text/plain" && !bare.starts_with(b"{") {
        let text = String::from_utf8_lossy(bare).into_owned();
        let response = TranscribeResponse { text, ..TranscribeResponse::default() };
        let cost = ReportedCost::Absent;
        return Ok(TaskDecoded { response: TaskResponse::Transcribe(response), cost });
    }
    let wire: Wire<'_> = reader.json()?;
    if wire.text.0.is_none() {
        return Err(reader.broken("the response has no text"));
    }
    let (response, cost) = wire.response();
    Ok(TaskDecoded { response: TaskResponse::Transcribe(response), cost })
}
