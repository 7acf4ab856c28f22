//! The form of each feature of a request on the wire, for every provider, as readable tables.
//!
//! `INSTA_UPDATE=always cargo test -p agentloop --test it wire` writes the tables, and with `UPDATE_DOCS=1` also
//! `docs/parameters.md`.

mod change;
pub(crate) mod features;
mod parameters;
mod reasoning;

use agentloop::{AgentLoop, ChatRequest, Protocol, Provider, inspect};
use change::Change;
use features::FEATURES;
use serde_json::{Value, json};

/// A client that needs no environment.
pub(crate) fn client() -> AgentLoop {
    let mut builder = AgentLoop::builder()
        .env("AZURE_RESOURCE_NAME", "lab")
        .env("AWS_REGION", "us-east-1")
        .env("VERTEX_LOCATION", "europe-west4")
        .env("VERTEX_PROJECT", "lab");
    for provider in Provider::all() {
        for variable in provider.key.variables() {
            builder = builder.env(variable.as_ref(), "k");
        }
    }
    builder.build().unwrap()
}

/// A plain question, and `more`.
pub(crate) fn request(model: &str, more: &Value) -> ChatRequest {
    let mut request = json!({ "model": model, "messages": [{ "role": "user", "content": "Hi" }] });
    let (fields, more) = (request.as_object_mut().unwrap(), more.as_object().unwrap());
    fields.extend(more.clone());
    serde_json::from_value(request).unwrap()
}

/// Returns the changes that `more` makes to a request to `model`, compared with the request without it.
fn change(ai: &AgentLoop, model: &str, beside: &Value, more: &Value) -> Change {
    let plain = inspect::encode(ai, &request(model, beside), false).unwrap();
    let plain: Value = serde_json::from_str(plain.body.get()).unwrap();
    Change::new(&plain, inspect::encode(ai, &request(model, more), false))
}

#[test]
fn every_feature_has_its_form_in_every_row() {
    let ai = client();
    let mut vanished = Vec::new();
    let rows = Provider::all();
    let rows = rows.iter().map(|row| (row.name.to_string(), row, row.protocol));
    // One provider with both protocols represents the others.
    let openai = Provider::builtin("openai").unwrap();
    let beside = ("openai_responses".to_owned(), &openai, Protocol::OpenAiResponses);
    for (title, provider, protocol) in rows.chain([beside]) {
        // An unknown model, so only the rules of the provider apply.
        let model = format!("{}/some-model", provider.name);
        let mut table = format!("{} speaks {}\n", provider.name, protocol.name());
        for feature in FEATURES {
            let spoken = |mut fields: Value| {
                fields["protocol"] = json!(protocol);
                fields
            };
            let change = change(&ai, &model, &spoken(feature.beside()), &spoken(feature.asked()));
            // All protocols but one show thoughts only on request.
            let as_ever = feature.name == "thoughts hidden" && protocol != Protocol::OpenAiChat;
            if change.is_silent() && !as_ever {
                vanished.push(format!("{model}: {}", feature.name));
            }
            table.push_str(&change.table_lines(feature.name));
        }
        insta::with_settings!({ prepend_module_to_snapshot => false, omit_expression => true }, {
            insta::assert_snapshot!(title, table);
        });
    }
    assert_eq!(vanished, Vec::<String>::new(), "what is not sent is a warning");
}
