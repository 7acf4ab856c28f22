//! Responses of the other modalities: memory by the bytes that are received, and no work that grows faster.

use agentloop::limits::{MAX_HELD_FREE_BYTES, MAX_HELD_PER_BYTE, MAX_RESPONSE_BYTES};
use agentloop::{
    ImageRequest, ModerateRequest, RerankRequest, SpeechRequest, Task, TaskEvent, TranscribeRequest,
};
use allocation_counter::AllocationInfo;

use super::bodies::{list, same};
use crate::client::fake::{Fake, Reply};
use crate::tasks::wav;

/// How often what a response holds may be in memory, as for chats.
const COPIES: usize = 6;

/// The fixed part: the client, the connection and what buffers set aside.
const BESIDE: usize = 4 << 20;

/// How much more an element may cost where there are sixteen times as many.
const SLACK: f64 = 1.6;

fn image() -> Task {
    Task::Image(ImageRequest::new("lab/m", "a").partial_images(3))
}

fn speech() -> Task {
    Task::Speech(SpeechRequest::new("lab/m", "a"))
}

fn transcript() -> Task {
    Task::Transcribe(TranscribeRequest::new("lab/m", wav()))
}

fn events(count: usize, event: &str, end: &str) -> String {
    format!("{}data: {end}\n\n", format!("data: {event}\n\n").repeat(count))
}

/// A task and its response, of which there can be more or less.
type Shape = (&'static str, usize, fn() -> Task, bool, fn(usize) -> String);

const SHAPES: &[Shape] = &[
    ("images", 400, image, false, |n| {
        format!(r#"{{"data":{}}}"#, same(n, r#"{"b64_json":"AAAA"}"#))
    }),
    ("URLs of images", 400, image, false, |n| {
        format!(r#"{{"output_format":"png","data":{}}}"#, same(n, r#"{"url":"u"}"#))
    }),
    ("predictions", 400, image, false, |n| {
        format!(r#"{{"predictions":{}}}"#, same(n, r#"{"bytesBase64Encoded":"AAAA"}"#))
    }),
    ("parts", 400, image, false, |n| {
        let part = r#"{"inlineData":{"data":"AAAA"}}"#;
        format!(r#"{{"candidates":[{{"content":{{"parts":{}}}}}]}}"#, same(n, part))
    }),
    ("candidates without parts", 400, image, false, |n| {
        format!(r#"{{"data":[{{"url":"u"}}],"candidates":{}}}"#, same(n, "{}"))
    }),
    ("kinds of tokens", 400, image, false, |n| {
        let kind = |at| format!(r#"{{"modality":"{at}","tokenCount":1}}"#);
        let kinds = list(n, kind);
        format!(
            r#"{{"data":[{{"url":"u"}}],"usageMetadata":{{"candidatesTokensDetails":{kinds}}}}}"#
        )
    }),
    ("segments", 400, transcript, false, |n| {
        format!(r#"{{"text":"","segments":{}}}"#, same(n, r#"{"start":0,"end":1}"#))
    }),
    ("words", 400, transcript, false, |n| {
        format!(r#"{{"text":"","words":{}}}"#, same(n, r#"{"start":0,"end":1}"#))
    }),
    ("languages", 400, transcript, false, |n| {
        format!(r#"{{"text":"","languages":{}}}"#, same(n, "{}"))
    }),
    (
        "categories",
        400,
        || Task::Moderate(ModerateRequest::new("lab/m", ["a"])),
        false,
        |n| {
            let names = |value: &str| {
                list(n, |at| format!(r#""{at}":{value}"#)).replace('[', "{").replace(']', "}")
            };
            let (categories, scores) = (names("true"), names("0.5"));
            format!(r#"{{"results":[{{"categories":{categories},"category_scores":{scores}}}]}}"#)
        },
    ),
    ("unfinished images", 400, image, true, |n| {
        let partial = r#"{"type":"image_generation.partial_image","b64_json":"AAAA"}"#;
        events(n, partial, r#"{"type":"image_generation.completed","b64_json":"AAAA"}"#)
    }),
    ("pieces of audio", 400, speech, true, |n| {
        let piece = r#"{"type":"speech.audio.delta","audio":"AAAA"}"#;
        events(n, piece, r#"{"type":"speech.audio.done"}"#)
    }),
    ("pieces of text", 400, transcript, true, |n| {
        let piece = r#"{"type":"transcript.text.delta","delta":"a "}"#;
        events(n, piece, r#"{"type":"transcript.text.done"}"#)
    }),
    ("streamed segments", 400, transcript, true, |n| {
        let piece = r#"{"type":"transcript.text.segment","start":0,"end":1,"text":"a"}"#;
        events(n, piece, r#"{"type":"transcript.text.done"}"#)
    }),
    ("unknown events", 400, speech, true, |n| {
        let piece = r#"{"type":"speech.audio.delta","audio":"AAAA"}"#;
        format!("data: {piece}\n\n{}", events(n, "{}", r#"{"type":"speech.audio.done"}"#))
    }),
];

/// Reads a response to its end, and keeps nothing of its events. Returns whether it was read.
fn read(task: &Task, is_stream: bool, body: &str) -> (bool, AllocationInfo) {
    let kind = if is_stream { "text/event-stream" } else { "application/json" };
    let reply = Reply { headers: vec![("content-type", kind)], ..Reply::json(body) };
    let ai = Fake::new([reply]).client();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut is_read = false;
    let info = allocation_counter::measure(|| {
        is_read = runtime.block_on(async {
            if !is_stream {
                return ai.task(task.clone()).await.is_ok();
            }
            let Ok(mut stream) = ai.task_stream(task.clone()).await else { return false };
            let mut is_done = false;
            while let Some(event) = stream.next().await {
                is_done = matches!(event, Ok(TaskEvent::Done { .. }));
            }
            is_done
        });
    });
    (is_read, info)
}

#[test]
fn the_cost_of_a_response_is_in_proportion_to_its_bytes() {
    for (name, elements, task, is_stream, make) in SHAPES {
        let task = task();
        let mut costs = Vec::new();
        for times in [1, 16] {
            let body = make(elements * times);
            let (is_read, info) = read(&task, *is_stream, &body);
            assert!(is_read, "{name}: {}", &body[..200.min(body.len())]);
            let held =
                (body.len() * MAX_HELD_PER_BYTE + MAX_HELD_FREE_BYTES).min(MAX_RESPONSE_BYTES);
            let most = (COPIES * held + BESIDE) as u64;
            assert!(info.bytes_max <= most, "{name}: {} took {}", body.len(), info.bytes_max);
            let count = (elements * times) as f64;
            costs.push((info.count_total as f64 / count, info.bytes_total as f64 / count));
        }
        let (few, many) = (costs[0], costs[1]);
        assert!(many.0 <= few.0 * SLACK + 1.0, "{name}: allocations {few:?} {many:?}");
        assert!(many.1 <= few.1 * SLACK + 64.0, "{name}: bytes {few:?} {many:?}");
    }
}

#[test]
fn a_ranking_of_many_documents_is_read_in_proportion_to_them() {
    let cost = |count: usize| {
        let results = list(count, |at| format!(r#"{{"index":{at},"relevance_score":0.{at}}}"#));
        let documents = vec!["a".to_owned(); count];
        let task = Task::Rerank(RerankRequest::new("lab/m", "q", documents));
        let (is_read, info) = read(&task, false, &format!(r#"{{"results":{results}}}"#));
        assert!(is_read);
        info.bytes_total as f64 / count as f64
    };
    let (few, many) = (cost(1_000), cost(16_000));
    assert!(many <= few * SLACK + 64.0, "{few} {many}");
}

// A body of nine megabytes whose elements are thirty times as large in memory ends with an error, not with gigabytes.
#[test]
fn millions_of_results_are_too_large() {
    let body = format!(r#"{{"data":[{}{{}}]}}"#, "{},".repeat(3_000_000));
    let (is_read, info) = read(&image(), false, &body);
    assert!(!is_read);
    let most = (COPIES * MAX_RESPONSE_BYTES + BESIDE + 2 * body.len()) as u64;
    assert!(info.bytes_max <= most, "{}", info.bytes_max);
}
