//! The models of a file, and the providers and keys that they use.

use std::collections::{BTreeMap, BTreeSet};

use agentloop::Provider;

use super::Reference;
use super::aws::{self, Aws};
use super::model::{self, Family, Model, name_of_url};
use super::report::{Path, Report};
use super::yaml::Node;

/// The most entries of the list of models.
pub(super) const MAX_MODELS: usize = 2_000;

/// The settings of a model that are read.
const READ: [&str; 8] = [
    "model",
    "api_key",
    "api_base",
    "base_url",
    "weight",
    "order",
    "custom_llm_provider",
    "use_in_pass_through",
];

/// The models and providers of a file.
#[derive(Debug, Default)]
pub(super) struct Deployments {
    pub(super) models: Vec<Deployment>,
    pub(super) providers: Vec<Instance>,
    /// The provider of all models that have no name of their own.
    pub(super) default_provider: Option<String>,
    /// Providers whose models clients name themselves.
    pub(super) open: Vec<String>,
}

/// A model at a provider, in a group.
#[derive(Debug)]
pub(super) struct Deployment {
    pub(super) group: String,
    /// As `provider/model`.
    pub(super) model: String,
    pub(super) weight: f64,
    pub(super) order: Option<f64>,
}

/// A provider with a URL.
#[derive(Debug)]
pub(super) struct Instance {
    pub(super) name: String,
    pub(super) family: &'static Family,
    /// The URL, unless it is the built-in one.
    pub(super) base_url: Option<String>,
    /// The profile of Amazon Web Services.
    pub(super) profile: Option<String>,
    /// The variables that have its keys.
    pub(super) variables: Vec<String>,
}

/// An entry of the list, before the providers have names.
struct Entry<'a> {
    path: Path,
    node: &'a Node,
    group: &'a str,
    model: Model<'a>,
    base_url: Option<String>,
    profile: Option<String>,
    key: Option<&'a Node>,
    weight: f64,
    order: Option<f64>,
}

/// Reads the list of models.
pub(super) fn read(path: &Path, list: &[Node], report: &mut Report) -> Deployments {
    let entries: Vec<Entry<'_>> = list
        .iter()
        .take(MAX_MODELS)
        .enumerate()
        .filter_map(|(index, node)| entry(&path.at(index), node, report))
        .collect();
    let mut all = Deployments { providers: providers(&entries), ..Deployments::default() };
    let mut keys = Keys::new(list);
    for entry in &entries {
        let found = all.providers.iter_mut().find(|instance| instance.is_of(entry));
        let Some(instance) = found else { continue };
        keys.add(instance, entry, report);
        let name = instance.name.clone();
        match entry.model.name.contains('*') || entry.group.contains('*') {
            true => all.add_pattern(entry, name, report),
            false => all.models.push(Deployment {
                group: entry.group.to_owned(),
                model: format!("{name}/{}", entry.model.upstream()),
                weight: entry.weight,
                order: entry.order,
            }),
        }
    }
    for instance in all.providers.iter().filter(|instance| instance.variables.len() > 1) {
        report.add_line(format!(
            "[gateway.pools.{}]: the keys are used for all models of {}",
            instance.name, instance.name
        ));
    }
    all
}

fn entry<'a>(path: &Path, node: &'a Node, report: &mut Report) -> Option<Entry<'a>> {
    let params_path = path.name("litellm_params");
    let params = node.get("litellm_params");
    let Some(params) = params.filter(|params| params.map().is_some()) else {
        report.add(path, node, "it has no `litellm_params`");
        return None;
    };
    let text = |name: &str| params.get(name).and_then(Node::text);
    let Some(theirs) = text("model") else {
        report.add(&params_path, params, "it has no `model`");
        return None;
    };
    let Some(group) = node.get("model_name").and_then(Node::text) else {
        report.add(path, node, "it has no `model_name`");
        return None;
    };
    let model = match model::find(theirs, text("custom_llm_provider")) {
        Ok(model) => model,
        Err(why) => {
            let why = format!("{why}, so the model is left out");
            report.add(&params_path.name("model"), params.get("model")?, why);
            return None;
        }
    };
    let url = params.get("api_base").map(|url| ("api_base", url));
    let url = url.or_else(|| params.get("base_url").map(|url| ("base_url", url)));
    let url = url.or_else(|| {
        let name = "aws_bedrock_runtime_endpoint";
        params.get(name).filter(|_| model.family.uses_aws()).map(|url| (name, url))
    });
    let base_url = match url {
        None => None,
        Some((name, url)) => match read_url(model.family, url) {
            Ok(url) => Some(url),
            Err(why) => {
                report.add(
                    &params_path.name(name),
                    url,
                    format!("{why}, so the model is left out"),
                );
                return None;
            }
        },
    };
    if base_url.is_none() && !model.family.is_builtin() {
        report.add(&params_path, params, "a model of this provider needs `api_base`");
        return None;
    }
    report.add_unknown(path, node, &["model_name", "litellm_params", "rpm", "tpm"]);
    let Aws { base_url: of_region, profile } = match model.family.uses_aws() {
        true => {
            report.add_unknown(&params_path, params, &[&READ[..], &aws::READ].concat());
            aws::read(&params_path, params, model.region, report)
        }
        false => {
            report.add_unknown(&params_path, params, &READ);
            Aws::default()
        }
    };
    let builtin = Provider::builtin(model.family.provider);
    let is_own = |url: &String| builtin.as_ref().is_some_and(|row| row.base_url == url.as_str());
    let base_url = base_url.filter(|url| !is_own(url)).or(of_region);
    let weight = weight(path, node, params, report);
    let order = params.get("order").and_then(Node::number);
    if let (Some(node), None) = (params.get("order"), order) {
        report.add(&params_path.name("order"), node, "it is not a number");
    }
    let key = params.get("api_key");
    Some(Entry { path: params_path, node, group, model, base_url, profile, key, weight, order })
}

fn read_url(family: &Family, node: &Node) -> Result<String, &'static str> {
    let url = match Reference::read(node) {
        Some(Reference::Variable(name)) => format!("${{{name}}}"),
        Some(Reference::Literal(url)) => {
            let rest = url.strip_prefix("http://").or_else(|| url.strip_prefix("https://"));
            let Some(rest) = rest else { return Err("it is not a URL") };
            // The value is not repeated, because it may be a secret.
            if rest.contains(['@', '?', '#', '$']) {
                return Err("a URL with a user, a query or a variable is not written");
            }
            if rest.contains(char::is_whitespace) || rest.contains(char::is_control) {
                return Err("it is not a URL");
            }
            url.to_owned()
        }
        None => return Err("it is not a URL"),
    };
    family.base_url(&url).ok_or("another URL of this provider cannot be translated")
}

/// Returns how much of the requests a model gets: its weight, else its limit, as LiteLLM does.
fn weight(path: &Path, node: &Node, params: &Node, report: &mut Report) -> f64 {
    let limits = ["rpm", "tpm"].map(|name| params.get(name).or_else(|| node.get(name)));
    for (name, limit) in ["rpm", "tpm"].iter().zip(limits) {
        if node.get(name).is_some() {
            let why = "limits on what is sent to one model are not supported";
            report.add(&path.name(name), limit.unwrap_or(node), why);
        }
    }
    let all = [params.get("weight"), limits[0], limits[1]];
    let number = all.into_iter().flatten().find_map(Node::number);
    let is_usable = |weight: &f64| (1e-6..=1e12).contains(weight);
    if let Some(node) =
        params.get("weight").filter(|node| !node.number().is_some_and(|n| is_usable(&n)))
    {
        report.add(&path.name("litellm_params").name("weight"), node, "it is not a weight above 0");
    }
    number.filter(is_usable).unwrap_or(1.0)
}

/// Returns the providers that the entries use, with their names.
fn providers(entries: &[Entry<'_>]) -> Vec<Instance> {
    let mut instances: Vec<Instance> = Vec::new();
    let mut names: BTreeSet<String> =
        Provider::all().into_iter().map(|row| row.name.to_string()).collect();
    names.insert("sim".to_owned());
    for entry in entries {
        if instances.iter().any(|instance| instance.is_of(entry)) {
            continue;
        }
        let family = entry.model.family;
        let is_same = |other: &Entry<'_>| other.model.family.provider == family.provider;
        let own_url = entries.iter().any(|other| is_same(other) && other.base_url.is_none());
        let is_named = instances.iter().any(|instance| instance.name == family.provider);
        let name = match &entry.base_url {
            None => family.provider.to_owned(),
            Some(_) if family.keeps_its_name() && !own_url && !is_named => {
                family.provider.to_owned()
            }
            Some(url) => {
                let name = match &entry.profile {
                    Some(profile) => name_of_url(&format!("{}-{profile}", name_of_url(url))),
                    None => name_of_url(url),
                };
                let mut numbered = (2..).map(|number| format!("{name}-{number}"));
                match names.contains(&name) {
                    false => name.clone(),
                    true => numbered.find(|name| !names.contains(name)).unwrap_or(name.clone()),
                }
            }
        };
        names.insert(name.clone());
        let base_url = entry.base_url.clone();
        let profile = entry.profile.clone();
        instances.push(Instance { name, family, base_url, profile, variables: Vec::new() });
    }
    instances
}

impl Instance {
    fn is_of(&self, entry: &Entry<'_>) -> bool {
        let is_same = self.family.provider == entry.model.family.provider;
        is_same && self.base_url == entry.base_url && self.profile == entry.profile
    }
}

impl Deployments {
    /// Adds a model whose name has a `*`.
    fn add_pattern(&mut self, entry: &Entry<'_>, provider: String, report: &mut Report) {
        let place = entry.path.name("model");
        let node = entry.node.get("litellm_params").and_then(|params| params.get("model"));
        let node = node.unwrap_or(entry.node);
        if entry.model.name != "*" {
            report.add(
                &place,
                node,
                "a pattern of models cannot be translated; add a route for each",
            );
            return;
        }
        match entry.group {
            "*" if self.default_provider.is_none() => {
                self.default_provider = Some(provider.clone());
            }
            group if group == format!("{provider}/*") => {}
            _ => {
                let why = format!("clients name these models {provider}/MODEL");
                report.add(&place, node, why);
            }
        }
        if !self.open.contains(&provider) {
            self.open.push(provider);
        }
    }
}

/// The variables for keys that the file contains.
struct Keys<'a> {
    taken: BTreeSet<&'a str>,
    /// The variable of each key and provider.
    literals: BTreeMap<(String, String), String>,
}

impl<'a> Keys<'a> {
    /// Finds the variables that the file names.
    fn new(list: &'a [Node]) -> Self {
        let params = list.iter().filter_map(|node| node.get("litellm_params"));
        let entries = params.filter_map(Node::map).flatten();
        let taken = entries.filter_map(|(_, node)| node.text()?.strip_prefix("os.environ/"));
        Self { taken: taken.collect(), literals: BTreeMap::new() }
    }

    /// Adds the key of an entry to its provider.
    fn add(&mut self, instance: &mut Instance, entry: &Entry<'_>, report: &mut Report) {
        let variable = match entry.key.map(|key| (key, Reference::read(key))) {
            Some((_, Some(Reference::Variable(name)))) => name.to_owned(),
            Some((node, Some(Reference::Literal(key)))) => {
                let (name, is_new) = self.name(instance, key);
                if is_new {
                    let why = format!("the key is not written; set {name} to it");
                    report.add(&entry.path.name("api_key"), node, why);
                }
                name
            }
            Some((node, None)) => {
                let why = "it is not a key or the name of a variable";
                report.add(&entry.path.name("api_key"), node, why);
                return;
            }
            None if entry.base_url.is_some() && !instance.family.keeps_its_name() => {
                if !instance.family.variable.is_empty() {
                    let why = format!("without `api_key`, no key is sent to {}", instance.name);
                    report.add(&entry.path, entry.node, why);
                }
                return;
            }
            None if instance.family.variable.is_empty() => return,
            None => instance.family.variable.to_owned(),
        };
        if !instance.variables.contains(&variable) {
            instance.variables.push(variable);
        }
    }

    /// Returns the variable for a key, and whether it is new.
    fn name(&mut self, instance: &Instance, key: &str) -> (String, bool) {
        let place = (instance.name.clone(), key.to_owned());
        if let Some(name) = self.literals.get(&place) {
            return (name.clone(), false);
        }
        let plain = |letter: char| if letter.is_ascii_alphanumeric() { letter } else { '_' };
        let stem: String = instance.name.to_uppercase().chars().map(plain).collect();
        let stem = if stem.starts_with(|first: char| first.is_ascii_digit()) {
            format!("P{stem}")
        } else {
            stem
        };
        let used: BTreeSet<&str> = self.literals.values().map(String::as_str).collect();
        let names = (1_u32..).map(|number| format!("{stem}_KEY_{number}"));
        let is_free =
            |name: &String| !self.taken.contains(name.as_str()) && !used.contains(name.as_str());
        let name = names.into_iter().find(is_free).unwrap_or_default();
        self.literals.insert(place, name.clone());
        (name, true)
    }
}
