//! Every page with Rust code is among the documentation tests of the library.

use super::{pages, read};

/// Returns the pages that `crates/agentloop/src/lib.rs` includes as documentation tests.
fn included() -> Vec<String> {
    let code = read("crates/agentloop/src/lib.rs");
    let (_, list) = code.split_once("\nguide! {\n").expect("the list of pages");
    let (list, _) = list.split_once("\n}").expect("the end of the list");
    list.lines().filter_map(|line| Some(line.split('"').nth(1)?.to_owned())).collect()
}

#[test]
fn every_page_with_rust_code_is_a_documentation_test() {
    let included = included();
    for page in pages() {
        let has_rust = page.blocks.iter().any(|block| block.language == "rust");
        let is_included = included.contains(&page.path);
        assert!(
            has_rust == is_included,
            "{}: {} the list `guide!` in crates/agentloop/src/lib.rs",
            page.path,
            if has_rust { "add it to" } else { "it has no Rust code; remove it from" },
        );
    }
}

#[test]
fn rust_that_is_not_compiled_has_a_reason() {
    for page in pages() {
        for block in page.blocks.iter().filter(|block| block.language == "rust") {
            let is_ignored = block.options.iter().any(|option| option.starts_with("ignore"));
            assert_eq!(
                is_ignored,
                block.untested().is_some(),
                "{}:{}: code that is not compiled is marked `rust,ignore`, with `<!-- not tested: REASON -->` on the line before it",
                page.path,
                block.line
            );
        }
    }
}
