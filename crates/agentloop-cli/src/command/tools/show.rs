//! Shows one tool with its parameters.

use std::path::Path;

use super::list::{Row, print};
use super::{Args, build, idle_client};
use crate::command::run::Selection;
use crate::failure::Failure;
use crate::output::Output;
use crate::printable::escape_name;
use crate::setup::Setup;

pub(super) async fn run(name: &str, args: &Args, setup: &Setup) -> Result<(), Failure> {
    let words = [name.to_owned()];
    let of_typed = find_of_typed(name, args);
    let selection = Selection {
        words: if of_typed { &[] } else { &words },
        servers: &args.servers,
        allowed: &[],
        denied: &[],
        root: Path::new("."),
    };
    let (_agent, kit) = build(idle_client()?, selection, setup).await?;
    let mut rows: Vec<Row> = kit
        .tools
        .iter()
        .filter(|offered| !of_typed || crate::command::run::Pattern::new(name).matches(offered))
        .map(|offered| Row::of(offered, &kit))
        .collect();
    match (rows.len(), args.json) {
        (0, _) => Err(Failure::input_with_hint(
            format!("`{}` is not the name of a tool", escape_name(name)),
            "`agentloop tools` lists the tools",
        )),
        (1, true) => {
            let mut output = Output::new();
            output.write_document(&rows.remove(0))?;
            Ok(output.flush()?)
        }
        (1, false) => {
            let mut output = Output::new();
            output.write_untrusted(&rows.remove(0).describe())?;
            Ok(output.flush()?)
        }
        // A group, a server or a pattern.
        _ => print(rows, args.json),
    }
}

/// Returns whether the tool is one of a server that is typed with `--mcp`.
fn find_of_typed(name: &str, args: &Args) -> bool {
    !args.servers.is_empty() && (name.contains("__") || name.contains(':'))
}
