//! `docs/restrictions.md` is the table.

use std::fmt::Write as _;
use std::path::Path;

use agentloop::Provider;
use agentloop::provider::Restriction;

const HEAD: &str = "# What models refuse, and what is sent instead

Some providers refuse a parameter, a value, a combination or an order of messages for some models. Each row below names such a case.
A request that would be refused is changed as the row says, with a warning on the response. With `strict` set on the request, a change that loses
something is an error before anything is sent; one marked \"lossless\" is made in strict mode too. Rows are applied from top to bottom, the families
first. They come in addition to what [parameters.md](parameters.md) says of every model of a provider.

In `agentloop.toml` a row is removed for one model by its id, replaced by one with the same id, or added:

```toml
[models.\"openai/gpt-x\".restrictions]
remove = [\"openai-json-word\"]           # `*` removes all

[[models.\"openai/gpt-x\".restrictions.add]]
id = \"openai-temperature\"               # replaces the built-in row
then = { clamp = { param = \"temperature\", min = 0.0, max = 1.0 } }

[[models.\"openai/gpt-x\".restrictions.add]]
id = \"no-seed-while-it-thinks\"
when = [{ effort_other_than = \"none\" }, { set = \"seed\" }]
then = { drop = [\"seed\"] }
reason = \"the deployment refuses it\"
```

`provider::Condition` and `provider::Action` in the API documentation list what `when` and `then` can hold.

Generated: `UPDATE_DOCS=1 cargo test -p agentloop --test it restrict` writes it, and the test fails when it is not the table.
";

fn section(text: &mut String, title: &str, rows: &[Restriction]) {
    let _ = write!(
        text,
        "\n## {title}\n\n| id | models | protocol | when | what is done | why | known from |\n|---|---|---|---|---|---|---|\n"
    );
    for row in rows {
        let ticked = |names: &[std::borrow::Cow<'static, str>]| {
            names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
        };
        let mut models = if row.models.is_empty() { "all".to_owned() } else { ticked(&row.models) };
        if !row.except.is_empty() {
            let _ = write!(models, " except {}", ticked(&row.except));
        }
        let protocol = row.protocol.map_or("all", |protocol| protocol.name());
        let when: Vec<String> = row.when.iter().map(|when| when.describe()).collect();
        let lossless = if row.then.is_lossless() { " (lossless)" } else { "" };
        let _ = writeln!(
            text,
            "| `{}` | {models} | {protocol} | {} | {}{lossless} | {} | {} |",
            row.id,
            when.join("; "),
            row.then.describe(),
            row.reason,
            row.source,
        );
    }
}

fn document() -> String {
    let mut text = HEAD.to_owned();
    section(&mut text, "Families of models, at every provider", Restriction::families());
    for provider in Provider::all() {
        if !provider.restrictions.is_empty() {
            section(&mut text, &provider.name, &provider.restrictions);
        }
    }
    text
}

#[test]
fn the_docs_are_the_table() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/restrictions.md");
    let text = document();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, text).unwrap();
        return;
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(written == text, "run with UPDATE_DOCS=1 to write docs/restrictions.md");
}
