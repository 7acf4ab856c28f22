use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::LazyLock;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::json;

use super::*;
use crate::chat::{
    ChatResponse, ProviderState, ResponsePart, Role, TextPart, ThinkingPart, ToolCall,
    ToolDefinition,
};

fn name() -> impl Strategy<Value = String> {
    prop_oneof!["[a-c.]{0,3}", "\\PC{0,3}", Just("x".repeat(130))]
}

fn id() -> impl Strategy<Value = String> {
    prop_oneof!["[a-c|]{0,2}", "[a-z0-9]{9}", "[a-c\u{e9}]{17,20}"]
}

fn part() -> impl Strategy<Value = ContentPart> {
    let state = || select(vec![None, Some("here"), Some("there")]);
    let state = move || {
        state().prop_map(|by| by.map(|by| Box::new(ProviderState::new(by, json!({"k": 1})))))
    };
    prop_oneof![
        "[a-z ]{0,4}".prop_map(ContentPart::text),
        (id(), name(), state()).prop_map(|(id, name, provider_state)| {
            ContentPart::ToolCall(ToolCallPart {
                provider_state,
                ..ToolCallPart::new(id, name, "{}")
            })
        }),
        (state(), any::<bool>()).prop_map(|(provider_state, signed)| {
            let signature = signed.then(|| "Sig==".to_owned());
            let thinking = "Hm".to_owned();
            ContentPart::Thinking(ThinkingPart { thinking, signature, provider_state })
        }),
        state().prop_map(|provider_state| {
            ContentPart::Text(TextPart {
                citations: vec![crate::chat::Citation::Url(Default::default())],
                provider_state,
                ..TextPart::new("cited")
            })
        }),
    ]
}

fn message() -> impl Strategy<Value = ChatMessage> {
    let origin = select(vec![None, Some("here"), Some("there")]);
    prop_oneof![
        "[a-z]{0,3}".prop_map(ChatMessage::user),
        (vec(part(), 0..5), origin, vec((id(), name()), 0..3)).prop_map(|(parts, by, beside)| {
            let mut message =
                by.map_or(ChatMessage::assistant(parts.clone()), |by| from(by, parts));
            message.tool_calls =
                beside.into_iter().map(|(id, name)| ToolCall::new(id, name, "")).collect();
            message
        }),
        (id(), name()).prop_map(|(id, name)| ChatMessage::tool(id, "1").with_name(name)),
        id().prop_map(|id| ChatMessage::tool(id, "1")),
    ]
}

fn anything() -> impl Strategy<Value = ChatRequest> {
    (vec(message(), 0..8), vec(name(), 0..4)).prop_map(|(messages, tools)| {
        let tools = tools.into_iter().map(|name| ToolDefinition::function(name, json!({})));
        request(messages).tools(tools)
    })
}

fn rules() -> impl Strategy<Value = Rules<'static>> {
    let ids = select(vec![IdPattern::Any, IdPattern::NineAlphanumeric, IdPattern::Word]);
    let names = select(vec![NamePattern::Word64, NamePattern::Word128, NamePattern::Dotted128]);
    let order = select(vec![0, 1, 2, 3]);
    let forms = select(vec![StateForm::Fields, StateForm::Items, StateForm::Steps]);
    let rest = (forms, any::<bool>(), order);
    (ids, names, rest).prop_map(|(ids, names, (state, thinking_as_text, order))| Rules {
        provider: &HERE,
        model: "m",
        ids,
        names,
        thinking_as_text,
        state,
        order: &ORDERS[order],
    })
}

static ORDERS: LazyLock<[Order; 4]> = LazyLock::new(|| {
    let order = |assistant: bool, longest: bool| Order {
        assistant_after_tool: assistant.then(|| "so it is".into()),
        longest_id: longest.then(|| (16, "so it is".into())),
    };
    [order(false, false), order(true, false), order(false, true), order(true, true)]
});

fn calls_of(message: &ChatMessage) -> Vec<&ToolCallPart> {
    let parts = message.parts().iter();
    parts
        .filter_map(|part| match part {
            ContentPart::ToolCall(call) => Some(call),
            _ => None,
        })
        .collect()
}

proptest! {
    #[test]
    fn preparing_twice_changes_nothing(request in anything(), rules in rules()) {
        let once = prepared(&request, &rules);
        let again = prepared(&request, &rules);
        prop_assert_eq!(&once.messages, &again.messages);
        prop_assert_eq!(&once.warnings, &again.warnings);
        let mut sent = request.clone();
        sent.messages = once.messages.to_vec();
        for tool in &mut sent.tools {
            if let ToolDefinition::Function { function, .. } = tool {
                function.name = once.names.sent(&function.name).to_owned();
            }
        }
        let twice = prepare(&sent, &rules, &|_| Shown::InResult).unwrap();
        prop_assert!(matches!(twice.messages, Cow::Borrowed(_)), "{:#?}", twice.messages);
        prop_assert!(twice.warnings.is_empty(), "{:?}", twice.warnings);
        prop_assert!(prepare(&sent.strict(), &rules, &|_| Shown::InResult).is_ok());
    }

    #[test]
    fn results_match_calls_one_to_one(request in anything(), rules in rules()) {
        let prepared = prepared(&request, &rules);
        let mut messages = prepared.messages.iter();
        let mut ids = BTreeSet::new();
        let longest = rules.order.longest_id.as_ref().map(|(most, _)| *most);
        while let Some(message) = messages.next() {
            prop_assert!(message.role != Role::Tool && message.tool_calls.is_empty());
            for call in calls_of(message) {
                let result = messages.next().unwrap();
                prop_assert_eq!(result.tool_call_id.as_ref(), Some(&call.id));
                prop_assert!(rules.ids.fits(&call.id, longest) && ids.insert(&call.id), "{}", call.id);
                prop_assert!(rules.names.fits(&call.name), "{}", call.name);
            }
        }
        let defined: BTreeSet<&str> =
            request.tools.iter().filter_map(ToolDefinition::name).collect();
        let sent: BTreeSet<&str> = defined.iter().map(|name| prepared.names.sent(name)).collect();
        prop_assert_eq!(defined.len(), sent.len());
        for name in defined {
            prop_assert_eq!(prepared.names.original(prepared.names.sent(name)), name);
        }
    }

    /// Except for a result that arrives late, nothing that was sent changes.
    #[test]
    fn one_more_message_only_appends(mut request in anything(), rules in rules()) {
        if request.messages.len() < 2 || request.messages.last().is_some_and(|last| last.role == Role::Tool) {
            return Ok(());
        }
        let all = prepared(&request, &rules).messages.into_owned();
        request.messages.pop();
        let before = prepared(&request, &rules).messages.into_owned();
        prop_assert!(all.starts_with(&before), "{:#?}\n{:#?}", before, all);
    }

    #[test]
    fn a_response_is_sent_back_unchanged(parts in vec(part(), 1..6)) {
        let mut at = 0;
        let parts: Vec<ResponsePart> = parts.into_iter().filter_map(|part| {
            at += 1;
            let own = Some(Box::new(ProviderState::new("here", json!({"at": at}))));
            Some(match part {
                ContentPart::Text(part) => {
                    ResponsePart::Text(TextPart { provider_state: own, ..part })
                }
                ContentPart::Thinking(part) => {
                    ResponsePart::Thinking(ThinkingPart { provider_state: own, ..part })
                }
                ContentPart::ToolCall(_) => ResponsePart::ToolCall(ToolCallPart {
                    provider_state: own,
                    ..ToolCallPart::new(format!("call_{at}"), "f", "{}")
                }),
                _ => return None,
            })
        }).collect();
        let response: ChatResponse = serde_json::from_value(json!({
            "id": "1", "model": "m", "provider": "here", "usage": {},
            "choices": [{"index": 0, "content": parts, "finishReason": "stop"}],
        })).unwrap();
        let answer = response.into_message();
        let request = request([answer.clone()]);
        let sent = prepared(&request, &RULES);
        prop_assert_eq!(&sent.messages[1], &answer);
    }

    #[test]
    fn no_state_of_another_provider_is_sent(request in anything(), rules in rules()) {
        let prepared = prepared(&request, &rules);
        for message in prepared.messages.iter() {
            let origin = message.origin.as_ref().map(|origin| origin.provider.as_str());
            for part in message.parts() {
                let value = serde_json::to_value(part).unwrap();
                let tag = value["providerState"]["provider"].as_str();
                prop_assert!(tag.is_none_or(|tag| tag == "here"), "{}", value);
                if value["type"] == "thinking" {
                    let own = tag.or(origin) == Some("here");
                    let text = rules.thinking_as_text && origin.is_none() && value["signature"].is_null();
                    prop_assert!(own || text, "{}", value);
                }
            }
        }
    }
}
