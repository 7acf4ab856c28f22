//! The file that the library carries.

use std::collections::BTreeSet;

use agentloop::Provider;
use agentloop::models::{Abilities, DataFile, ModelCatalog, ModelKind};

use crate::models::today;
use crate::models::write::Content;

const TEXT: &str = include_str!("../../../src/models/data.json");

/// The most bytes that it may have.
const MOST: usize = 200_000;

#[test]
fn it_reads_whole_in_order_and_is_not_too_large() {
    let file = DataFile::parse(TEXT).unwrap();
    assert!(TEXT.len() <= MOST, "{} bytes", TEXT.len());
    assert!(file.models.len() > 500, "{} models", file.models.len());
    assert_eq!(Content::of(file).to_text().unwrap(), TEXT, "it is written as the tool writes it");
    assert!(serde_json::from_str::<serde_json::Value>(TEXT).is_ok(), "it is JSON");
}

#[test]
fn it_has_a_date_and_names_its_sources() {
    let catalog = ModelCatalog::embedded();
    assert!(catalog.date().unwrap() >= "2026-11-15".parse().unwrap());
    let sources = catalog.sources();
    let names: Vec<&str> = sources.iter().map(|source| source.name.as_str()).collect();
    assert_eq!(names, ["models.dev", "litellm"]);
    for source in &sources {
        assert!(source.version.contains(|c: char| c.is_ascii_digit()), "{}", source.version);
        assert!(source.notice.contains("Copyright (c)"), "{}", source.notice);
        assert!(source.notice.contains("shall be included in all copies"), "{}", source.notice);
    }
}

#[test]
fn every_provider_of_it_is_a_row() {
    let rows: BTreeSet<String> = Provider::all().iter().map(|row| row.name.to_string()).collect();
    for key in DataFile::parse(TEXT).unwrap().models.keys() {
        let (provider, model) = key.split_once('/').unwrap();
        assert!(rows.contains(provider), "{key}");
        assert!(!model.is_empty(), "{key}");
    }
}

#[test]
fn each_record_is_found_under_its_name() {
    let catalog = ModelCatalog::embedded();
    for model in DataFile::parse(TEXT).unwrap().models.values() {
        let (provider, name) = model.id.split_once('/').unwrap();
        assert_eq!(catalog.lookup(provider, name).as_ref(), Some(model));
    }
}

#[test]
fn no_model_is_gone_free_or_without_anything() {
    let day = ModelCatalog::embedded().date().unwrap();
    for (key, model) in DataFile::parse(TEXT).unwrap().models {
        assert!(model.deprecation_date.is_none_or(|gone| gone > day), "{key} is gone");
        assert!(
            model.abilities != Abilities::default()
                || !model.prices.is_empty()
                || model.context_window.is_some(),
            "{key}"
        );
        let Some(price) = model.price(0, today(), None) else { continue };
        let units = price.per_million;
        let is_free = key.starts_with("openrouter/") && key.ends_with(":free");
        let costs = |usd: Option<agentloop::Usd>| usd.is_some_and(|usd| usd.picos() > 0);
        assert!(is_free || costs(units.input) || costs(units.output), "{key} costs nothing");
        for (_, usd) in units_of(&units) {
            assert!(usd.picos() >= 0, "{key}");
        }
    }
}

fn units_of(units: &agentloop::models::UnitPrices) -> Vec<(String, agentloop::Usd)> {
    let value = serde_json::to_value(units).unwrap();
    let fields = value.as_object().unwrap().iter();
    fields.map(|(name, usd)| (name.clone(), usd.as_str().unwrap().parse().unwrap())).collect()
}

#[test]
fn well_known_models_have_the_figures_of_their_makers() {
    for (provider, model, context, output, input_usd, output_usd) in [
        ("openai", "gpt-4o", 128_000, 16_384, "2.5", "10"),
        ("openai", "gpt-4.1", 1_047_576, 32_768, "2", "8"),
        ("openai", "gpt-5.4", 1_050_000, 128_000, "2.5", "15"),
        ("anthropic", "claude-sonnet-4-5", 200_000, 64_000, "3", "15"),
        ("anthropic", "claude-haiku-4-5", 200_000, 64_000, "1", "5"),
        ("anthropic", "claude-opus-4-6", 1_000_000, 128_000, "5", "25"),
        ("google", "gemini-2.5-flash", 1_048_576, 65_536, "0.3", "2.5"),
        ("groq", "llama-3.3-70b-versatile", 131_072, 32_768, "0.59", "0.79"),
    ] {
        let known = ModelCatalog::embedded().lookup(provider, model).unwrap();
        let units = known.price(1_000, today(), None).unwrap().per_million;
        assert_eq!(known.kind, Some(ModelKind::Chat), "{model}");
        assert_eq!(known.context_window, Some(context), "{model}");
        assert_eq!(known.max_output_tokens, Some(output), "{model}");
        assert_eq!(units.input.unwrap().to_string(), input_usd, "{model}");
        assert_eq!(units.output.unwrap().to_string(), output_usd, "{model}");
    }
    let vectors = ModelCatalog::embedded().lookup("openai", "text-embedding-3-small").unwrap();
    assert_eq!((vectors.kind, vectors.dimensions), (Some(ModelKind::Embedding), Some(1_536)));
}

#[test]
fn an_announced_end_of_a_price_is_kept() {
    let model = ModelCatalog::embedded().lookup("google", "gemini-4-argon").unwrap();
    assert!(model.price(1, today(), None).is_some());
    assert!(model.price(1, crate::models::noon(20_788), None).is_none(), "2026-12-01");
}
