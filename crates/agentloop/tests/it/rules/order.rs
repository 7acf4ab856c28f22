//! The last rule about a parameter wins.

use agentloop::provider::{Param, Rule};
use agentloop::{ChatRequest, Protocol, WarningKind};
use serde_json::json;

use super::{body, encode, lab, warned};

fn rules() -> Vec<Rule> {
    vec![
        Rule::Strip(Param::Seed),
        Rule::Rename(Param::Seed, "a".into()),
        Rule::Rename(Param::Seed, "b".into()),
        Rule::Clamp(Param::Seed, 1.0, 2.0),
        Rule::Clamp(Param::Seed, 10.0, 20.0),
        Rule::Ignored(Param::Seed),
        Rule::Default("seed".into(), json!(15)),
    ]
}

#[test]
fn the_last_rule_of_three_wins() {
    let rules = rules();
    let request = ChatRequest::new("lab/m").user("Hi").seed(100);
    for first in &rules {
        for second in &rules {
            for last in &rules {
                let mut provider = lab(Protocol::OpenAiChat).allow(&["model"]);
                let all = [first, second, last];
                provider.rules.extend(all.into_iter().cloned());
                let sent = encode(provider, &request).unwrap();
                let (fields, kinds) = (body(&sent), warned(&sent, Param::Seed));
                if matches!(last, Rule::Strip(_)) {
                    assert_eq!(kinds, [WarningKind::Dropped], "{all:?}");
                    assert_eq!(fields.as_object().unwrap().len(), 2, "{all:?}");
                    continue;
                }
                let name = all.iter().rev().find_map(|rule| match rule {
                    Rule::Rename(_, name) => Some(name.as_ref()),
                    _ => None,
                });
                let most = all.iter().rev().find_map(|rule| match rule {
                    Rule::Clamp(_, _, most) => Some(*most),
                    _ => None,
                });
                let value = &fields[name.unwrap_or("seed")];
                assert_eq!(value.as_f64(), Some(most.unwrap_or(100.0)), "{all:?}");
                assert_eq!(fields.as_object().unwrap().len(), 3, "{all:?}");
                assert_eq!(kinds.contains(&WarningKind::Renamed), name.is_some(), "{all:?}");
                assert_eq!(kinds.contains(&WarningKind::Clamped), most.is_some(), "{all:?}");
                assert!(!kinds.contains(&WarningKind::Dropped), "{all:?}");
            }
        }
    }
}

#[test]
fn a_field_of_the_caller_wins_over_a_parameter_and_a_parameter_over_a_default_field() {
    let provider = lab(Protocol::OpenAiChat)
        .default_field("temperature", 0.1)
        .default_field("store", true)
        .default_field("deep.inner.one", 1)
        .default_field("deep.inner.two", 2)
        .default_field("store", false);
    let request = ChatRequest::new("lab/m").user("Hi").temperature(0.2);
    let sent = body(&encode(provider.clone(), &request).unwrap());
    assert_eq!(sent["temperature"], 0.2);
    assert_eq!(sent["store"], false, "the last default counts");
    assert_eq!(sent["deep"], json!({ "inner": { "one": 1, "two": 2 } }));
    let request = request.extra("temperature", 0.3).extra("deep", json!({ "mine": true }));
    let sent = body(&encode(provider, &request).unwrap());
    assert_eq!(sent["temperature"], 0.3);
    assert_eq!(sent["deep"], json!({ "mine": true }));
}

/// The library asks providers of the Responses protocol not to keep responses; a default of the user comes before that.
#[test]
fn a_default_field_overrides_a_field_of_the_library() {
    let request = ChatRequest::new("lab/m").user("Hi");
    let usual = body(&encode(lab(Protocol::OpenAiResponses), &request).unwrap());
    assert_eq!(usual["store"], false);
    let provider = lab(Protocol::OpenAiResponses).default_field("store", true);
    assert_eq!(body(&encode(provider, &request).unwrap())["store"], true);
    // Instructions of the request stay.
    let provider = lab(Protocol::Anthropic).default_field("system", "Be brief.");
    assert_eq!(body(&encode(provider.clone(), &request).unwrap())["system"], "Be brief.");
    let other = request.system("Be long.");
    assert_eq!(body(&encode(provider, &other).unwrap())["system"], "Be long.");
}

#[test]
fn a_range_also_bounds_the_number_that_a_protocol_requires() {
    let provider = lab(Protocol::Anthropic).clamp(Param::MaxTokens, 1.0, 100.0);
    let sent = encode(provider, &ChatRequest::new("lab/m").user("Hi")).unwrap();
    assert_eq!(body(&sent)["max_tokens"], 100);
    assert_eq!(sent.warnings, []);
}
