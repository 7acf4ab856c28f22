//! `agentloop config`: shows which configuration files are read, and which settings they make.

use std::collections::BTreeMap;
use std::path::Path;

use agentloop::limits::MAX_CONFIG_FILE_BYTES;
use agentloop::{ConfigReader, inspect};
use serde::Serialize;
use toml_edit::{DocumentMut, Item, TableLike};

use crate::failure::Failure;
use crate::files::read_text_at_most;
use crate::output::Output;
use crate::setup::{Setup, UsedFile};
use crate::table::Table;
use crate::user_config::require_user_path;
use crate::{model, printable};

/// Options of `agentloop config`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    action: Option<Action>,

    /// Print JSON instead of a table.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Print the settings, with their values and where each comes from. Secrets are not printed.
    Show,
    /// Print the path of your configuration file, which need not exist.
    Path,
    /// Print the configuration files that are read, the weakest first, and whether each is trusted.
    Files,
    /// Open your configuration file in the editor that VISUAL or EDITOR names, and check it afterwards.
    ///
    /// A file that does not exist is created with all settings as comments.
    Edit,
}

impl Args {
    /// Returns whether the file is to be edited. It may have errors, so it is not read before.
    pub(crate) fn is_edit(&self) -> bool {
        matches!(self.action, Some(Action::Edit))
    }
}

/// A setting.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Row {
    name: String,
    value: String,
    /// The file or the environment variable.
    from: String,
    /// Whether the setting is ignored, because its file is not trusted.
    is_ignored: bool,
}

pub(crate) fn run(args: &Args, setup: &Setup) -> Result<(), Failure> {
    let mut output = Output::new();
    match args.action {
        Some(Action::Path) => {
            let path = match &setup.named_file {
                Some(path) => path.clone(),
                None => require_user_path("agentloop.toml")?,
            };
            output.write_untrusted(&format!("{}\n", path.display()))?;
        }
        Some(Action::Edit) => {}
        Some(Action::Files) => list_files(args.json, setup, &mut output)?,
        None | Some(Action::Show) => {
            let rows = collect_rows(setup)?;
            if args.json {
                output.write_document(&rows)?;
            } else if rows.is_empty() {
                setup.notes.print_note("no configuration file is read and nothing is set");
            } else {
                let mut table = Table::new(["SETTING", "VALUE", "FROM"]);
                for row in rows {
                    let ignored = if row.is_ignored { " (ignored: not trusted)" } else { "" };
                    table.push(vec![row.name, row.value, format!("{}{ignored}", row.from)]);
                }
                table.write(&mut output)?;
            }
        }
    }
    Ok(output.flush()?)
}

fn list_files(json: bool, setup: &Setup, output: &mut Output) -> Result<(), Failure> {
    let state = |file: &UsedFile| if file.is_trusted { "trusted" } else { "not trusted" };
    if json {
        let rows: Vec<_> = setup
            .files
            .iter()
            .map(|file| serde_json::json!({ "path": file.path, "isTrusted": file.is_trusted }))
            .collect();
        output.write_document(&rows)?;
        return Ok(());
    }
    let mut table = Table::new(["STATE", "FILE"]);
    for file in &setup.files {
        table.push(vec![state(file).to_owned(), file.path.display().to_string()]);
    }
    table.write(output)?;
    Ok(())
}

/// Collects the settings that apply, and those that are ignored.
fn collect_rows(setup: &Setup) -> Result<Vec<Row>, Failure> {
    let mut used: BTreeMap<String, Row> = BTreeMap::new();
    let mut ignored: Vec<Row> = Vec::new();
    for file in &setup.files {
        let text = read(&file.path)?;
        let restricted: Vec<String> = if file.is_trusted {
            Vec::new()
        } else {
            ConfigReader::restricted(&text)?.into_iter().map(|it| it.name).collect()
        };
        let document: DocumentMut =
            text.parse().map_err(|_| Failure::file(&file.path, "the file is not TOML"))?;
        let mut settings = Vec::new();
        flatten(document.as_table(), "", &mut settings);
        for (name, value) in settings {
            let is_ignored = restricted.iter().any(|prefix| {
                name.strip_prefix(prefix.as_str())
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
            });
            let from = file.path.display().to_string();
            let row = Row { value: mask(&name, &value), name, from, is_ignored };
            if is_ignored { ignored.push(row) } else { drop(used.insert(row.name.clone(), row)) }
        }
    }
    if let Some(value) =
        std::env::var(model::VARIABLE).ok().filter(|value| !value.trim().is_empty())
    {
        let name = "default_model".to_owned();
        let from = format!("the variable {}", model::VARIABLE);
        used.insert(name.clone(), Row { name, value, from, is_ignored: false });
    }
    Ok(used.into_values().chain(ignored).collect())
}

fn read(path: &Path) -> Result<String, Failure> {
    read_text_at_most(path, MAX_CONFIG_FILE_BYTES)
}

/// Collects the settings of a table, with dotted names.
fn flatten(table: &dyn TableLike, prefix: &str, settings: &mut Vec<(String, String)>) {
    for (name, item) in table.iter() {
        let name = format!("{prefix}{name}");
        match item {
            // Inline tables are shown field by field as well.
            item if item.as_table_like().is_some_and(|inner| !inner.is_empty()) => {
                if let Some(inner) = item.as_table_like() {
                    flatten(inner, &format!("{name}."), settings);
                }
            }
            Item::Value(value) => {
                let shown = value.as_str().map(str::to_owned);
                settings.push((name, shown.unwrap_or_else(|| value.to_string().trim().to_owned())));
            }
            Item::Table(_) => settings.push((name, "{}".to_owned())),
            Item::ArrayOfTables(tables) => {
                settings.push((name, format!("{} tables", tables.len())));
            }
            Item::None => {}
        }
    }
}

/// Hides secrets in the value of a setting.
fn mask(name: &str, value: &str) -> String {
    let last = name.rsplit('.').next().unwrap_or_default().to_lowercase();
    let is_secret = name.contains(".headers.")
        || name.contains(".env.")
        || (["key", "token", "secret", "password"].iter().any(|word| last.contains(word))
            && !matches!(last.as_str(), "key_env" | "key_file" | "max_tokens")
            && !last.ends_with("_tokens"));
    match is_secret {
        true => "***".to_owned(),
        false if value.contains("://") => inspect::shown_url(value),
        false => printable::escape_name(value).into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_hidden() {
        assert_eq!(mask("providers.lab.headers.x-team", "hush"), "***");
        assert_eq!(mask("providers.lab.defaults.api_key", "hush"), "***");
        assert_eq!(mask("mcp.github.env.WHO", "hush"), "***");
        assert!(!mask("mcp.search.url", "https://me:hush@host/?key=hush").contains("hush"));
        assert_eq!(mask("providers.lab.key_env", "LAB_KEY"), "LAB_KEY");
        assert_eq!(mask("providers.lab.defaults.max_tokens", "9"), "9");
        assert!(!mask("cache.redis", "redis://me:hush@host").contains("hush"));
    }
}
