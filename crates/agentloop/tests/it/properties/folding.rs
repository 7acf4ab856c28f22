//! Any response at all: unfolding it and folding the events gives it back.

use agentloop::{ChatResponse, Fold};
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use serde_json::{Value, json};

fn text() -> impl Strategy<Value = String> {
    "\\PC{0,12}"
}

fn state() -> impl Strategy<Value = Value> {
    (text(), text()).prop_map(|(provider, data)| json!({"provider": provider, "data": {"s": data}}))
}

fn citation() -> impl Strategy<Value = Value> {
    prop_oneof![
        (text(), proptest::option::of(0u64..99)).prop_map(|(url, start)| match start {
            Some(start) =>
                json!({"type": "url", "url": url, "startIndex": start, "endIndex": start + 1}),
            None => json!({"type": "url", "url": url}),
        }),
        (0u64..9).prop_map(|at| json!({"type": "document", "documentIndex": at, "citedText": "x"})),
        (0u64..9).prop_map(|at| json!({"type": "page", "documentIndex": at, "startPage": 1})),
        (0u64..9).prop_map(|at| json!({"type": "block", "documentIndex": at, "startBlock": 1})),
        (text(), state()).prop_map(|(id, state)| {
            json!({"type": "file_citation", "fileId": id, "index": 3, "providerState": state})
        }),
        text()
            .prop_map(|kind| json!({"type": "opaque", "provider": "p", "kind": kind, "data": [1]})),
    ]
}

fn part() -> impl Strategy<Value = Value> {
    let kinds = prop_oneof![
        (text(), vec(citation(), 0..3)).prop_map(|(text, citations)| {
            let mut part = json!({"type": "text", "text": text});
            if !citations.is_empty() {
                part["citations"] = json!(citations);
            }
            part
        }),
        (text(), text(), text()).prop_map(
            |(id, name, arguments)| json!({"type": "tool_call", "id": id, "name": name, "arguments": arguments})
        ),
        (text(), proptest::option::of(text())).prop_map(|(thinking, signature)| {
            let mut part = json!({"type": "thinking", "thinking": thinking});
            if let Some(signature) = signature {
                part["signature"] = json!(signature);
            }
            part
        }),
        text().prop_map(|data| json!({"type": "redacted_thinking", "data": data})),
        text().prop_map(|data| json!({"type": "image", "mimeType": "image/png", "data": data})),
        (text(), proptest::option::of(text())).prop_map(|(data, transcript)| {
            let mut part = json!({"type": "audio", "mimeType": "audio/wav", "data": data});
            if let Some(transcript) = transcript {
                part["transcript"] = json!(transcript);
                part["expiresAt"] = json!(7);
            }
            part
        }),
        text().prop_map(|url| json!({"type": "generated_file", "mimeType": "video/mp4", "data": "",
                                      "url": url})),
        text().prop_map(|code| json!({"type": "code_execution", "language": "python", "code": code})),
        text().prop_map(|output| json!({"type": "code_result", "outcome": "timeout", "output": output,
                                         "exitCode": 1, "files": ["f"]})),
        (text(), text()).prop_map(
            |(id, q)| json!({"type": "server_tool_call", "id": id, "name": "s", "arguments": {"q": q}})
        ),
        text().prop_map(|id| json!({"type": "server_tool_result", "toolCallId": id,
                                     "content": [{"a": null}], "isError": true})),
        text().prop_map(|kind| json!({"type": "opaque", "provider": "p", "kind": kind, "data": {"k": 1}})),
    ];
    (kinds, proptest::option::weighted(0.3, state())).prop_map(|(mut part, state)| {
        if let Some(state) = state
            && part["type"] != "opaque"
        {
            part["providerState"] = state;
        }
        part
    })
}

fn response() -> impl Strategy<Value = ChatResponse> {
    let metadata = || btree_map("[a-z]{1,5}", 0i64..9, 0..3);
    let reason = "stop|length|tool_calls|content_filter|error|other";
    let choice = (vec(part(), 0..5), reason, metadata());
    let usage = proptest::option::of((0u64..1000, 0u64..1000));
    (vec(choice, 0..3), usage, metadata(), vec(text(), 0..2)).prop_map(
        |(choices, usage, metadata, warnings)| {
            let choices: Vec<Value> = choices
                .into_iter()
                .enumerate()
                .map(|(index, (content, reason, metadata))| {
                    json!({"index": index, "content": content, "finishReason": reason,
                           "rawFinishReason": "w", "providerMetadata": metadata})
                })
                .collect();
            let usage = match usage {
                Some((prompt, completion)) => json!({
                    "promptTokens": prompt, "completionTokens": completion,
                    "totalTokens": prompt + completion, "details": {"reasoningTokens": completion / 2},
                }),
                None => json!({}),
            };
            let warnings: Vec<Value> = warnings
                .into_iter()
                .map(|message| json!({"kind": "dropped", "subject": "s", "message": message}))
                .collect();
            serde_json::from_value(json!({
                "id": "r", "provider": "p", "model": "m", "choices": choices, "usage": usage,
                "cost": {"usd": "0.25", "source": "provider"}, "created": 1, "requestId": "q",
                "warnings": warnings, "providerMetadata": metadata,
            }))
            .unwrap()
        },
    )
}

proptest! {
    #[test]
    fn folding_an_unfolded_response_returns_it(response in response()) {
        let mut fold = Fold::new();
        for event in response.unfold() {
            fold.push(&event).unwrap();
            let json = serde_json::to_string(&event).unwrap();
            prop_assert_eq!(serde_json::from_str::<agentloop::ChatStreamEvent>(&json).unwrap(), event);
        }
        prop_assert_eq!(fold.finish().unwrap(), response);
    }

    /// The parts alone, without `content.done`, are rebuilt from their deltas.
    #[test]
    fn deltas_alone_rebuild_the_parts_that_grow(response in response()) {
        let mut fold = Fold::new();
        for event in response.unfold() {
            if !matches!(event, agentloop::ChatStreamEvent::ContentDone { .. }) {
                fold.push(&event).unwrap();
            }
        }
        let rebuilt = fold.partial();
        for (choice, again) in response.choices.iter().zip(&rebuilt.choices) {
            prop_assert_eq!(choice.text(), again.text());
            prop_assert_eq!(choice.thinking(), again.thinking());
            prop_assert!(choice.tool_calls().eq(again.tool_calls()));
            prop_assert!(choice.citations().eq(again.citations()));
        }
    }
}
