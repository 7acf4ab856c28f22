//! Small sources, made up.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use agentloop::models::{DataFile, Date, ModelData, ModelKind};

use crate::listing::LISTINGS;
use crate::{litellm, merge, models_dev, providers};

fn litellm_models() -> litellm::Models {
    litellm::read(
        r#"{
        "sample_spec": {"litellm_provider": "one of many", "mode": "one of many"},
        "both": {"litellm_provider": "openai", "mode": "chat", "max_input_tokens": 99, "max_output_tokens": 10,
            "input_cost_per_token": 2.5e-06, "output_cost_per_token": 1e-05, "cache_read_input_token_cost": 2.5e-07,
            "input_cost_per_token_above_272k_tokens": 5e-06, "output_cost_per_token_above_272k_tokens": 2e-05,
            "input_cost_per_token_priority": 5e-06, "output_cost_per_token_priority": 2e-05,
            "output_cost_per_reasoning_token": 1e-05, "supports_function_calling": false, "supports_pdf_input": true,
            "reasoning_effort_levels": ["low", "huge"]},
        "quarrel": {"litellm_provider": "openai", "mode": "chat", "input_cost_per_token": 1e-06,
            "output_cost_per_token": 2e-06},
        "gone": {"litellm_provider": "openai", "mode": "chat", "max_input_tokens": 1, "deprecation_date": "2026-11-15"},
        "going": {"litellm_provider": "openai", "mode": "chat", "max_input_tokens": 4096.0,
            "deprecation_date": "2026-11-16"},
        "paint": {"litellm_provider": "openai", "mode": "image_generation", "max_input_tokens": 1},
        "512x512/paint": {"litellm_provider": "openai", "mode": "chat", "max_input_tokens": 1},
        "nothing": {"litellm_provider": "openai", "mode": "chat"},
        "vectors": {"litellm_provider": "openai", "mode": "embedding", "output_vector_size": 8, "max_input_tokens": 5,
            "input_cost_per_token": 2e-08, "output_cost_per_token": 0.0},
        "dear-vectors": {"litellm_provider": "openai", "mode": "embedding", "max_input_tokens": 5,
            "input_cost_per_token": 0.0001},
        "free": {"litellm_provider": "openai", "mode": "chat", "max_input_tokens": 1, "input_cost_per_token": 0.0,
            "output_cost_per_token": 0.0},
        "moved-latest": {"litellm_provider": "openai", "mode": "chat", "max_input_tokens": 7,
            "input_cost_per_token": 3e-06, "output_cost_per_token": 3e-06},
        "claude-opus-4-20990101": {"litellm_provider": "anthropic", "mode": "chat", "max_output_tokens": 1,
            "input_cost_per_token": 1e-06, "output_cost_per_token": 1e-06,
            "search_context_cost_per_query": {"a": 0.01, "b": 0.01}},
        "deepseek/by-the-hour": {"litellm_provider": "deepseek", "mode": "chat", "max_input_tokens": 1,
            "input_cost_per_token": 1e-06, "output_cost_per_token": 1e-06, "off_peak_pricing": {}},
        "deepseek/by-night": {"litellm_provider": "deepseek", "mode": "chat", "input_cost_per_token": 2e-06,
            "output_cost_per_token": 4e-06, "off_peak_pricing": {"input_cost_per_token": 1e-06,
            "output_cost_per_token": 2e-06, "windows": [{"hours_utc": ["00:00-01:00", "10:00-00:00"],
            "weekdays": [1, 2]}, {"hours_utc": "00:00-00:00", "weekdays": [7]}]}},
        "xai/disputed": {"litellm_provider": "xai", "mode": "chat", "supports_reasoning": true,
            "supports_response_schema": true},
        "azure/eu/regional": {"litellm_provider": "azure", "mode": "chat", "max_input_tokens": 1},
        "together_ai/old": {"litellm_provider": "together_ai", "mode": "chat", "max_input_tokens": 1},
        "unknown/m": {"litellm_provider": "unknown", "mode": "chat", "max_input_tokens": 1}
    }"#,
    )
    .unwrap()
}

/// A folder of models.dev, gone when it is dropped.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let root = std::env::temp_dir().join(format!("model-data-{}-{name}", std::process::id()));
        let folder = Self(root);
        folder.file(
            "models/maker/base.toml",
            "reasoning = true\ntool_call = true\nknowledge = \"2025-08\"\n[limit]\ncontext = 1_000\ninput = 5\noutput = 100\n\
             [modalities]\ninput = [\"text\", \"image\"]\noutput = [\"text\"]\n",
        );
        folder.file(
            "providers/openai/models/both.toml",
            "base_model = \"maker/base\"\nbase_model_omit = [\"limit.input\"]\n\
             reasoning_options = [{ type = \"effort\", values = [\"low\", \"high\", \"null\"] }]\n\
             [cost]\ninput = 2.50\noutput = 10\n[limit]\noutput = 50\n",
        );
        let text = "[cost]\ninput = 9\noutput = 9\n[limit]\ncontext = 3\n[modalities]\ninput = [\"text\"]\noutput = [\"text\"]\n";
        folder.file("providers/openai/models/quarrel.toml", text);
        folder.file("providers/openai/models/moved-latest.toml", text);
        folder
            .file("providers/openai/models/v1.5.toml", &format!("status = \"deprecated\"\n{text}"));
        folder.file("providers/openai/models/v2.5.toml", text);
        folder.file("providers/google-vertex/models/gemini-x.toml", text);
        folder.file("providers/google-vertex/models/other/claude.toml", text);
        folder.file("providers/openrouter/models/a/b:free.toml", &text.replace('9', "0"));
        folder.file("providers/groq/models/zero.toml", &text.replace('9', "0.00"));
        folder.file("providers/unknown/models/m.toml", text);
        let thoughtless = format!("reasoning = false\nstructured_output = false\n{text}");
        folder.file("providers/xai/models/plain.toml", &thoughtless);
        folder.file("providers/xai/models/disputed.toml", &thoughtless);
        folder.file("providers/xai/models/m-thinking.toml", &thoughtless);
        folder.file("providers/nvidia/models/plain.toml", &thoughtless);
        folder
    }

    fn file(&self, path: &str, text: &str) {
        let path = self.0.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn merged(
    models_dev: models_dev::Models,
    litellm: litellm::Models,
) -> (Vec<ModelData>, Vec<String>) {
    let merge::Merged { models, notes } =
        merge::merge(models_dev, litellm, Date::new(2026, 11, 15).unwrap());
    (models, notes)
}

fn find<'a>(models: &'a [ModelData], id: &str) -> &'a ModelData {
    models.iter().find(|model| model.id == id).unwrap()
}

#[test]
fn the_sources_come_together_field_by_field() {
    let folder = Folder::new("fields");
    let (models, notes) = merged(models_dev::read(&folder.0).unwrap(), litellm_models());
    let both = find(&models, "openai/both");
    assert_eq!((both.context_window, both.max_output_tokens), (Some(1_000), Some(50)));
    assert_eq!(both.max_input_tokens, None, "left out of the base");
    assert_eq!(both.abilities.tools, Some(true), "models.dev counts before litellm");
    assert_eq!(both.abilities.pdf_input, Some(true), "and litellm before a list's silence");
    assert_eq!(both.abilities.audio_input, Some(false));
    assert_eq!(both.efforts.as_ref().map(Vec::len), Some(2));
    let prices: Vec<String> =
        both.prices.iter().map(|price| serde_json::to_string(price).unwrap()).collect();
    assert_eq!(
        prices,
        [
            r#"{"per_million":{"input":"2.5","output":"10","cache_read":"0.25"}}"#,
            r#"{"above_prompt_tokens":272000,"per_million":{"input":"5","output":"20"}}"#,
            r#"{"service_tier":"priority","per_million":{"input":"5","output":"20"}}"#,
        ]
    );
    assert!(find(&models, "openai/quarrel").prices.is_empty(), "one of the two is wrong");
    assert!(
        notes.iter().any(|note| note.contains("models.dev says 9/9 and litellm 1/2")),
        "{notes:?}"
    );
    let moved = find(&models, "openai/moved-latest");
    assert_eq!(moved.context_window, Some(7), "litellm follows a name that moves");
    assert_eq!(moved.prices[0].per_million.input.unwrap().to_string(), "3");
}

#[test]
fn what_cannot_be_called_or_is_gone_is_left_out() {
    let folder = Folder::new("gone");
    let (models, _) = merged(models_dev::read(&folder.0).unwrap(), litellm_models());
    let ids: Vec<&str> = models.iter().map(|model| model.id.as_str()).collect();
    assert_eq!(
        ids,
        [
            "anthropic/claude-opus-4-20990101",
            "deepseek/by-night",
            "deepseek/by-the-hour",
            "groq/zero",
            "nvidia/plain",
            "openai/both",
            "openai/dear-vectors",
            "openai/free",
            "openai/going",
            "openai/moved-latest",
            "openai/quarrel",
            "openai/v2.5",
            "openai/vectors",
            "openrouter/a/b:free",
            "vertex/gemini-x",
            "xai/disputed",
            "xai/m-thinking",
            "xai/plain",
        ]
    );
}

#[test]
fn a_price_that_is_not_one_is_unknown() {
    let folder = Folder::new("prices");
    let (models, notes) = merged(models_dev::read(&folder.0).unwrap(), litellm_models());
    for id in ["openai/free", "groq/zero", "openai/dear-vectors", "deepseek/by-the-hour"] {
        assert!(find(&models, id).prices.is_empty(), "{id}");
    }
    assert!(notes.iter().any(|note| note.contains("nothing of its kind")), "{notes:?}");
    let night = &find(&models, "deepseek/by-night").prices[1];
    assert_eq!(
        serde_json::to_string(night).unwrap(),
        r#"{"hours":["12/00:00-01:00","12/10:00-00:00","7/00:00-00:00"],"per_million":{"input":"1","output":"2"}}"#
    );
    let free = &find(&models, "openrouter/a/b:free").prices[0];
    assert_eq!(free.per_million.input.map(|usd| usd.picos()), Some(0), "its name says so");
}

#[test]
fn a_no_that_changes_requests_is_a_sure_one() {
    let folder = Folder::new("sure");
    let (models, _) = merged(models_dev::read(&folder.0).unwrap(), litellm_models());
    let said = |id: &str| {
        let abilities = find(&models, id).abilities;
        (abilities.reasoning, abilities.structured_output)
    };
    assert_eq!(said("xai/plain"), (Some(false), Some(false)));
    assert_eq!(said("xai/disputed"), (None, None), "the sources contradict each other");
    assert_eq!(said("xai/m-thinking").0, None, "its name contradicts it");
    assert_eq!(said("nvidia/plain"), (None, None), "no list has it");
}

#[test]
fn the_file_of_the_library_names_the_providers_with_variants_and_profiles() {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crates/agentloop/src/models/data.json");
    let file = DataFile::parse(&std::fs::read_to_string(path).unwrap()).unwrap();
    assert_eq!(file.variants, providers::with_variants());
    assert_eq!(file.profiles, providers::with_profiles());
}

#[test]
fn a_name_in_a_source_means_one_provider() {
    let mut seen = BTreeSet::new();
    for (provider, listing) in LISTINGS {
        assert!(providers::find(provider).is_some(), "{provider} is not a provider of the library");
        let models_dev = listing.models_dev.iter().map(|name| ("models.dev", name));
        // One name may be listed with several prefixes.
        let litellm: BTreeSet<_> = listing.litellm.iter().map(|(name, _)| name).collect();
        let litellm = litellm.into_iter().map(|name| ("litellm", name));
        for (source, name) in models_dev.chain(litellm) {
            assert!(seen.insert((source, *name)), "{source}: {name}");
        }
    }
    let (row, model) = providers::litellm("azure_ai", "azure_ai/deepseek-v4").unwrap();
    assert_eq!((row.name.as_ref(), model), ("azure", "deepseek-v4"));
    assert!(providers::litellm("azure", "azure/eu/gpt-5").is_none(), "a region");
    let (_, model) = providers::litellm("bedrock", "bedrock/eu-west-2/maker.m").unwrap();
    assert_eq!(model, "eu-west-2/maker.m");
    assert_eq!(providers::litellm("bedrock_converse", "us.maker.m").unwrap().1, "us.maker.m");
    for other in ["bedrock/*/1-month-commitment/maker.m", "bedrock/invoke/maker.m", "maker.m@1"] {
        assert!(providers::litellm("bedrock", other).is_none(), "{other}");
    }
    assert!(providers::litellm("groq", "gpt-oss").is_none(), "without its prefix");
}

#[test]
fn one_source_is_enough() {
    let (models, _) = merged(models_dev::Models::new(), litellm_models());
    let vectors = find(&models, "openai/vectors");
    assert_eq!((vectors.kind, vectors.dimensions), (Some(ModelKind::Embedding), Some(8)));
    assert_eq!(vectors.prices[0].per_million.output, None);
    assert_eq!(find(&models, "openai/going").context_window, Some(4_096));
    assert_eq!(find(&models, "together/old").context_window, Some(1), "nothing to complete");

    let folder = Folder::new("one");
    let (models, _) = merged(models_dev::read(&folder.0).unwrap(), litellm::Models::new());
    assert_eq!(find(&models, "openai/quarrel").prices.len(), 1);
}

#[test]
fn the_rows_of_the_library_count_before_both() {
    let (models, _) = merged(models_dev::Models::new(), litellm_models());
    let claude = find(&models, "anthropic/claude-opus-4-20990101");
    assert_eq!(claude.max_output_tokens, Some(32_000));
    assert_eq!(claude.abilities.structured_output, Some(false));
    let calls = &claude.prices[0].per_call;
    assert_eq!(calls["web_search_requests"].to_string(), "0.01");
}

/// The prices of a model of Bedrock that litellm lists under these names, each at a price: `regions=input`.
fn priced(listed: &[(&str, u32)]) -> (Vec<String>, Vec<String>) {
    let entries: serde_json::Map<String, serde_json::Value> = listed
        .iter()
        .map(|(name, usd)| {
            let entry = serde_json::json!({
                "litellm_provider": "bedrock_converse", "mode": "chat", "max_input_tokens": 9,
                "input_cost_per_token": format!("{usd}e-06").parse::<f64>().unwrap(),
                "output_cost_per_token": 9e-06,
            });
            ((*name).to_owned(), entry)
        })
        .collect();
    let text = serde_json::to_string(&entries).unwrap();
    let (models, notes) = merged(models_dev::Models::new(), litellm::read(&text).unwrap());
    assert_eq!(models.len(), 1, "one record for all places");
    assert_eq!((models[0].id.as_str(), models[0].context_window), ("bedrock/maker.m", Some(9)));
    let line = |price: &agentloop::models::Price| {
        format!("{}={}", price.regions.join(","), price.per_million.input.unwrap())
    };
    (models[0].prices.iter().map(line).collect(), notes)
}

#[test]
fn the_places_of_a_model_are_lines_of_one_record() {
    let home = "us-east-1,us-east-2,us-west-2";
    let (lines, _) = priced(&[("maker.m", 1), ("us.maker.m", 1), ("bedrock/eu-west-2/maker.m", 2)]);
    assert_eq!(lines, ["eu-west-2=2".to_owned(), format!("us,{home}=1")]);
    let (lines, _) = priced(&[("maker.m", 1), ("bedrock/us-east-2/maker.m", 2)]);
    assert_eq!(lines, ["us-east-1,us-west-2=1", "us-east-2=2"], "a region has its own price");
    let (lines, notes) = priced(&[("maker.m", 1), ("global.maker.m", 1), ("us.maker.m", 2)]);
    assert_eq!(lines, ["global=1", "us=2"], "that of the global profile is not that of a region");
    assert!(notes[0].contains("the sources have that of the global profile"), "{notes:?}");
    let (lines, _) = priced(&[("maker.m", 2), ("global.maker.m", 1), ("us.maker.m", 2)]);
    assert_eq!(lines, ["global=1".to_owned(), format!("us,{home}=2")]);
    let (lines, _) = priced(&[("us.maker.m", 2), ("eu.maker.m", 2), ("jp.maker.m", 2)]);
    assert_eq!(lines, ["eu,jp,us=2"]);
    let (lines, notes) = priced(&[("us.maker.m", 1), ("eu.maker.m", 2), ("jp.maker.m", 1)]);
    assert_eq!(lines, ["us=1"], "{notes:?}");
    let gov = |east, west| {
        priced(&[("bedrock/us-gov-east-1/maker.m", east), ("bedrock/us-gov-west-1/maker.m", west)])
            .0
    };
    assert_eq!(gov(1, 1), ["us-gov-east-1,us-gov-west-1=1"]);
    assert!(gov(1, 2).is_empty(), "one of the two is wrong");
}
