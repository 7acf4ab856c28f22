//! Schemas that become as large, or take as long, as they can for their bytes.

use serde_json::{Map, Value, json};

use super::super::room::{FREE, MAX_PER_BYTE};
use super::super::{Dialect, MAX_LOST, convert};
use crate::limits::MAX_REQUEST_DEPTH;

const ALL: [Dialect; 4] =
    [Dialect::OpenAiStrict, Dialect::Anthropic, Dialect::GeminiJsonSchema, Dialect::GeminiOpenApi];

fn named(count: usize, schema: impl Fn(usize) -> Value) -> Value {
    (0..count).map(|n| (format!("p{n}"), schema(n))).collect::<Map<_, _>>().into()
}

fn listed(count: usize, value: impl Fn(usize) -> Value) -> Value {
    (0..count).map(value).collect()
}

fn nested(levels: usize, leaf: Value, around: impl Fn(Value) -> Value) -> Value {
    (0..levels).fold(leaf, |inner, _| around(inner))
}

/// A shape, and the schema of so many thousand elements.
pub(crate) type Shape = (&'static str, fn(usize) -> Value);

pub(crate) const SHAPES: &[Shape] = &[
    ("references to a long definition", |n| {
        let text = json!({"type": "object", "description": "x".repeat(60_000 * n)});
        let to = |_| json!({"$ref": "#/$defs/long", "title": "t"});
        json!({"type": "object", "properties": named(1_000 * n, to), "$defs": {"long": text}})
    }),
    ("definitions that double", |n| {
        let definition = |at: usize| {
            if at + 1 == 60 * n {
                return json!({"type": "string"});
            }
            let to = json!({"$ref": format!("#/$defs/p{}", at + 1)});
            json!({"type": "object", "properties": {"a": to, "b": to, "c": {"minLength": 1}}})
        };
        json!({"$ref": "#/$defs/p0", "$defs": named(60 * n, definition)})
    }),
    ("a long reference again and again", |n| {
        let place = format!("#/$defs/{}", "a~1".repeat(10_000 * n));
        let to = |at| json!({"$ref": format!("{place}{at}"), "title": "t"});
        json!({"type": "object", "properties": named(20, to)})
    }),
    ("losses below a long name", |n| {
        let lost = named(500 * n, |_| json!({"type": "string", "contentEncoding": "x"}));
        let mut outer = Map::new();
        outer.insert("n".repeat(60_000 * n), json!({"type": "object", "properties": lost}));
        json!({"type": "object", "properties": outer})
    }),
    ("losses with long names", |n| {
        let required = listed(20 * n, |at| format!("{at}{}", "n".repeat(3_000)).into());
        json!({"type": "object", "properties": {}, "required": required})
    }),
    ("words beside a union", |n| {
        let branches = listed(500 * n, |at| json!({"title": format!("{at}")}));
        json!({"type": "string", "enum": listed(5_000 * n, |at| at.into()), "anyOf": branches})
    }),
    ("names that are required twice", |n| {
        let names = || listed(5_000 * n, |at| format!("p{at}").into());
        let other = json!({"required": listed(5_000 * n, |at| format!("q{at}").into())});
        json!({"type": "object", "required": names(), "allOf": [{"required": names()}, other]})
    }),
    ("required properties", |n| {
        let names = listed(5_000 * n, |at| format!("p{at}").into());
        json!({"type": "object", "required": names, "properties": named(5_000 * n, |_| json!({}))})
    }),
    ("values of two lists", |n| {
        let values = |from: usize| listed(5_000 * n, |at| (from + at).into());
        json!({"enum": values(0), "allOf": [{"enum": values(2_000)}]})
    }),
    ("types that do not exist", |n| {
        let types = |word: &str| listed(5_000 * n, |at| format!("{word}{at}").into());
        json!({"type": types("a"), "allOf": [{"type": types("a")}], "enum": [1]})
    }),
    ("types that each get a copy", |n| {
        let types = listed(2_000 * n, |at| format!("a{at}").into());
        json!({"type": types, "description": "x".repeat(10_000 * n)})
    }),
    (
        "items of many members",
        |n| json!({"type": "array", "allOf": listed(3_000 * n, |at| json!({"items": {"minimum": at}}))}),
    ),
    ("a long text below many levels", |n| {
        let leaf = json!({"type": "string", "description": "x".repeat(100_000 * n)});
        nested(50, leaf, |inner| json!({"type": "object", "properties": {"a": inner}}))
    }),
    ("many levels of unions", |n| {
        let leaf = json!({"type": "string", "enum": listed(2_000 * n, |at| at.to_string().into())});
        nested(50, leaf, |inner| json!({"anyOf": [inner, {"type": "null"}], "minLength": 1}))
    }),
    ("as deep as a request may be", |n| {
        let leaf = json!({"description": "x".repeat(20_000 * n)});
        nested(MAX_REQUEST_DEPTH / 2, leaf, |inner| json!({"allOf": [inner], "title": "t"}))
    }),
    (
        "tuples",
        |n| json!({"type": "array", "prefixItems": listed(5_000 * n, |at| json!({"minimum": at}))}),
    ),
];

/// Returns what a conversion takes at its peak, and how long its result is.
fn converted(schema: &Value, dialect: Dialect) -> (usize, usize) {
    let mut all = None;
    let info = allocation_counter::measure(|| all = Some(convert(schema, dialect)));
    let all = all.unwrap();
    assert!(all.lost.len() <= MAX_LOST + 1);
    let length = all.schema.to_string().len() + all.lost.concat().len();
    (usize::try_from(info.bytes_max).unwrap(), length)
}

/// Most nodes of these schemas are a number or a short text, which take 80 bytes and more as values.
#[test]
fn what_a_schema_becomes_is_bounded_by_its_size() {
    let thread = std::thread::Builder::new().stack_size(512 << 10);
    let checked = thread.spawn(|| {
        for (name, make) in SHAPES {
            for times in [1, 4] {
                let schema = make(times);
                let size = super::super::room::size(&schema);
                let most = FREE + MAX_PER_BYTE * size;
                for dialect in ALL {
                    let (peak, length) = converted(&schema, dialect);
                    assert!(length <= most, "{name} × {times}, {dialect:?}: {length} of {most}");
                    assert!(
                        peak <= 2 * most,
                        "{name} × {times}, {dialect:?}: peak {peak} of {most}"
                    );
                }
            }
        }
    });
    checked.unwrap().join().unwrap();
}

#[test]
fn a_schema_that_becomes_too_large_is_narrowed_and_says_so() {
    let (_, make) = SHAPES[0];
    let converted = convert(&make(4), Dialect::GeminiOpenApi);
    assert!(converted.narrowed);
    let why = "larger than it may become with its references; cut off";
    assert!(converted.lost.iter().any(|line| line.ends_with(why)), "{:?}", converted.lost);
    assert!(converted.lost.last().unwrap().starts_with("and "), "{:?}", converted.lost.last());
}
