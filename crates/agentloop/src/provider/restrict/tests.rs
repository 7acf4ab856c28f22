use std::collections::BTreeMap;

use super::*;
use crate::models::restriction::TEXTS;
use crate::models::{Action, ModelRestrictions};

/// Every row of the table, with the provider whose it is.
fn table() -> Vec<(String, Restriction)> {
    let mut rows: Vec<(String, Restriction)> =
        Restriction::families().iter().map(|row| (String::new(), row.clone())).collect();
    for provider in Provider::all() {
        let own = provider.restrictions.iter();
        rows.extend(own.map(|row| (provider.name.to_string(), row.clone())));
    }
    rows
}

#[test]
fn every_restriction_has_a_reason_and_a_source() {
    for (provider, row) in table() {
        assert!(!row.id.is_empty() && !row.source.is_empty(), "{provider}: {row:?}");
        let silent = matches!(row.then, Action::Speak(_));
        assert!(silent || !row.reason.is_empty(), "{provider}: {}", row.id);
    }
}

#[test]
fn ids_are_unique_per_provider_and_bounds_are_valid() {
    let mut seen: BTreeMap<(String, String), Restriction> = BTreeMap::new();
    for (provider, row) in table() {
        let changes = ModelRestrictions { add: vec![row.clone()], remove: Vec::new() };
        changes.check().unwrap();
        // The presets of one provider are one row for each name.
        if row.id != "perplexity-preset" {
            let before = seen.insert((provider.clone(), row.id.to_string()), row.clone());
            assert_eq!(before, None, "{provider}: {}", row.id);
        }
        match row.then {
            Action::Clamp { param, .. } => assert!(param.domain().is_some(), "{}", row.id),
            Action::Longest { param, .. } => assert!(TEXTS.contains(&param), "{}", row.id),
            _ => {}
        }
    }
}

#[test]
fn a_pattern_names_models_and_an_exception_takes_some_out() {
    let row = Restriction::new("r", Action::ThinkingOff).models(["gpt-5", "gpt-5-*"]);
    let row = row.except(["gpt-5-chat*"]);
    for (model, expected) in
        [("gpt-5", true), ("GPT-5-mini", true), ("gpt-5-chat-latest", false), ("gpt-5.1", false)]
    {
        assert_eq!(row.is_about(model), expected, "{model}");
    }
}
