//! What a request is expected to use, from its bytes.

use agentloop::limits::LIMITS_MEDIUM_TOKENS;
use agentloop::{ModelData, Protocol, Task};

use crate::body::RequestBody;
use crate::body::scan::fields;

/// Bytes of text per token, about as the tokenizers of large models have it.
const BYTES_PER_TOKEN: u64 = 4;

/// The tokens that are reserved for a response of which neither the request nor a setting limits the length: at most these, if
/// the model can write more.
pub(crate) const RESERVE_TOKENS: u64 = 16_384;

/// The tokens that are reserved if the longest response of the model is not known either.
pub(crate) const RESERVE_UNKNOWN: u64 = 8_192;

/// The tokens that a response is expected to have for limits per minute, if the request does not limit it.
const USUAL_RESPONSE: u64 = 1_000;

/// Tokens of speech for each byte of its text. Gemini counts 32 for a second (ai.google.dev/gemini-api/docs/audio, read on 2026-11-18), in which about
/// 14 letters are spoken.
const SPEECH_TOKENS_PER_BYTE: u64 = 2;

/// Bytes of audio for each token: 32 tokens for a second, which has at least 2,000 bytes in formats for speech.
const AUDIO_BYTES_PER_TOKEN: u64 = 64;

/// How far apart the bytes are that are looked at to find media. A medium of twice this length is always found, and a shorter one
/// counts as text.
const STRIDE: usize = 2_048;

/// How many bytes in a row must look like base64.
const SAMPLE: usize = 64;

/// What a request is expected to use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Estimate {
    /// The tokens of the prompt.
    pub(crate) prompt: u64,
    /// The most tokens of one response, if the request limits them.
    pub(crate) limit: Option<u64>,
    /// The number of responses.
    pub(crate) choices: u64,
    /// The service tier that the request asks for.
    pub(crate) tier: Option<String>,
}

impl Estimate {
    /// Estimates a chat request.
    ///
    /// The prompt counts a quarter of the bytes of the body, and a fixed number of tokens for each medium in it. What a provider
    /// adds to it by itself (a conversation that it keeps, a file or an image that it downloads) is not in the body.
    pub(crate) fn of_chat(body: &RequestBody, protocol: Protocol) -> Self {
        let mut limits = Limits::default();
        if protocol == Protocol::Gemini {
            for name in ["generationConfig", "generation_config"] {
                let Some(config) = body.value(name) else { continue };
                for (name, value) in fields(config).unwrap_or_default() {
                    match &config[name] {
                        b"maxOutputTokens" | b"max_output_tokens" => limits.tokens(&config[value]),
                        b"candidateCount" | b"candidate_count" => limits.choices(&config[value]),
                        _ => {}
                    }
                }
            }
        } else {
            for name in ["max_tokens", "max_completion_tokens", "max_output_tokens"] {
                body.value(name).into_iter().for_each(|value| limits.tokens(value));
            }
            body.value("n").into_iter().for_each(|value| limits.choices(value));
        }
        Self {
            prompt: prompt_tokens(&body.bytes),
            limit: limits.tokens,
            choices: limits.choices.unwrap_or(1).max(1),
            tier: body.text("service_tier"),
        }
    }

    /// Estimates a request for embeddings, whose response has no tokens.
    pub(crate) fn of_embed(body: &RequestBody) -> Self {
        let prompt = of_bytes(body.bytes.len());
        Self { prompt, limit: Some(0), choices: 1, tier: None }
    }

    /// Estimates a request of another modality. For images and transcripts as much is reserved as for the response to a chat without a limit.
    pub(crate) fn of_task(task: &Task) -> Self {
        let media = |count: usize| LIMITS_MEDIUM_TOKENS.saturating_mul(count as u64);
        let (prompt, limit, choices) = match task {
            Task::Image(request) => {
                let edited = media(request.images.len() + usize::from(request.mask.is_some()));
                (
                    of_bytes(request.prompt.len()).saturating_add(edited),
                    None,
                    request.n.unwrap_or(1),
                )
            }
            Task::Speech(request) => {
                (of_bytes(request.input.len()), Some(of_speech(request.input.len())), 1)
            }
            Task::Transcribe(request) => {
                ((request.audio.data.len() as u64).div_ceil(AUDIO_BYTES_PER_TOKEN), None, 1)
            }
            Task::Rerank(request) => {
                let documents: usize = request.documents.iter().map(String::len).sum();
                let queries = request.query.len().saturating_mul(request.documents.len());
                (of_bytes(queries.saturating_add(documents)), Some(0), 1)
            }
            // Moderation costs nothing with the providers that have it.
            _ => (0, Some(0), 1),
        };
        Self { prompt, limit, choices: u64::from(choices.max(1)), tier: None }
    }

    /// Returns how many bytes of text the response to a task counts as, if its bytes are not text.
    pub(crate) fn of_response(task: &Task) -> Option<usize> {
        let tokens = match task {
            Task::Image(request) => {
                LIMITS_MEDIUM_TOKENS.saturating_mul(u64::from(request.n.unwrap_or(1).max(1)))
            }
            Task::Speech(request) => of_speech(request.input.len()),
            Task::Transcribe(_) => return None,
            _ => 0,
        };
        usize::try_from(tokens.saturating_mul(BYTES_PER_TOKEN)).ok()
    }

    /// Returns the tokens that are reserved for the response: what the request allows, else the longest response of the model and
    /// at most `reserve_tokens`.
    pub(crate) fn response(&self, model: Option<&ModelData>, reserve_tokens: Option<u64>) -> u64 {
        let each =
            self.limit.unwrap_or_else(|| match model.and_then(|model| model.max_output_tokens) {
                Some(longest) => longest.min(reserve_tokens.unwrap_or(RESERVE_TOKENS)),
                None => reserve_tokens.unwrap_or(RESERVE_UNKNOWN),
            });
        each.saturating_mul(self.choices)
    }

    /// Returns the tokens that the request takes of limits per minute, until its usage is known.
    pub(crate) fn tokens(&self) -> u64 {
        let response = self.limit.unwrap_or(USUAL_RESPONSE).saturating_mul(self.choices);
        self.prompt.saturating_add(response)
    }
}

/// Estimates the tokens of the speech of so many bytes of text.
fn of_speech(bytes: usize) -> u64 {
    SPEECH_TOKENS_PER_BYTE.saturating_mul(bytes as u64)
}

/// Estimates the tokens of so many bytes of text, rounded up.
pub(crate) fn of_bytes(bytes: usize) -> u64 {
    (bytes as u64).div_ceil(BYTES_PER_TOKEN)
}

/// The largest of several limits of one request counts: which of them the provider applies is not known.
#[derive(Default)]
struct Limits {
    tokens: Option<u64>,
    choices: Option<u64>,
}

impl Limits {
    fn tokens(&mut self, value: &[u8]) {
        self.tokens = self.tokens.max(number(value));
    }

    fn choices(&mut self, value: &[u8]) {
        self.choices = self.choices.max(number(value));
    }
}

/// Reads a whole number. Others are refused by the provider.
fn number(value: &[u8]) -> Option<u64> {
    if let Ok(number) = serde_json::from_slice(value) {
        return Some(number);
    }
    // `4096.0` and `1e3` are whole numbers, too.
    let number: f64 = serde_json::from_slice(value).ok()?;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it saturates")]
    (number >= 0.0).then_some(number.ceil() as u64)
}

/// Estimates the tokens of a body. Only few of its bytes are read.
fn prompt_tokens(body: &[u8]) -> u64 {
    let (mut text, mut media) = (body.len(), 0_u64);
    let mut at = STRIDE;
    while let Some(sample) = body.get(at..at + SAMPLE) {
        if !sample.iter().all(|byte| is_base64(*byte)) {
            at += STRIDE;
            continue;
        }
        let start = memchr::memrchr(b'"', &body[..at]).map_or(0, |quote| quote + 1);
        let end = memchr::memchr(b'"', &body[at..]).map_or(body.len(), |quote| at + quote);
        if is_medium(body, start) {
            text = text.saturating_sub(end - start);
            media += 1;
        }
        at = end.max(at) + STRIDE;
    }
    of_bytes(text).saturating_add(media.saturating_mul(LIMITS_MEDIUM_TOKENS))
}

/// Returns whether the string that begins at `start` is a data URL, or the value of a field named `data`. Other long words are
/// text: a signature or encrypted reasoning counts as a part of the prompt.
fn is_medium(body: &[u8], start: usize) -> bool {
    if body[start..].starts_with(b"data:") {
        return true;
    }
    let before = body[..start].strip_suffix(b"\"").unwrap_or_default().trim_ascii_end();
    let name = before.strip_suffix(b":").unwrap_or_default().trim_ascii_end();
    name.ends_with(b"\"data\"") || name.ends_with(b"\"file_data\"")
}

fn is_base64(byte: u8) -> bool {
    // Some clients write `/` as `\/`, and some use the alphabet of URLs.
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=' | b'-' | b'_' | b'\\')
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use proptest::prelude::*;
    use serde_json::json;

    use agentloop::{ImageRequest, MediaFile, RerankRequest, SpeechRequest, TranscribeRequest};

    use super::*;

    fn chat(protocol: Protocol, body: &serde_json::Value) -> Estimate {
        let body = RequestBody::read(Bytes::from(body.to_string())).unwrap();
        Estimate::of_chat(&body, protocol)
    }

    // A second of speech is some 20,000 bytes of MP3, and an image two megabytes of base64: they were counted as text.
    #[test]
    fn media_do_not_count_as_text() {
        let speech = Task::Speech(SpeechRequest::new("m", "x".repeat(1_000)));
        let image = Task::Image(ImageRequest::new("m", "a").n(3));
        let audio = vec![0; 640_000];
        let transcript = TranscribeRequest::new("m", MediaFile::new("a.mp3", audio));
        let transcript = Task::Transcribe(transcript);
        let rerank = Task::Rerank(RerankRequest::new("m", "q", ["a", "b"]));
        let tokens = |task: &Task| Estimate::of_response(task).map(of_bytes);
        assert_eq!(tokens(&speech), Some(2_000));
        // What is reserved is not less than what is charged.
        assert_eq!(Estimate::of_task(&speech).response(None, None), 2_000);
        assert_eq!(tokens(&image), Some(3 * LIMITS_MEDIUM_TOKENS));
        assert!(Estimate::of_task(&image).response(None, None) >= 3 * LIMITS_MEDIUM_TOKENS);
        assert_eq!((tokens(&transcript), tokens(&rerank)), (None, Some(0)));
        assert_eq!(Estimate::of_task(&transcript).prompt, 10_000);
        assert_eq!(Estimate::of_task(&rerank).response(None, None), 0);
        let many = Task::Image(ImageRequest::new("m", "a").n(u32::MAX));
        assert!(Estimate::of_task(&many).response(None, None) > 1 << 40);
    }

    #[test]
    fn each_api_limits_its_responses_by_its_own_fields() {
        for (protocol, body, limit, choices) in [
            (Protocol::OpenAiChat, json!({"max_tokens": 50, "n": 3}), Some(50), 3),
            (
                Protocol::OpenAiChat,
                json!({"max_tokens": 50, "max_completion_tokens": 70}),
                Some(70),
                1,
            ),
            (Protocol::OpenAiResponses, json!({"max_output_tokens": 9}), Some(9), 1),
            (Protocol::Anthropic, json!({"max_tokens": 4096.0}), Some(4096), 1),
            (
                Protocol::Gemini,
                json!({"generationConfig": {"maxOutputTokens": 7, "candidateCount": 2}}),
                Some(7),
                2,
            ),
            (Protocol::Gemini, json!({"generation_config": {"max_output_tokens": 8}}), Some(8), 1),
            (Protocol::Gemini, json!({"max_tokens": 8}), None, 1),
            (Protocol::OpenAiChat, json!({"max_tokens": "many", "n": -4}), None, 1),
            (Protocol::OpenAiChat, json!({"max_tokens": null, "n": 0}), None, 1),
            (
                Protocol::OpenAiChat,
                json!({"max_tokens": 1e300, "n": u64::MAX}),
                Some(u64::MAX),
                u64::MAX,
            ),
        ] {
            let estimate = chat(protocol, &body);
            assert_eq!((estimate.limit, estimate.choices), (limit, choices), "{body}");
        }
        let tier = chat(Protocol::OpenAiChat, &json!({"service_tier": "priority"})).tier;
        assert_eq!(tier.as_deref(), Some("priority"));
    }

    #[test]
    fn a_response_without_a_limit_reserves_what_the_model_can_write_up_to_a_bound() {
        let mut model = ModelData::new("m");
        let open = Estimate { choices: 1, ..Estimate::default() };
        assert_eq!(open.response(None, None), RESERVE_UNKNOWN);
        assert_eq!(open.response(Some(&model), Some(500)), 500);
        model.max_output_tokens = Some(4_000);
        assert_eq!(open.response(Some(&model), None), 4_000);
        model.max_output_tokens = Some(128_000);
        assert_eq!(open.response(Some(&model), None), RESERVE_TOKENS);
        assert_eq!(open.response(Some(&model), Some(64_000)), 64_000);
        let two = Estimate { limit: Some(u64::MAX), choices: 2, ..Estimate::default() };
        assert_eq!(two.response(Some(&model), None), u64::MAX);
    }

    #[test]
    fn media_count_a_fixed_number_whatever_their_size() {
        let image = |bytes: usize| "iVBORw0KGgo/".repeat(bytes / 12);
        for bytes in [2 * STRIDE + 12, 100_000, 1_000_000] {
            let data = image(bytes);
            for body in [
                json!({"messages": [{"content": [{"type": "image_url", "image_url": {"url": format!("data:image/png;base64,{data}")}}]}]}),
                json!({"messages": [{"content": [{"type": "image", "source": {"type": "base64", "data": data}}]}]}),
                json!({"contents": [{"parts": [{"inlineData": {"mimeType": "image/png", "data" : data}}]}]}),
                json!({"input": [{"content": [{"type": "input_file", "file_data": data}]}]}),
            ] {
                let tokens = prompt_tokens(body.to_string().as_bytes());
                let expected = LIMITS_MEDIUM_TOKENS..LIMITS_MEDIUM_TOKENS + 60;
                assert!(expected.contains(&tokens), "{bytes}: {tokens}");
            }
        }
        let two = json!([{"data": image(9_000)}, {"data": image(50_000)}]).to_string();
        assert!(prompt_tokens(two.as_bytes()) > 2 * LIMITS_MEDIUM_TOKENS);
    }

    #[test]
    fn long_words_that_are_not_media_are_text() {
        let body = json!({"messages": [{"content": "a".repeat(100_000)}]}).to_string();
        assert_eq!(prompt_tokens(body.as_bytes()), of_bytes(body.len()));
        let signature = json!({"content": [{"signature": "A".repeat(53_000)}]}).to_string();
        assert_eq!(prompt_tokens(signature.as_bytes()), of_bytes(signature.len()));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        /// Any bytes are estimated, never above a quarter of them and the media that fit in.
        #[test]
        fn any_bytes_are_estimated(bytes in prop::collection::vec(prop::sample::select(b"ab+/\"\\: {dat}".to_vec()), 0..6_000)) {
            let tokens = prompt_tokens(&bytes);
            prop_assert!(tokens <= of_bytes(bytes.len()) + (bytes.len() / STRIDE) as u64 * LIMITS_MEDIUM_TOKENS);
        }
    }
}
