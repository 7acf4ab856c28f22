//! The modules of the library import each other in one direction only.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The modules in their order: each imports only modules before it. `docs/architecture.md` explains it.
const ORDER: &[&str] = &[
    "calendar",
    "contained",
    "hash",
    "limits",
    "lock",
    "long_work",
    "memo",
    "percent",
    "private_file",
    "processes",
    "regular_file",
    "shared_room",
    "secret",
    "pace",
    "timeouts",
    "canonical",
    "nesting",
    "chat",
    "error",
    "words",
    "settings",
    "stream",
    "media",
    "schema",
    "models",
    "provider",
    "protocol",
    "history",
    "carry",
    "framing",
    "transport",
    "credential",
    "middleware",
    "config",
    "client",
    "structured",
    "agent",
    "inspect",
    "blocking",
];

/// Imports against the order that still exist. Each must still be needed.
const EXCEPTIONS: &[(&str, &str)] = &[];

fn rust_files(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            rust_files(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}

/// Returns the code of a file without comments and without its tests, which may import anything.
fn code_of(text: &str) -> String {
    let end = text.find("#[cfg(test)]\nmod tests {").unwrap_or(text.len());
    let lines = text[..end].lines().map(|line| line.split("//").next().unwrap_or_default());
    lines.collect::<Vec<_>>().join("\n")
}

/// Returns the names that follow `crate::` in the code: modules, or items of the crate root.
fn imports_of(code: &str) -> BTreeSet<String> {
    let name = |text: &str| -> String {
        text.trim_start().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
    };
    let mut found = BTreeSet::new();
    for (at, _) in code.match_indices("crate::") {
        // `$crate::` and `agentloop_crate::` are other paths.
        if code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == '$') {
            continue;
        }
        let rest = &code[at + "crate::".len()..];
        match rest.strip_prefix('{') {
            None => {
                found.insert(name(rest));
            }
            Some(list) => {
                // Only the outermost names of the list are modules.
                let mut depth = 0;
                let mut start = true;
                for (at, c) in list.char_indices() {
                    match c {
                        '{' => depth += 1,
                        '}' if depth == 0 => break,
                        '}' => depth -= 1,
                        ',' if depth == 0 => start = true,
                        c if start && !c.is_whitespace() => {
                            found.insert(name(&list[at..]));
                            start = false;
                        }
                        _ => {}
                    }
                }
            }
        }
    }
    found.remove("");
    found
}

/// Returns each import between modules, with a file that has it.
fn edges() -> Vec<(String, String, PathBuf)> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    rust_files(&source, &mut files);
    let mut edges = Vec::new();
    for file in files {
        let path = file.strip_prefix(&source).unwrap().to_owned();
        let module = path.iter().next().unwrap().to_str().unwrap().trim_end_matches(".rs");
        let is_test = path.iter().any(|part| part.to_str().unwrap().contains("tests"));
        if module == "lib" || is_test {
            continue;
        }
        let code = code_of(&std::fs::read_to_string(&file).unwrap());
        for import in imports_of(&code).into_iter().filter(|import| import != module) {
            edges.push((module.to_owned(), import, path.clone()));
        }
    }
    edges
}

#[test]
fn a_module_imports_only_modules_before_it() {
    let place = |module: &str| ORDER.iter().position(|known| *known == module);
    let mut wrong = Vec::new();
    let mut used = BTreeSet::new();
    for (from, to, file) in edges() {
        let Some(at) = place(&from) else {
            wrong.push(format!("{}: `{from}` is not in the order of modules", file.display()));
            continue;
        };
        let exception = EXCEPTIONS.iter().find(|known| **known == (from.as_str(), to.as_str()));
        match (place(&to), exception) {
            (Some(before), _) if before < at => {}
            (_, Some(exception)) => {
                used.insert(*exception);
            }
            (Some(_), None) => wrong.push(format!("{}: `{from}` imports `{to}`", file.display())),
            (None, None) => {
                wrong.push(format!("{}: `crate::{to}` is not a module", file.display()));
            }
        }
    }
    for exception in EXCEPTIONS.iter().filter(|exception| !used.contains(*exception)) {
        wrong.push(format!("the exception {exception:?} is not needed any more: remove it"));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The folders of the protocols, in `src/protocol`.
const PROTOCOLS: &[&str] = &[
    "anthropic",
    "bedrock",
    "cohere",
    "gemini",
    "gemini_interactions",
    "ollama",
    "openai_chat",
    "openai_responses",
];

#[test]
fn a_protocol_does_not_import_another() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/protocol");
    let mut wrong = Vec::new();
    for folder in PROTOCOLS {
        let mut files = Vec::new();
        rust_files(&source.join(folder), &mut files);
        for file in files {
            let code = code_of(&std::fs::read_to_string(&file).unwrap());
            for other in PROTOCOLS.iter().filter(|other| *other != folder) {
                if code.contains(&format!("{other}::")) {
                    wrong.push(format!("{} imports `{other}`", file.display()));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn imports_are_found_in_every_form() {
    let code = code_of(
        "use crate::a::b;\nuse crate::{c::{x, y}, d, e::f};\n// use crate::no;\nlet z = crate::g::h();\nuse $crate::m;",
    );
    let found: Vec<String> = imports_of(&code).into_iter().collect();
    assert_eq!(found, ["a", "c", "d", "e", "g"]);
}
