//! Code blocks of the guide that are neither Rust nor commands: they are parsed.

use std::io::Write as _;
use std::process::{Command, Stdio};

use agentloop::Config;
use serde_json::Value;

use super::markdown::{Block, Page};
use super::{pages, read};

/// Languages that are checked, here or in another file of this folder. `text` is not code.
const CHECKED: [&str; 11] =
    ["rust", "console", "sh", "toml", "json", "yaml", "python", "js", "ts", "text", "diff"];

/// Returns what is wrong with a block, if it can be checked without another program.
fn problem(block: &Block) -> Option<String> {
    let marks = ["not tested", "file", "keys"];
    match &block.mark {
        Some((name, reason)) if name == "not tested" && reason.len() < 5 => {
            return Some("`<!-- not tested: REASON -->` needs a reason".to_owned());
        }
        Some((name, _)) if !marks.contains(&name.as_str()) && block.language != "text" => {
            let is_end = name.starts_with("end of ") || name.contains("generated");
            if !is_end {
                return Some(format!("unknown mark `{name}`; known marks: {}", marks.join(", ")));
            }
        }
        _ => {}
    }
    match block.language.as_str() {
        "toml" => toml_problem(block),
        _ if block.untested().is_some() => None,
        "json" => json_problem(&block.text),
        language if CHECKED.contains(&language) => None,
        "" => Some("it names no language; write `text` if it is none".to_owned()),
        other => Some(format!("`{other}` is not checked; add `<!-- not tested: REASON -->`")),
    }
}

/// JSON, or one value per line.
fn json_problem(text: &str) -> Option<String> {
    let whole = serde_json::from_str::<Value>(text);
    let by_line = text.lines().try_for_each(|line| serde_json::from_str::<Value>(line).map(drop));
    whole.err().filter(|_| by_line.is_err()).map(|error| error.to_string())
}

/// A configuration of AgentLoop; a Cargo manifest if it starts with `[dependencies]` or `[package]`.
fn toml_problem(block: &Block) -> Option<String> {
    let table = match toml::from_str::<toml::Table>(&block.text) {
        Ok(table) => table,
        Err(error) => return Some(error.to_string()),
    };
    if block.untested().is_some() {
        return None;
    }
    let first = block.text.lines().map(str::trim).find(|line| !line.is_empty());
    if ["[dependencies]", "[dev-dependencies]", "[package]"].contains(&first.unwrap_or_default()) {
        return ["dependencies", "dev-dependencies"]
            .iter()
            .filter_map(|name| table.get(*name)?.as_table())
            .flatten()
            .find_map(|(name, value)| dependency_problem(name, value));
    }
    // A build without the feature refuses the setting.
    if !cfg!(feature = "redis") && block.text.contains("redis") {
        return None;
    }
    let error = Config::parse(&block.text).err()?;
    Some(format!("{}; {}", error.message(), error.hint().unwrap_or_default()))
}

/// Compares a dependency on a crate of this repository with its manifest.
fn dependency_problem(name: &str, value: &toml::Value) -> Option<String> {
    if !name.starts_with("agentloop") {
        return None;
    }
    let manifest: toml::Table =
        toml::from_str(&read(&format!("crates/{name}/Cargo.toml"))).unwrap();
    let version = value.get("version").unwrap_or(value).as_str();
    if !env!("CARGO_PKG_VERSION").starts_with(version.unwrap_or_default()) {
        return Some(format!("{name} has the version {}", env!("CARGO_PKG_VERSION")));
    }
    let known = manifest.get("features").and_then(toml::Value::as_table);
    let features = value.get("features").and_then(toml::Value::as_array);
    let mut features = features.into_iter().flatten().filter_map(toml::Value::as_str);
    let unknown =
        features.find(|feature| !known.is_some_and(|known| known.contains_key(*feature)))?;
    Some(format!("{name} has no feature {unknown}"))
}

fn place(page: &Page, block: &Block) -> String {
    format!("{}:{}", page.path, block.line)
}

#[test]
fn configuration_and_data_are_valid_and_every_other_block_has_a_reason() {
    let mut wrong = Vec::new();
    for page in pages() {
        for block in &page.blocks {
            wrong.extend(
                problem(block).map(|problem| format!("{}: {problem}", place(&page, block))),
            );
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Reads `[[place, code], …]` from its input, and writes one line for each code that is not Python.
const PYTHON: &str = "
import ast, json, sys
for place, code in json.load(sys.stdin):
    try:
        ast.parse(code)
    except SyntaxError as error:
        print(f'{place}: {error}')
";

/// As `PYTHON`, for modules of JavaScript.
const JAVASCRIPT: &str = "
const vm = require('node:vm');
for (const [place, code] of JSON.parse(require('node:fs').readFileSync(0, 'utf8'))) {
  try { new vm.SourceTextModule(code); } catch (error) { console.log(`${place}: ${error.message}`); }
}
";

/// Checks the blocks of some languages with a program that lists what is wrong. A machine without the program can check the rest.
fn check_with(program: &[&str], languages: &[&str]) {
    let mut blocks = Vec::new();
    for page in pages() {
        for block in &page.blocks {
            if languages.contains(&block.language.as_str()) && block.untested().is_none() {
                blocks.push((place(&page, block), block.text.clone()));
            }
        }
    }
    let child = Command::new(program[0])
        .args(&program[1..])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn();
    let Ok(mut child) = child else {
        eprintln!("!! {} is not installed: {languages:?} is NOT checked here", program[0]);
        return;
    };
    let input = serde_json::to_vec(&blocks).unwrap();
    child.stdin.take().unwrap().write_all(&input).unwrap();
    let output = child.wait_with_output().unwrap();
    let wrong = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && wrong.is_empty(), "{program:?}\n{wrong}");
}

#[test]
fn python_is_python() {
    check_with(&["python3", "-c", PYTHON], &["python"]);
}

#[test]
fn javascript_is_javascript() {
    check_with(
        &["node", "--no-warnings", "--experimental-vm-modules", "-e", JAVASCRIPT],
        &["js", "ts"],
    );
}

#[test]
fn yaml_is_a_configuration_of_litellm_that_becomes_the_toml_after_it() {
    for page in pages() {
        let mut blocks = page.blocks.iter();
        while let Some(block) = blocks.find(|block| block.language == "yaml") {
            let Some(run) = crate::import_litellm::import(&block.text) else { return };
            let expected = blocks.find(|block| block.language == "toml");
            assert_eq!(
                Some(run.stdout),
                expected.map(|b| b.text.clone()),
                "{}",
                place(&page, block)
            );
        }
    }
}

#[test]
fn blocks_that_are_wrong_are_found() {
    let block = |text: &str| Page::new("docs/p.md", text).blocks[0].clone();
    let problem = |text: &str| problem(&block(text)).unwrap_or_default();
    for fine in [
        "```toml\n[retry]\nmax_retries = 3\n```",
        "```toml\n[dependencies]\nagentloop = { version = \"0.1\", features = [\"agent\"] }\nserde = \"1\"\n```",
        "```json\n{\"a\": 1}\n{\"a\": 2}\n```",
        "```text\nanything\n```",
        "<!-- not tested: it is another program's -->\n```fish\nset x\n```",
        "<!-- not tested: it is another program's -->\n```toml\n[other]\nx = 1\n```",
    ] {
        assert_eq!(problem(fine), "", "{fine}");
    }
    for (text, words) in [
        ("```toml\n[rety]\n```", "rety"),
        (
            "```toml\n[dependencies]\nagentloop = { version = \"0.1\", features = [\"agnt\"] }\n```",
            "agnt",
        ),
        ("```toml\n[dependencies]\nagentloop = \"7\"\n```", "version"),
        ("```json\n{\"a\": }\n```", "expected value"),
        ("```fish\nset x\n```", "not checked"),
        ("```\nx\n```", "no language"),
        ("<!-- not tested: -->\n```fish\nset x\n```", "needs a reason"),
        ("<!-- nottested: why -->\n```sh\nls\n```", "unknown mark"),
    ] {
        let found = problem(text);
        assert!(!found.is_empty() && found.contains(words), "{text} {found}");
    }
}
