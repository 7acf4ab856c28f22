//! Every parameter × rule × protocol: a rule has an effect on the body, a warning or is a configuration error.

use agentloop::provider::Param;
use agentloop::{ErrorKind, Protocol, WarningKind};
use serde_json::Value;

use super::{asked, body, cells, encode, lab, plain, value, warned};

fn is_number(param: Param) -> bool {
    value(param).is_number()
}

#[test]
fn a_parameter_is_sent_or_a_warning_reports_that_it_is_not() {
    for (protocol, param) in cells() {
        let cell = format!("{} {param}", protocol.name());
        let sent = encode(lab(protocol), &asked(param)).unwrap();
        let without = encode(lab(protocol), &plain(param)).unwrap();
        let is_dropped = warned(&sent, param).contains(&WarningKind::Dropped);
        assert_eq!(body(&sent) == body(&without), is_dropped, "{cell}: {:?}", sent.warnings);
    }
}

#[test]
fn a_stripped_parameter_leaves_nothing_in_the_body_and_a_warning() {
    for (protocol, param) in cells() {
        let cell = format!("{} {param}", protocol.name());
        let provider = lab(protocol).strip([param]);
        let sent = encode(provider.clone(), &asked(param)).unwrap();
        let without = encode(provider, &plain(param)).unwrap();
        assert_eq!(body(&sent), body(&without), "{cell}");
        assert_eq!(warned(&sent, param), [WarningKind::Dropped], "{cell}");
        let usual = body(&encode(lab(protocol), &plain(param)).unwrap());
        if param == Param::MaxTokens && usual.get("max_tokens").is_some() {
            assert!(body(&without).get("max_tokens").is_none(), "{cell}");
        } else {
            assert_eq!(body(&without), usual, "{cell}");
        }
    }
}

#[test]
fn a_renamed_parameter_is_sent_under_the_other_name_only() {
    for (protocol, param) in cells() {
        for (name, pointer) in [("other", "/other"), ("an.other.name", "/an/other/name")] {
            let cell = format!("{} {param} as {name}", protocol.name());
            let sent = encode(lab(protocol).rename(param, name), &asked(param)).unwrap();
            assert!(warned(&sent, param).contains(&WarningKind::Renamed), "{cell}");
            let mut rest = body(&sent);
            assert!(rest.pointer(pointer).is_some_and(|value| !value.is_null()), "{cell}: {rest}");
            rest.as_object_mut().unwrap().remove(name.split('.').next().unwrap());
            // A voice requests audio, which is a parameter of its own.
            let audio = match protocol {
                Protocol::Gemini => "generationConfig",
                Protocol::GeminiInteractions => "response_modalities",
                _ => "",
            };
            if param == Param::Audio {
                rest.as_object_mut().unwrap().remove(audio);
            }
            let stripped = encode(lab(protocol).strip([param]), &plain(param)).unwrap();
            assert_eq!(rest, body(&stripped), "{cell}");
        }
    }
}

#[test]
fn only_numbers_are_clamped() {
    for (protocol, param) in cells() {
        let cell = format!("{} {param}", protocol.name());
        let encoded = encode(lab(protocol).clamp(param, 1.0, 2.0), &asked(param));
        if !is_number(param) {
            let error = encoded.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Config, "{cell}");
            assert!(error.message().contains(param.name()), "{cell}: {}", error.message());
            assert!(error.hint().is_some_and(|hint| hint.contains("max_tokens")), "{cell}");
            continue;
        }
        let sent = encoded.unwrap();
        if warned(&sent, param) == [WarningKind::Dropped] {
            assert_eq!(body(&sent), body(&encode(lab(protocol), &plain(param)).unwrap()), "{cell}");
            continue;
        }
        assert_eq!(warned(&sent, param), [WarningKind::Clamped], "{cell}");
        let nearest = if value(param).as_f64() < Some(1.0) { 1.0 } else { 2.0 };
        let mut near = serde_json::to_value(asked(param)).unwrap();
        let whole = Value::from(nearest as i64);
        near[param.name()] = if value(param).is_f64() { nearest.into() } else { whole };
        let near = serde_json::from_value(near).unwrap();
        assert_eq!(body(&sent), body(&encode(lab(protocol), &near).unwrap()), "{cell}");
    }
}

#[test]
fn an_ignored_parameter_is_sent_with_a_warning() {
    for (protocol, param) in cells() {
        let cell = format!("{} {param}", protocol.name());
        let sent = encode(lab(protocol).ignored(param), &asked(param)).unwrap();
        assert_eq!(body(&sent), body(&encode(lab(protocol), &asked(param)).unwrap()), "{cell}");
        let kinds = warned(&sent, param);
        assert!(
            kinds.contains(&WarningKind::Ignored) || kinds == [WarningKind::Dropped],
            "{cell}: {kinds:?}"
        );
    }
}

#[test]
fn a_default_is_sent_like_a_value_of_the_caller() {
    for (protocol, param) in cells() {
        let cell = format!("{} {param}", protocol.name());
        let provider = lab(protocol).default_field(param.name(), value(param));
        let by_default = encode(provider.clone(), &plain(param)).unwrap();
        let by_caller = encode(lab(protocol), &asked(param)).unwrap();
        assert_eq!(body(&by_default), body(&by_caller), "{cell}");
        assert_eq!(by_default.warnings, by_caller.warnings, "{cell}");
        // Values of the caller stay.
        assert_eq!(body(&encode(provider, &asked(param)).unwrap()), body(&by_caller), "{cell}");
    }
}

#[test]
fn a_parameter_that_is_not_allowed_is_left_out_with_a_warning() {
    for (protocol, param) in cells() {
        let cell = format!("{} {param}", protocol.name());
        let none = lab(protocol).allow(&["model"]);
        let sent = encode(none.clone(), &asked(param)).unwrap();
        assert_eq!(warned(&sent, param), [WarningKind::Dropped], "{cell}");
        assert_eq!(body(&sent), body(&encode(none, &plain(param)).unwrap()), "{cell}");
        // A rule for the parameter implies that the provider accepts it.
        let renamed = lab(protocol).allow(&["tools", "toolConfig"]).rename(param, "other");
        let sent = encode(renamed, &asked(param)).unwrap();
        assert_ne!(body(&sent)["other"], Value::Null, "{cell}");
    }
}

/// A name in the list is the name under which a parameter is sent, or the object that the parameter is in.
#[test]
fn a_name_in_the_list_allows_the_field_with_that_name() {
    use Protocol::{Anthropic, Gemini, OpenAiChat, OpenAiResponses};
    for (protocol, param, name) in [
        (OpenAiChat, Param::Thinking, "reasoning_effort"),
        (OpenAiResponses, Param::MaxTokens, "max_output_tokens"),
        (OpenAiResponses, Param::ReasoningEffort, "reasoning"),
        (OpenAiResponses, Param::ReasoningEffort, "reasoning.effort"),
        (Anthropic, Param::ResponseFormat, "output_config"),
        (Anthropic, Param::User, "metadata.user_id"),
        (Gemini, Param::Temperature, "generationConfig"),
        (Gemini, Param::Temperature, "generationConfig.temperature"),
    ] {
        let names: &'static [&'static str] = Box::leak(Box::new([name]));
        let sent = encode(lab(protocol).allow(names), &asked(param)).unwrap();
        let usual = encode(lab(protocol), &asked(param)).unwrap();
        let path = format!("/{}", name.replace('.', "/"));
        let here = |body: Value| body.pointer(&path).cloned();
        assert!(here(body(&sent)).is_some(), "{param} as {name}");
        assert_eq!(here(body(&sent)), here(body(&usual)), "{param} as {name}");
        assert_eq!(warned(&sent, param), [], "{param} as {name}");
    }
}
