//! The settings of a file that are not those of one model.

use super::Reference;
use super::report::{Path, Report};
use super::yaml::Node;

/// The variable for the key of the gateway itself, if the file contains the key.
const MASTER_KEY: &str = "LITELLM_MASTER_KEY";

/// The settings that hold for all models.
#[derive(Debug, Default)]
pub(super) struct Settings<'a> {
    pub(super) is_least_loaded: bool,
    pub(super) retries: Option<u32>,
    /// Which groups replace a group that fails.
    pub(super) fallbacks: Vec<(&'a str, Vec<Name<'a>>)>,
    /// Which groups replace a group that has no fallbacks of its own.
    pub(super) default_fallbacks: Vec<Name<'a>>,
    /// Other names of groups.
    pub(super) aliases: Vec<(&'a str, Name<'a>)>,
    /// How long a call may take, in seconds.
    pub(super) total: Option<f64>,
    /// How long a stream may be silent, in seconds.
    pub(super) idle: Option<f64>,
    pub(super) strict: bool,
    /// The variable with the key of clients.
    pub(super) key: Option<String>,
}

/// The name of a group, with its place.
#[derive(Clone, Debug)]
pub(super) struct Name<'a> {
    pub(super) text: &'a str,
    pub(super) node: &'a Node,
    pub(super) path: Path,
}

/// Reads the tables of settings.
pub(super) fn read<'a>(root: &'a Node, report: &mut Report) -> Settings<'a> {
    let mut settings = Settings::default();
    if let Some(table) = root.get("router_settings") {
        settings.read_router(&Path::new("router_settings"), table, report);
    }
    if let Some(table) = root.get("litellm_settings") {
        settings.read_module(&Path::new("litellm_settings"), table, report);
    }
    settings.read_general(root, report);
    if let Some(table) = root.get("environment_variables") {
        let path = Path::new("environment_variables");
        if table.map().is_none() {
            report.add(&path, table, "it is not a table of settings");
        }
        for (name, node) in table.map().unwrap_or_default() {
            // The value may be a secret.
            report.add(&path.name(name), node, "set it in the environment of the gateway");
        }
    }
    settings
}

impl<'a> Settings<'a> {
    fn read_router(&mut self, path: &Path, table: &'a Node, report: &mut Report) {
        report.add_unknown(
            path,
            table,
            &[
                "routing_strategy",
                "num_retries",
                "fallbacks",
                "default_fallbacks",
                "model_group_alias",
                "timeout",
                "stream_timeout",
            ],
        );
        if let Some(node) = table.get("routing_strategy") {
            match node.text() {
                Some("simple-shuffle") => {}
                Some("least-busy") => self.is_least_loaded = true,
                _ => {
                    let why = "this strategy is not supported; models are chosen by weight";
                    report.add(&path.name("routing_strategy"), node, why);
                }
            }
        }
        self.read_retries(path, table, report);
        self.read_fallbacks(path, table, report);
        self.total = seconds(path, table, "timeout", report);
        self.idle = seconds(path, table, "stream_timeout", report);
        let path = path.name("model_group_alias");
        let Some(node) = table.get("model_group_alias") else { return };
        let Some(entries) = node.map() else {
            report.add(&path, node, "it is not a table of names");
            return;
        };
        for (alias, node) in entries {
            let path = path.name(alias);
            let target = node.text().or_else(|| node.get("model").and_then(Node::text));
            if node.get("hidden").is_some() {
                report.add(&path.name("hidden"), node, "a route cannot be hidden");
            }
            match target {
                Some(text) => self.aliases.push((alias, Name { text, node, path })),
                None => report.add(&path, node, "it is not the name of a model"),
            }
        }
    }

    fn read_module(&mut self, path: &Path, table: &'a Node, report: &mut Report) {
        report.add_unknown(
            path,
            table,
            &["drop_params", "num_retries", "fallbacks", "default_fallbacks", "request_timeout"],
        );
        if let Some(node) = table.get("drop_params") {
            match node.switch() {
                Some(drop) => self.strict = !drop,
                None => report.add(&path.name("drop_params"), node, "it is not true or false"),
            }
        }
        self.read_retries(path, table, report);
        self.read_fallbacks(path, table, report);
        let total = seconds(path, table, "request_timeout", report);
        self.total = self.total.or(total);
    }

    fn read_general(&mut self, root: &'a Node, report: &mut Report) {
        let path = Path::new("general_settings");
        let table = root.get("general_settings");
        if let Some(table) = table {
            report.add_unknown(&path, table, &["master_key"]);
        }
        let Some(node) = table.and_then(|table| table.get("master_key")) else {
            report.add_line(
                "there is no `master_key`: the gateway always needs a key, and creates one when it starts"
                    .to_owned(),
            );
            return;
        };
        self.key = match Reference::read(node) {
            Some(Reference::Variable(name)) => Some(name.to_owned()),
            Some(Reference::Literal(_)) => {
                let why = format!("the key is not written; set {MASTER_KEY} to it");
                report.add(&path.name("master_key"), node, why);
                Some(MASTER_KEY.to_owned())
            }
            None => {
                report.add(&path.name("master_key"), node, "it is not a key");
                None
            }
        };
    }

    fn read_retries(&mut self, path: &Path, table: &'a Node, report: &mut Report) {
        let Some(node) = table.get("num_retries") else { return };
        let number = node.text().and_then(|text| text.parse().ok());
        match number {
            Some(number) if self.retries.is_none() => self.retries = Some(number),
            Some(_) => {}
            None => report.add(&path.name("num_retries"), node, "it is not a number"),
        }
    }

    fn read_fallbacks(&mut self, path: &Path, table: &'a Node, report: &mut Report) {
        if let Some(node) = table.get("default_fallbacks") {
            let names = names(&path.name("default_fallbacks"), node, report);
            self.default_fallbacks.extend(names);
        }
        let Some(node) = table.get("fallbacks") else { return };
        let path = path.name("fallbacks");
        let Some(list) = node.list() else {
            report.add(&path, node, "it is not a list");
            return;
        };
        for (index, item) in list.iter().enumerate() {
            let path = path.at(index);
            let Some(entries) = item.map() else {
                report.add(&path, item, "it is not a table of names");
                continue;
            };
            for (group, node) in entries {
                let names = names(&path.name(group), node, report);
                match group.as_str() {
                    "*" => self.default_fallbacks.extend(names),
                    group => self.fallbacks.push((group, names)),
                }
            }
        }
    }
}

/// Reads a list of names.
fn names<'a>(path: &Path, node: &'a Node, report: &mut Report) -> Vec<Name<'a>> {
    let Some(list) = node.list() else {
        report.add(path, node, "it is not a list");
        return Vec::new();
    };
    let mut names = Vec::new();
    for (index, node) in list.iter().enumerate() {
        let path = path.at(index);
        match node.text() {
            Some(text) => names.push(Name { text, node, path }),
            None => report.add(&path, node, "a fallback with settings of its own is not supported"),
        }
    }
    names
}

fn seconds(path: &Path, table: &Node, name: &str, report: &mut Report) -> Option<f64> {
    let node = table.get(name)?;
    let seconds = node.number().filter(|seconds| (0.001..=86_400.0).contains(seconds));
    if seconds.is_none() {
        report.add(&path.name(name), node, "it is not a time in seconds");
    }
    seconds
}
