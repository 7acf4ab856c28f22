//! The shapes of a request, as botocore 1.44.3 describes them (`bedrock-runtime` of 2023-09-30), written down here.

use serde_json::Value;

enum Shape {
    Any,
    Flag,
    /// A text of this many bytes, of these letters.
    Text(usize, usize, fn(char) -> bool),
    Word(&'static [&'static str]),
    Number(f64, f64),
    List(&'static Shape, usize, usize),
    /// Texts of up to this many bytes, up to so many pairs.
    Labels(usize, usize),
    /// Fields, of which the first ones are required.
    Fields(usize, &'static [(&'static str, &'static Shape)]),
    /// One of these fields.
    Union(&'static [(&'static str, &'static Shape)]),
}

use Shape::{Any, Fields, Flag, Labels, List, Number, Text, Union, Word};

const fn text(least: usize) -> Shape {
    Text(least, usize::MAX, |_| true)
}

fn is_name(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-')
}

fn is_id(letter: char) -> bool {
    is_name(letter) || matches!(letter, '.' | ':')
}

fn is_document_name(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || " -()[]".contains(letter)
}

const STRING: Shape = text(0);
const NON_EMPTY: Shape = text(1);
const BYTES: Shape =
    Text(1, usize::MAX, |letter| letter.is_ascii_alphanumeric() || "+/=".contains(letter));
const ID: Shape = Text(1, 64, is_id);
const NAME: Shape = Text(1, 64, is_name);
const S3: Shape = Fields(1, &[("uri", &Text(1, 1024, |_| true)), ("bucketOwner", &STRING)]);
const SOURCE: Shape = Union(&[("bytes", &BYTES), ("s3Location", &S3)]);
const ENABLED: Shape = Fields(1, &[("enabled", &Flag)]);
const TEXTS: Shape = List(&Union(&[("text", &STRING)]), 0, usize::MAX);
const IMAGE: Shape =
    Fields(2, &[("format", &Word(&["png", "jpeg", "gif", "webp"])), ("source", &SOURCE)]);
const VIDEO: Shape = Fields(
    2,
    &[
        ("format", &Word(&["mkv", "mov", "mp4", "webm", "flv", "mpeg", "mpg", "wmv", "three_gp"])),
        ("source", &SOURCE),
    ],
);
const AUDIO: Shape = Fields(
    2,
    &[
        (
            "format",
            &Word(&[
                "mp3", "opus", "wav", "aac", "flac", "mp4", "ogg", "mkv", "mka", "x-aac", "m4a",
                "mpeg", "mpga", "pcm", "webm",
            ]),
        ),
        ("source", &SOURCE),
    ],
);
const DOCUMENT: Shape = Fields(
    2,
    &[
        ("name", &Text(1, 200, is_document_name)),
        (
            "source",
            &Union(&[
                ("bytes", &BYTES),
                ("s3Location", &S3),
                ("text", &STRING),
                ("content", &TEXTS),
            ]),
        ),
        ("format", &Word(&["pdf", "csv", "doc", "docx", "xls", "xlsx", "html", "txt", "md"])),
        ("context", &STRING),
        ("citations", &ENABLED),
    ],
);
const CACHE_POINT: Shape =
    Fields(1, &[("type", &Word(&["default"])), ("ttl", &Word(&["5m", "1h"]))]);
const TOOL_USE: Shape = Fields(
    3,
    &[("toolUseId", &ID), ("name", &NAME), ("input", &Any), ("type", &Word(&["server_tool_use"]))],
);
const RESULT_BLOCK: Shape = Union(&[
    ("json", &Any),
    ("text", &STRING),
    ("image", &IMAGE),
    ("document", &DOCUMENT),
    ("video", &VIDEO),
    ("searchResult", &Any),
]);
const TOOL_RESULT: Shape = Fields(
    2,
    &[
        ("toolUseId", &ID),
        ("content", &List(&RESULT_BLOCK, 0, usize::MAX)),
        ("status", &Word(&["success", "error"])),
        ("type", &STRING),
    ],
);
const REASONING: Shape = Union(&[
    ("reasoningText", &Fields(1, &[("text", &STRING), ("signature", &STRING)])),
    ("redactedContent", &BYTES),
]);
const BLOCK: Shape = Union(&[
    // Blank text is refused, although the shape has no limit.
    ("text", &NON_EMPTY),
    ("image", &IMAGE),
    ("document", &DOCUMENT),
    ("video", &VIDEO),
    ("audio", &AUDIO),
    ("toolUse", &TOOL_USE),
    ("toolResult", &TOOL_RESULT),
    ("guardContent", &Any),
    ("cachePoint", &CACHE_POINT),
    ("reasoningContent", &REASONING),
    ("citationsContent", &Fields(0, &[("content", &TEXTS), ("citations", &Any)])),
    ("searchResult", &Any),
]);
const MESSAGE: Shape = Fields(
    2,
    &[("role", &Word(&["user", "assistant", "system"])), ("content", &List(&BLOCK, 1, usize::MAX))],
);
const SYSTEM: Shape =
    Union(&[("text", &NON_EMPTY), ("guardContent", &Any), ("cachePoint", &CACHE_POINT)]);
const TOOL: Shape = Union(&[
    (
        "toolSpec",
        &Fields(
            2,
            &[
                ("name", &NAME),
                ("inputSchema", &Union(&[("json", &Any)])),
                ("description", &NON_EMPTY),
                ("strict", &Flag),
            ],
        ),
    ),
    ("systemTool", &Fields(1, &[("name", &NAME)])),
    ("cachePoint", &CACHE_POINT),
]);
const CHOICE: Shape = Union(&[
    ("auto", &Fields(0, &[])),
    ("any", &Fields(0, &[])),
    ("tool", &Fields(1, &[("name", &NAME)])),
]);
const SCHEMA: Shape =
    Fields(1, &[("schema", &STRING), ("name", &STRING), ("description", &STRING)]);
const FORMAT: Shape = Fields(
    2,
    &[("type", &Word(&["json_schema"])), ("structure", &Union(&[("jsonSchema", &SCHEMA)]))],
);

/// A request. The model is in its path.
const REQUEST: Shape = Fields(
    1,
    &[
        ("messages", &List(&MESSAGE, 1, usize::MAX)),
        ("system", &List(&SYSTEM, 1, usize::MAX)),
        (
            "inferenceConfig",
            &Fields(
                0,
                &[
                    ("maxTokens", &Number(1.0, f64::MAX)),
                    ("temperature", &Number(0.0, 1.0)),
                    ("topP", &Number(0.0, 1.0)),
                    ("stopSequences", &List(&NON_EMPTY, 0, 2500)),
                ],
            ),
        ),
        (
            "toolConfig",
            &Fields(1, &[("tools", &List(&TOOL, 1, usize::MAX)), ("toolChoice", &CHOICE)]),
        ),
        ("guardrailConfig", &Any),
        ("additionalModelRequestFields", &Any),
        ("promptVariables", &Any),
        ("additionalModelResponseFieldPaths", &List(&Text(1, 256, |_| true), 0, 10)),
        ("requestMetadata", &Labels(256, 16)),
        ("performanceConfig", &Fields(0, &[("latency", &Word(&["standard", "optimized"]))])),
        (
            "serviceTier",
            &Fields(1, &[("type", &Word(&["priority", "default", "flex", "reserved"]))]),
        ),
        (
            "outputConfig",
            &Fields(0, &[("textFormat", &FORMAT), ("effort", &Text(0, 16, |_| true))]),
        ),
    ],
);

/// Checks that a request has the shape of the API.
pub(crate) fn check(body: &Value) {
    if let Err(why) = fits(body, &REQUEST, "") {
        panic!("{why} in {body:#}");
    }
}

fn ensure(holds: bool, why: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(why()) }
}

fn fits(value: &Value, shape: &Shape, place: &str) -> Result<(), String> {
    let wrong = |what: &str| Err(format!("{place} is not {what}: {value}"));
    match (shape, value) {
        (Any, _) | (Flag, Value::Bool(_)) => Ok(()),
        (Text(least, most, is_taken), Value::String(text)) => {
            ensure((*least..=*most).contains(&text.len()), || format!("{place}: length"))?;
            ensure(text.chars().all(is_taken), || format!("{place}: letters of {text}"))
        }
        (Word(words), Value::String(word)) => {
            ensure(words.contains(&word.as_str()), || format!("{place}: {word}"))
        }
        (Number(min, max), Value::Number(number)) => {
            let number = number.as_f64().unwrap();
            ensure((*min..=*max).contains(&number), || format!("{place}: {number}"))
        }
        (List(shape, least, most), Value::Array(list)) => {
            ensure((*least..=*most).contains(&list.len()), || format!("{place}: length"))?;
            let mut list = list.iter().enumerate();
            list.try_for_each(|(at, value)| fits(value, shape, &format!("{place}[{at}]")))
        }
        (Labels(longest, most), Value::Object(labels)) => {
            ensure(labels.len() <= *most, || format!("{place}: {} labels", labels.len()))?;
            let fits = |(name, value): (&String, &Value)| {
                name.len() <= *longest && value.as_str().is_some_and(|it| it.len() <= *longest)
            };
            ensure(labels.iter().all(fits), || format!("{place}: {value}"))
        }
        (Fields(required, known), Value::Object(fields)) => {
            for (name, _) in &known[..*required] {
                ensure(fields.contains_key(*name), || format!("{place}.{name} is missing"))?;
            }
            members(fields, known, place)
        }
        (Union(known), Value::Object(fields)) => {
            ensure(fields.len() == 1, || format!("{place} has {} fields", fields.len()))?;
            members(fields, known, place)
        }
        (Flag, _) => wrong("a flag"),
        (Text(..) | Word(_), _) => wrong("a text"),
        (Number(..), _) => wrong("a number"),
        (List(..), _) => wrong("a list"),
        (Labels(..) | Fields(..) | Union(_), _) => wrong("an object"),
    }
}

fn members(
    fields: &serde_json::Map<String, Value>,
    known: &[(&str, &Shape)],
    place: &str,
) -> Result<(), String> {
    fields.iter().try_for_each(|(name, value)| {
        let place = format!("{place}.{name}");
        match known.iter().find(|(known, _)| known == name) {
            Some((_, shape)) => fits(value, shape, &place),
            None => Err(format!("{place} is not a member")),
        }
    })
}
