//! Answers that shall have a form: any schema on the first line, any answer after it, in steps of any size.

use agentloop::ChatRequest;
use agentloop::structured::{StructuredEvent, StructuredRequest};
use agentloop_sim::{Model, Script, Simulator, Turn};
use serde_json::Value;

use super::laws::{run, simulated};
use crate::seeds::{input, parts};

const SCHEMAS: [&str; 4] = [
    "{}",
    r#"{"type":"object","properties":{"a":{"type":"integer","minimum":0},"b":{"type":["string","null"]}},"required":["a"]}"#,
    r##"{"$defs":{"n":{"type":"object","properties":{"next":{"$ref":"#/$defs/n"},"v":{"enum":[1,"x"]}}}},"$ref":"#/$defs/n"}"##,
    r#"{"type":"array","items":{"anyOf":[{"type":"string","pattern":"^a","format":"date"},{"const":null}]}}"#,
];

const ANSWERS: [&str; 7] = [
    r#"{"a": 1, "b": "two \u00e9 \ud83d\ude42"}"#,
    "```json\n{\"a\": 1}\n```",
    "Here it is: {\"next\": {\"v\": 1}} and so on",
    "[\"a\", null, true, -1.5e+10, [[[]]]]",
    "{\"a\": 1",
    "{\"a\": \"\\",
    "no",
];

pub(crate) fn seeds() -> Vec<Vec<u8>> {
    let mut seeds = Vec::new();
    for schema in SCHEMAS {
        for (at, answer) in ANSWERS.iter().enumerate() {
            let at = u8::try_from(at).unwrap_or_default();
            seeds.push(input(at, at, format!("{schema}\n{answer}")));
        }
    }
    seeds
}

pub(crate) fn check(bytes: &[u8]) {
    let Some((size, how, text)) = parts(bytes) else { return };
    let text = String::from_utf8_lossy(text);
    let Some((schema, answer)) = text.split_once('\n') else { return };
    let Ok(schema) = serde_json::from_str::<Value>(schema) else { return };
    let mut turn = Turn::text(answer);
    turn.delta_size = Some(usize::from(size).max(1));
    let simulator = Simulator::new().with_model(Model::from_script(Script::new([turn])));
    let client = simulated(&simulator);
    let mut request = StructuredRequest::from(ChatRequest::new("sim/any").user("Hello"));
    request = request.retries(0);
    if how & 1 == 1 {
        request = request.strategy(agentloop::OutputStrategy::Tool);
    }
    run(async {
        let whole = client.chat_structured_as(schema.clone(), request.clone()).await;
        let mut last = Value::Null;
        let streamed = async {
            let mut stream = client.stream_structured_as(schema, request).await?;
            while let Some(event) = stream.next().await {
                match event? {
                    StructuredEvent::Done(answer) => {
                        assert!(stream.next().await.is_none(), "something follows the end");
                        return Ok(answer.data);
                    }
                    StructuredEvent::Partial(value) => {
                        assert!(contains(&value, &last), "{value} does not contain {last}");
                        last = value;
                    }
                    _ => {}
                }
            }
            panic!("a stream has an end");
        };
        let streamed: agentloop::Result<Value> = streamed.await;
        match (whole, streamed) {
            (Ok(whole), Ok(streamed)) => assert_eq!(whole.data, streamed),
            (Err(whole), Err(streamed)) => assert_eq!(whole.kind(), streamed.kind()),
            (whole, streamed) => panic!("whole {whole:?}, streamed {streamed:?}"),
        }
    });
}

/// Whether a value has all that was there before: objects gain properties, lists items, texts letters.
fn contains(value: &Value, before: &Value) -> bool {
    match (value, before) {
        (_, Value::Null) => true,
        (Value::String(value), Value::String(before)) => value.starts_with(before.as_str()),
        (Value::Array(items), Value::Array(before)) => {
            items.len() >= before.len()
                && items.iter().zip(before).all(|(item, before)| contains(item, before))
        }
        (Value::Object(fields), Value::Object(before)) => before
            .iter()
            .all(|(name, before)| fields.get(name).is_some_and(|field| contains(field, before))),
        (value, before) => value == before,
    }
}
