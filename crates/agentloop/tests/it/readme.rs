//! Tables of the documentation are generated from the code and from the measurements.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// Returns the generated parts: the page, the name of the markers, and the text.
fn generated() -> [(&'static str, &'static str, String); 2] {
    [("README.md", "numbers", numbers()), ("docs/why.md", "comparison", comparison())]
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Returns the cells of the first table below the line of a document that begins with `below`.
fn rows(document: &str, below: &str) -> Vec<Vec<String>> {
    let text = std::fs::read_to_string(root().join("docs").join(document)).unwrap();
    let lines = text.lines().skip_while(|line| !line.starts_with(below));
    let table = lines.skip_while(|line| !line.starts_with('|'));
    table
        .take_while(|line| line.starts_with('|'))
        .filter(|line| !line.starts_with("|--"))
        .map(|line| line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect())
        .collect()
}

/// What is measured over every protocol: the title of the column, the name of the scenario, its unit.
const MEASURED: [(&str, &str, &str); 4] = [
    ("a short chat", "chat", "call"),
    ("a response of 100 kB", "chat-100k", "call"),
    ("a delta that arrives alone", "paced", "delta"),
    ("a delta in a burst", "stream", "delta"),
];

/// Writes what each library costs and keeps, a line each, from what the comparisons wrote.
fn comparison() -> String {
    let instructions = rows("benchmarks.md", "## Instructions");
    let fidelity = rows("fidelity.md", "# Fidelity");
    let mut table = String::from("| |");
    MEASURED.iter().for_each(|(title, ..)| table.push_str(&format!(" {title} |")));
    table.push_str(" kept of the same bytes |\n|---|");
    table.push_str(&"---|".repeat(MEASURED.len() + 1));
    table.push('\n');
    for (at, name) in instructions[0].iter().enumerate().skip(1) {
        if name == "target" {
            continue;
        }
        let _ = write!(table, "| {name} |");
        for (_, scenario, unit) in MEASURED {
            let ratios = ["openai", "responses", "anthropic", "gemini"].map(|protocol| {
                let wanted = format!("{scenario}-{protocol}, per {unit}");
                let row = instructions.iter().find(|row| row[0] == wanted).unwrap();
                // `70,328 (1.54)`: the ratio; the one that all are compared with has none.
                let ratio = row[at].split_once('(').map(|(_, ratio)| ratio.trim_end_matches(')'));
                ratio.unwrap_or(if row[at] == "–" { "–" } else { "1" })
            });
            let same = ratios.iter().all(|ratio| *ratio == ratios[0]);
            let cell = if same { ratios[0].to_owned() } else { ratios.join(" / ") };
            let _ = write!(table, " {cell} |");
        }
        let plain = name.trim_matches('*');
        let judged = fidelity.iter().find(|row| row[0].starts_with(plain));
        let kept = judged.map(|row| {
            let count = |at: usize| row[at].parse::<u32>().unwrap();
            format!("{} of {}", count(1), (1..=5).map(count).sum::<u32>())
        });
        let _ = writeln!(table, " {} |", kept.unwrap_or_default());
    }
    table
}

/// Writes the first two numbers of the README, from the table of the comparison.
fn numbers() -> String {
    let table = comparison();
    let row = |name: &str| -> Vec<String> {
        let row = table.lines().find(|row| row.contains(name)).unwrap();
        row.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect()
    };
    let kept = |name: &str| row(name)[5].clone();
    let chats = |name: &str| -> Vec<String> {
        row(name)[1].split(" / ").filter(|ratio| *ratio != "–").map(str::to_owned).collect()
    };
    // All ratios have one digit before the point, so their texts have the order of the numbers.
    let (least, most) =
        (chats("**agentloop**").into_iter().min(), chats("**agentloop**").into_iter().max());
    format!(
        "- **{}** facts in the same recorded bytes (citations, thinking, server tools, truncated streams, errors) are in its own types; {} in those of rig, {} of\n  \
         genai, {} of async-openai.\n\
         - **{} to {} times** the instructions of a hand-written hyper client for a short chat, over four protocols; over OpenAI's, {} times with async-openai,\n  \
         {} with genai, {} with rig.\n",
        kept("**agentloop**"),
        kept("rig-core"),
        kept("genai"),
        kept("async-openai"),
        least.unwrap(),
        most.unwrap(),
        chats("async-openai")[0],
        chats("genai")[0],
        chats("rig-core")[0],
    )
}

#[test]
fn the_generated_tables_are_current() {
    let is_update = std::env::var_os("UPDATE_README").is_some();
    for (page, name, text) in generated() {
        let path = root().join(page);
        let mut written = std::fs::read_to_string(&path).unwrap();
        let open = format!(
            "<!-- {name}: generated; `UPDATE_README=1 cargo test -p agentloop --test it readme` writes it -->\n"
        );
        let begin = written.find(&open).expect("the marker is there") + open.len();
        let close = format!("<!-- end of {name} -->");
        let end = begin + written[begin..].find(&close).expect("the end marker is there");
        if is_update {
            written.replace_range(begin..end, &text);
            std::fs::write(&path, written).unwrap();
        } else {
            assert_eq!(&written[begin..end], text, "{page}: run with UPDATE_README=1 to write it");
        }
    }
}
