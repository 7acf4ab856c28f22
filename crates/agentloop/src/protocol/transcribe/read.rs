//! Reads transcripts: `json`, `verbose_json`, with or without speakers, and plain text.

use serde::Deserialize;

use crate::chat::{
    TaskResponse, Timestamps, TranscribeRequest, TranscribeResponse, TranscriptSegment,
    TranscriptWord, Warning, WarningKind,
};
use crate::error::Result;
use crate::protocol::ReportedCost;
use crate::protocol::lenient::{Float, Many, Object, Text};
use crate::protocol::task::{Reader, TaskDecoded, WireUsage};
use crate::provider::quirks::TranscriptionForm;

/// A transcript as providers write it, complete or in the last event of a stream.
#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(in crate::protocol) struct Wire<'a> {
    model: Text<'a>,
    pub(in crate::protocol) text: Text<'a>,
    language: Text<'a>,
    languages: Option<Many<Language<'a>>>,
    duration: Float,
    segments: Option<Many<Segment<'a>>>,
    words: Option<Many<Word<'a>>>,
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
#[serde(default, bound(deserialize = "'de: 'a"))]
struct Segment<'a> {
    text: Text<'a>,
    start: Float,
    end: Float,
    speaker: Text<'a>,
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
    ///
    /// Whisper puts a space before each word. Some servers leave it there (faster-whisper-server 0.0.3 before the text, open-asr-server
    /// 0.3.0 before each word; seen on 2026-11-18), OpenAI does not.
    pub(in crate::protocol) fn response(self) -> (TranscribeResponse, ReportedCost) {
        let usage = self.usage.0.unwrap_or_default();
        let mut response = TranscribeResponse {
            text: self.text.0.unwrap_or_default().trim_start().to_owned(),
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
            let text = word.word.0.unwrap_or_default();
            response.words.push(TranscriptWord::new(text.trim(), start, end));
        }
        response.usage = usage.tokens();
        (response, usage.cost())
    }
}

/// Warns of times that were requested and did not arrive. faster-whisper-server 0.0.3, for example, ignores the request for those of
/// words (seen on 2026-11-18).
fn warn_of_missing_times(asked: &[Timestamps], response: &mut TranscribeResponse) {
    // Silence has no times.
    if response.text.trim().is_empty() {
        return;
    }
    for (pieces, name, is_missing) in [
        (Timestamps::Word, "words", response.words.is_empty()),
        (Timestamps::Segment, "segments", response.segments.is_empty()),
    ] {
        if is_missing && asked.contains(&pieces) {
            let message = format!("timestamps: the provider returned no times of {name}");
            response.warnings.push(Warning::new(WarningKind::Response, "timestamps", message));
        }
    }
}

/// Returns the times that the call for the transcript asks the provider for.
fn asked_times(form: TranscriptionForm, request: &TranscribeRequest) -> Vec<Timestamps> {
    let has_words = form != TranscriptionForm::Segments && !request.translate;
    let asked = request.timestamps.iter().copied();
    asked.filter(|pieces| has_words || *pieces != Timestamps::Word).collect()
}

pub(in crate::protocol) fn decode(
    reader: &Reader<'_>,
    request: &TranscribeRequest,
) -> Result<TaskDecoded> {
    let bare = crate::protocol::json::bare(reader.body);
    // `response_format` may have been set to text or to subtitles.
    if matches!(reader.mime().as_str(), "text/plain" | "text/vtt") && !bare.starts_with(b"{") {
        let text = String::from_utf8_lossy(bare).into_owned();
        let response = TranscribeResponse { text, ..TranscribeResponse::default() };
        let cost = ReportedCost::Absent;
        return Ok(TaskDecoded { response: TaskResponse::Transcribe(response), cost });
    }
    let wire: Wire<'_> = reader.json()?;
    if wire.text.0.is_none() {
        return Err(reader.broken("the response has no text"));
    }
    let (mut response, cost) = wire.response();
    let form = reader.provider.quirks.tasks.transcription;
    warn_of_missing_times(&asked_times(form, request), &mut response);
    Ok(TaskDecoded { response: TaskResponse::Transcribe(response), cost })
}
