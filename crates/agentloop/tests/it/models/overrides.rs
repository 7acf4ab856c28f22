//! Model data from the user.

use agentloop::models::ModelCatalog;
use agentloop::{AgentLoop, Config, ErrorKind};

#[test]
fn a_field_counts_and_the_others_stay() {
    let known = ModelCatalog::embedded().lookup("openai", "gpt-4o").unwrap();
    let catalog = ModelCatalog::embedded()
        .with_overrides("[\"OpenAI/GPT-4o\"]\ncontext_window = 7\nabilities = { tools = false }\n")
        .unwrap();
    let changed = catalog.lookup("openai", "gpt-4o").unwrap();
    assert_eq!(changed.context_window, Some(7));
    assert_eq!(changed.abilities.tools, Some(false));
    assert_eq!(changed.abilities.image_input, known.abilities.image_input);
    assert_eq!(
        (changed.max_output_tokens, &changed.prices),
        (known.max_output_tokens, &known.prices)
    );
    let all = catalog.of_provider("openai");
    assert_eq!(all.iter().filter(|model| model.context_window == Some(7)).count(), 1);
    assert_eq!(all.len(), ModelCatalog::embedded().of_provider("openai").len());
}

#[test]
fn json_is_read_too_and_the_last_word_counts() {
    let catalog = ModelCatalog::embedded()
        .with_overrides(r#"{"lab/one": {"context_window": 1, "max_output_tokens": 2}}"#)
        .and_then(|catalog| catalog.with_overrides(r#"{"lab/one": {"context_window": 3}}"#))
        .unwrap();
    let model = catalog.lookup("lab", "one-2025-08-07").unwrap();
    assert_eq!((model.context_window, model.max_output_tokens), (Some(3), Some(2)));
    assert_eq!(model.id, "lab/one");
    assert_eq!(catalog.of_provider("lab").len(), 1);
}

#[test]
fn a_price_is_exact_whether_text_or_number() {
    let text = "[\"lab/one\"]\nprices = [{ per_million = { input = 0.1, output = \"0.4\" } }]\n";
    let model =
        ModelCatalog::embedded().with_overrides(text).unwrap().lookup("lab", "one").unwrap();
    let units = model.prices[0].per_million;
    assert_eq!(units.input.unwrap().to_string(), "0.1");
    assert_eq!(units.output.unwrap().to_string(), "0.4");
}

#[test]
fn a_mistake_is_an_error_with_its_line() {
    for (text, line, word) in [
        ("[\"lab/one\"]\n\ncontext_windw = 7\n", "line 3", "context_windw"),
        ("[\"lab/one\"]\nabilities = { tool = true }\n", "line 2", "tool"),
        ("[\"lab/one\"]\nprices = [{ input = 1 }]\n", "line 2", "input"),
        ("[\"lab/one\"]\ndeprecation_date = \"soon\"\n", "line 2", "soon"),
        ("[\"lab/one\"]\nefforts = [\"huge\"]\n", "line 2", "huge"),
        ("{\"lab/one\":\n{\"context\": 1}}", "line 2", "context"),
        ("[one]\ncontext_window = 7\n", "", "`one` is not the name of a model"),
    ] {
        let error = ModelCatalog::embedded().with_overrides(text).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Config);
        assert!(error.message().contains(line) && error.message().contains(word), "{error}");
    }
}

#[test]
fn the_configuration_file_can_set_it_too() {
    let text = "default_model = \"lab/one\"\n[models.\"lab/one\"]\ncontext_window = 5\n";
    let ai = AgentLoop::builder().config(&Config::parse(text).unwrap()).build().unwrap();
    assert_eq!(ai.catalog().lookup("lab", "one").unwrap().context_window, Some(5));
    assert!(ai.catalog().lookup("openai", "gpt-4o").is_some());
    let error = Config::parse("[models.\"lab/one\"]\ncontext_windw = 5\n").unwrap_err();
    assert!(error.message().starts_with("line 2"), "{error}");
    let error = Config::parse("[models.one]\ncontext_window = 5\n").unwrap_err();
    assert_eq!(error.message(), "models: `one` is not the name of a model");
    assert!(error.hint().is_some());
}

#[test]
fn a_newer_file_takes_the_place_of_the_embedded_one() {
    let folder = std::env::temp_dir().join(format!("agentloop-models-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let data = crate::models::file(&[r#"{"id":"lab/one","context_window":1}"#]).to_text().unwrap();
    std::fs::write(folder.join("models.json"), data).unwrap();
    let text = "model_data = \"models.json\"\n[models.\"lab/one\"]\nmax_output_tokens = 2\n";
    let path = folder.join("agentloop.toml");
    std::fs::write(&path, text).unwrap();
    let config = Config::read(&path);
    std::fs::write(folder.join("models.json"), "{}").unwrap();
    let broken = Config::read(&path).unwrap_err();
    std::fs::remove_dir_all(&folder).unwrap();

    let ai = AgentLoop::builder().config(&config.unwrap()).build().unwrap();
    let model = ai.catalog().lookup("lab", "one").unwrap();
    assert_eq!((model.context_window, model.max_output_tokens), (Some(1), Some(2)));
    assert!(ai.catalog().lookup("openai", "gpt-4o").is_none());
    assert!(broken.message().contains("models.json"), "{broken}");
}
