//! Simulated images, speech, transcripts, rankings and moderations. The same request always gets the same response.

use std::collections::BTreeSet;

use agentloop::protocol::serve::ServedTask;
use agentloop::{
    ChatMessage, Error, ErrorKind, GeneratedImage, ImagePart, ImageRequest, ImageResponse,
    ModerateRequest, ModerateResponse, Moderation, RankedDocument, RerankRequest, RerankResponse,
    Result, SpeechRequest, SpeechResponse, Task, TaskResponse, Timestamps, TranscribeRequest,
    TranscribeResponse, TranscriptSegment, TranscriptWord, Usage,
};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::model::{count_words, hash, model_id};
use crate::png;

/// The most images of one response.
const MAX_IMAGES: u32 = 10;

/// The side of an image, in pixels.
const SIDE: u32 = 16;

/// Samples per second.
const RATE: u32 = 8_000;

/// Samples per letter.
const SAMPLES: usize = 160;

/// The most letters that are spoken.
const MAX_SPOKEN: usize = 4_096;

/// The words that are flagged, with their category.
const FLAGGED: [(&str, &str); 3] = [("hate", "hate"), ("kill", "violence"), ("attack", "violence")];

/// Returns the response to a request.
pub(crate) fn perform(served: &ServedTask) -> Result<TaskResponse> {
    Ok(match &served.task {
        Task::Image(request) => TaskResponse::Image(image(request)?),
        Task::Speech(request) => TaskResponse::Speech(speech(request)?),
        Task::Transcribe(request) => TaskResponse::Transcribe(transcribe(request)),
        Task::Rerank(request) => TaskResponse::Rerank(rerank(request)),
        Task::Moderate(request) => TaskResponse::Moderate(moderate(request)),
        _ => return Err(refused("the simulator does not know this modality")),
    })
}

fn refused(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::InvalidRequest, message).with_status(400)
}

fn usage(prompt: u64, completion: u64) -> Option<Usage> {
    let mut usage = Usage::default();
    usage.prompt_tokens = Some(prompt);
    usage.completion_tokens = Some(completion);
    usage.total_tokens = Some(prompt + completion);
    Some(usage)
}

/// Draws images whose colours come from the prompt, and from the images to edit.
fn image(request: &ImageRequest) -> Result<ImageResponse> {
    let count = request.n.unwrap_or(1);
    if !(1..=MAX_IMAGES).contains(&count) {
        return Err(refused(format!("`n` is {count}, but must be from 1 to {MAX_IMAGES}")));
    }
    let edited: u64 =
        request.images.iter().map(|image| hash(&image.data)).fold(0, u64::wrapping_add);
    let mut response = ImageResponse::new(model_id(&request.model), "sim");
    for number in 0..count {
        let seed = hash(format!("{}/{number}/{edited}", request.prompt).as_bytes());
        let mut part = ImagePart::default();
        part.mime_type = "image/png".to_owned();
        part.data = STANDARD.encode(png::draw(SIDE, seed));
        let mut image = GeneratedImage::new(part);
        image.revised_prompt = Some(request.prompt.clone());
        response.images.push(image);
    }
    let drawn = u64::from(SIDE) * u64::from(count);
    response.usage = usage(count_words(&request.prompt), drawn);
    Ok(response)
}

/// Returns a tone for each letter, as a WAV file.
fn speech(request: &SpeechRequest) -> Result<SpeechResponse> {
    if let Some(format) = request.format.as_deref().filter(|format| *format != "wav") {
        return Err(refused(format!(
            "`response_format` is {format}, but the simulator has only wav"
        )));
    }
    let letters: Vec<u8> = request.input.bytes().take(MAX_SPOKEN).collect();
    let mut samples = Vec::with_capacity(letters.len() * SAMPLES * 2);
    for letter in &letters {
        // A square wave whose period is that of the letter.
        let period = 8 + usize::from(letter % 32);
        for at in 0..SAMPLES {
            let sample: i16 = if at % period < period / 2 { 4_000 } else { -4_000 };
            samples.extend_from_slice(&sample.to_le_bytes());
        }
    }
    let mut response = SpeechResponse::new(model_id(&request.model), "sim");
    response.mime_type = "audio/wav".to_owned();
    response.audio = wav(&samples).into();
    Ok(response)
}

fn wav(samples: &[u8]) -> Vec<u8> {
    let length = u32::try_from(samples.len()).unwrap_or(u32::MAX);
    let mut file = Vec::with_capacity(44 + samples.len());
    file.extend_from_slice(b"RIFF");
    file.extend_from_slice(&length.saturating_add(36).to_le_bytes());
    file.extend_from_slice(b"WAVEfmt ");
    file.extend_from_slice(&16_u32.to_le_bytes());
    // Plain samples, one channel.
    file.extend_from_slice(&1_u16.to_le_bytes());
    file.extend_from_slice(&1_u16.to_le_bytes());
    file.extend_from_slice(&RATE.to_le_bytes());
    file.extend_from_slice(&(RATE * 2).to_le_bytes());
    file.extend_from_slice(&2_u16.to_le_bytes());
    file.extend_from_slice(&16_u16.to_le_bytes());
    file.extend_from_slice(b"data");
    file.extend_from_slice(&length.to_le_bytes());
    file.extend_from_slice(samples);
    file
}

/// Returns a sentence about the audio: its size and a number that depends on its bytes.
fn transcribe(request: &TranscribeRequest) -> TranscribeResponse {
    let audio = &request.audio.data;
    let text = format!("Audio of {} bytes, number {:04x}.", audio.len(), hash(audio) & 0xffff);
    let mut response = TranscribeResponse::new(model_id(&request.model), "sim");
    let words: Vec<&str> = text.split(' ').collect();
    // Half a second each.
    let time = |at: usize| at as f64 / 2.0;
    response.duration = Some(time(words.len()));
    response.language = Some(request.language.clone().unwrap_or_else(|| "en".to_owned()));
    if request.timestamps.contains(&Timestamps::Word) {
        let word = |(at, word): (usize, &&str)| TranscriptWord::new(*word, time(at), time(at + 1));
        response.words = words.iter().enumerate().map(word).collect();
    }
    if request.timestamps.contains(&Timestamps::Segment) {
        response.segments = vec![TranscriptSegment::new(&text, 0.0, time(words.len()))];
    }
    response.usage = usage(words.len() as u64, words.len() as u64);
    response.text = text;
    response
}

/// Scores a document by the share of the query's words that it has.
fn rerank(request: &RerankRequest) -> RerankResponse {
    let words = |text: &str| -> BTreeSet<String> {
        let split = text.split(|letter: char| !letter.is_alphanumeric());
        split.filter(|word| !word.is_empty()).map(str::to_lowercase).collect()
    };
    let query = words(&request.query);
    let score = |document: &String| {
        let common = words(document).intersection(&query).count();
        common as f64 / query.len().max(1) as f64
    };
    let scored = request.documents.iter().map(score).enumerate();
    let mut response = RerankResponse::new(model_id(&request.model), "sim");
    response.results = scored.map(|(index, score)| RankedDocument::new(index, score)).collect();
    response.results.sort_by(|one, other| other.score.total_cmp(&one.score));
    if let Some(most) = request.top_n {
        response.results.truncate(most as usize);
    }
    response.search_units = Some(1);
    response
}

/// Flags texts that contain certain words.
fn moderate(request: &ModerateRequest) -> ModerateResponse {
    let mut response = ModerateResponse::new(model_id(&request.model), "sim");
    response.results = if request.messages.is_empty() {
        request.input.iter().map(|input| judge(&input.text())).collect()
    } else {
        let texts: Vec<String> = request.messages.iter().map(ChatMessage::text).collect();
        vec![judge(&texts.join("\n"))]
    };
    response
}

/// Flags the words of [`FLAGGED`].
fn judge(text: &str) -> Moderation {
    let text = text.to_lowercase();
    Moderation::new(["hate", "violence"].map(|category| {
        let is_of = |(word, known): &&(&str, &str)| *known == category && text.contains(word);
        let applies = FLAGGED.iter().any(|entry| is_of(&entry));
        (category, applies, if applies { 0.9 } else { 0.1 })
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prompt_always_gets_the_same_image_and_another_prompt_another_one() {
        let draw = |prompt: &str| {
            let response = image(&ImageRequest::new("image", prompt).n(2)).unwrap();
            response.images.into_iter().map(|image| image.part.data).collect::<Vec<_>>()
        };
        assert_eq!(draw("a"), draw("a"));
        assert_ne!(draw("a")[0], draw("a")[1]);
        assert_ne!(draw("a"), draw("b"));
        assert!(image(&ImageRequest::new("image", "a").n(u32::MAX)).is_err());
        assert!(image(&ImageRequest::new("image", "a").n(0)).is_err());
    }

    #[test]
    fn speech_is_bounded_however_long_the_text_is() {
        let response = speech(&SpeechRequest::new("speech", "x".repeat(1 << 20))).unwrap();
        assert_eq!(response.audio.len(), 44 + MAX_SPOKEN * SAMPLES * 2);
        assert!(speech(&SpeechRequest::new("speech", "x").format("mp3")).is_err());
    }
}
