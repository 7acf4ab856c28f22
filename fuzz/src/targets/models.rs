//! A file of models.

use agentloop::{ErrorKind, ModelCatalog};

pub(super) fn seeds() -> Vec<Vec<u8>> {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../crates/agentloop/src/models/data.json");
    let whole = std::fs::read_to_string(path).unwrap();
    // Its head, and a few of its models: the file is read line by line.
    let lines: Vec<&str> = whole.lines().collect();
    let mut seeds: Vec<Vec<u8>> = Vec::new();
    for at in (0..lines.len()).step_by((lines.len() / 12).max(1)) {
        let some = lines.iter().take(6).chain(lines.iter().skip(at).take(8));
        seeds.push(some.flat_map(|line| [line, "\n"]).collect::<String>().into_bytes());
    }
    seeds
        .push(lines.iter().take(10).flat_map(|line| [line, "\n"]).collect::<String>().into_bytes());
    seeds
}

pub(super) fn check(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    for read in [ModelCatalog::parse(text), ModelCatalog::embedded().with_overrides(text)] {
        match read {
            Ok(catalog) => {
                let _ = catalog.date();
                let _ = catalog.sources();
                for provider in ["openai", "anthropic", "google"] {
                    let _ = catalog.lookup(provider, "gpt-4.1");
                    for model in catalog.of_provider(provider).into_iter().take(20) {
                        serde_json::to_string(&model).unwrap();
                    }
                }
            }
            Err(error) => assert_eq!(error.kind(), ErrorKind::Config, "{error}"),
        }
    }
}
