//! The tables of the documentation that list providers are generated from the rows.
//!
//! `UPDATE_DOCS=1 cargo test -p agentloop --test it rows::docs` writes them.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

use agentloop::{AgentLoop, ChatRequest, Protocol, Provider, inspect};
use serde_json::{Value, json};

/// Compares the block of a document between its markers with `text`, or writes it.
fn check(document: &str, block: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(document);
    let mut written = std::fs::read_to_string(&path).unwrap();
    let open = format!(
        "<!-- {block}: generated; `UPDATE_DOCS=1 cargo test -p agentloop --test it rows::docs` writes it -->\n"
    );
    let begin = written.find(&open).expect("the marker is there") + open.len();
    let close = format!("<!-- end of {block} -->");
    let end = begin + written[begin..].find(&close).expect("the end marker is there");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        written.replace_range(begin..end, text);
        std::fs::write(&path, written).unwrap();
    } else {
        assert_eq!(&written[begin..end], text, "run with UPDATE_DOCS=1 to write docs/{document}");
    }
}

/// The unified server tools.
fn tools() -> [Value; 4] {
    [
        json!({"type": "web_search"}),
        json!({"type": "web_fetch"}),
        json!({"type": "code_execution"}),
        json!({"type": "file_search", "vector_store_ids": ["s"]}),
    ]
}

/// The names under which a tool is sent in a protocol of a provider: a type, a key of an object, or a field of the body.
fn sent(provider: &Provider, protocol: Protocol, tool: &Value) -> BTreeSet<String> {
    // Some providers search in Chat only with models whose name contains `search`.
    let model = format!("{}/m-search", provider.name);
    let request: ChatRequest = serde_json::from_value(json!({
        "model": model, "messages": [{"role": "user", "content": "Hi"}], "tools": [tool],
    }))
    .unwrap();
    // Some URLs contain variables.
    let url = format!("AGENTLOOP_{}_BASE_URL", provider.name.to_ascii_uppercase());
    let ai = AgentLoop::builder()
        .provider(provider.clone().key("k"))
        .env(url, "http://provider.invalid")
        .build()
        .unwrap();
    let encoded = inspect::encode(&ai, &request.protocol(protocol), false).unwrap();
    let body: Value = serde_json::from_str(encoded.body.get()).unwrap();
    let mut names = BTreeSet::new();
    for tool in body["tools"].as_array().into_iter().flatten() {
        match tool["type"].as_str() {
            Some(kind) => names.insert(kind.to_owned()),
            None => names.insert(tool.as_object().unwrap().keys().next().unwrap().clone()),
        };
    }
    if body.get("web_search_options").is_some() {
        names.insert("web_search_options".to_owned());
    }
    names
}

#[test]
fn the_docs_list_who_serves_which_tool() {
    let mut text = String::from("| |");
    for tool in tools() {
        let _ = write!(text, " `{}` |", tool["type"].as_str().unwrap());
    }
    text.push_str("\n|---|---|---|---|---|\n");
    for provider in Provider::all() {
        let cell = |tool: &Value| {
            let mut forms: Vec<(String, Vec<&str>)> = Vec::new();
            for protocol in provider.protocols() {
                for name in sent(&provider, protocol, tool) {
                    match forms.iter_mut().find(|(known, _)| *known == name) {
                        Some((_, protocols)) => protocols.push(protocol.name()),
                        None => forms.push((name, vec![protocol.name()])),
                    }
                }
            }
            let show = |(name, protocols): &(String, Vec<&str>)| {
                if protocols.len() == provider.protocols().count() {
                    format!("`{name}`")
                } else {
                    format!("`{name}` ({})", protocols.join(", "))
                }
            };
            let forms: Vec<String> = forms.iter().map(show).collect();
            if forms.is_empty() { "–".to_owned() } else { forms.join(", ") }
        };
        let cells: Vec<String> = tools().iter().map(cell).collect();
        if cells.iter().any(|cell| cell != "–") {
            let _ = writeln!(text, "| {} | {} |", provider.name, cells.join(" | "));
        }
    }
    check("server-tools.md", "server tools", &text);
}
