//! `llms.txt`: the guide's table of contents for language models, with a sentence about each page.
//!
//! `UPDATE_DOCS=1 cargo test -p agentloop-cli --test it guide` writes it. `tools/book/build` writes `llms-full.txt`, with the text of all
//! pages, into the book: a copy of every page in the repository would be out of date after each change.

use std::fmt::Write as _;

use super::markdown::Page;
use super::summary::{Entry, contents};
use super::{check_generated, read};

const HEAD: &str = "# AgentLoop

> One interface to every LLM provider: a Rust library, a command for the terminal, a gateway server, and a simulated provider for tests. A model is named `provider/model`.

The API of the library is documented at https://docs.rs/agentloop. All code of the guide is compiled and run by tests.
";

/// Returns the first sentence of a page.
fn summary(page: &Page) -> String {
    let plain = &page.introduction;
    let end = plain.find(". ").map_or(plain.len(), |at| at + 1);
    plain[..end].trim_end_matches(':').to_owned()
}

fn document() -> String {
    let mut text = HEAD.to_owned();
    for entry in contents() {
        let _ = match entry {
            Entry::Part(title) => write!(text, "\n## {title}\n\n"),
            Entry::Page { title, path } => {
                let page = Page::new(&path, &read(&path));
                writeln!(text, "- [{title}]({path}): {}", summary(&page))
            }
        };
    }
    text
}

#[test]
fn the_index_for_language_models_is_current() {
    if std::env::var_os("UPDATE_DOCS").is_some() {
        // It describes pages that are generated too. Their own tests may run later, or at the same time in another process.
        super::providers::check();
        super::configuration::check();
    }
    check_generated("llms.txt", &document());
}
