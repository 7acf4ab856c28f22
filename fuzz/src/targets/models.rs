//! A file of models.

use agentloop::{ErrorKind, ModelCatalog};

pub(crate) fn seeds() -> Vec<Vec<u8>> {
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

/// A whole file with a few of the models.
pub(crate) fn documents() -> Vec<Vec<u8>> {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../crates/agentloop/src/models/data.json");
    let mut value: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    shorten(&mut value);
    vec![value.to_string().into_bytes()]
}

/// Keeps a few elements of each list and of each object that has many.
fn shorten(value: &mut serde_json::Value) {
    match value {
        serde_json::Value::Array(items) => {
            items.truncate(8);
            items.iter_mut().for_each(shorten);
        }
        serde_json::Value::Object(fields) => {
            let names: Vec<String> = fields.keys().skip(12).cloned().collect();
            names.iter().for_each(|name| drop(fields.shift_remove(name)));
            fields.values_mut().for_each(shorten);
        }
        _ => {}
    }
}

pub(crate) fn check(bytes: &[u8]) {
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
