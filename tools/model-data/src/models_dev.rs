//! Reads the folder of models.dev: one TOML file a model, some of them upon another.

use std::collections::BTreeMap;
use std::path::Path;

use agentloop::models::{Abilities, ModelData, ModelKind, Price, UnitPrices};
use agentloop::{Effort, Provider, Usd};
use serde::Deserialize;
use serde::de::IgnoredAny;
use toml::Spanned;

use crate::listing::Listing;
use crate::{money, providers};

/// By `provider/model` in small letters.
pub(crate) type Models = BTreeMap<String, Entry>;

#[derive(Clone, Debug, Default)]
pub(crate) struct Entry {
    pub(crate) model: ModelData,
    /// What it is not said to take or make, in lists that say what it does.
    pub(crate) unlisted: Abilities,
    pub(crate) deprecated: bool,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Table {
    base_model: Option<String>,
    base_model_omit: Vec<String>,
    reasoning: Option<bool>,
    reasoning_options: Option<Vec<ReasoningOption>>,
    temperature: Option<bool>,
    tool_call: Option<bool>,
    structured_output: Option<bool>,
    knowledge: Option<String>,
    status: Option<String>,
    cost: Option<CostTable>,
    limit: Limit,
    modalities: Option<Modalities>,
    experimental: Experimental,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ReasoningOption {
    values: Vec<toml::Value>,
}

/// The place of a number in the text, which is read as text: it is never a float.
type Number = Option<Spanned<IgnoredAny>>;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct CostTable {
    input: Number,
    output: Number,
    reasoning: Number,
    cache_read: Number,
    cache_write: Number,
    input_audio: Number,
    output_audio: Number,
    tiers: Vec<TierTable>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct TierTable {
    tier: Tier,
    input: Number,
    output: Number,
    reasoning: Number,
    cache_read: Number,
    cache_write: Number,
    input_audio: Number,
    output_audio: Number,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Tier {
    size: Option<u64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Limit {
    context: Option<u64>,
    input: Option<u64>,
    output: Option<u64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Modalities {
    input: Vec<String>,
    output: Vec<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Experimental {
    modes: BTreeMap<String, Mode>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Mode {
    cost: Option<CostTable>,
    provider: ModeRequest,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ModeRequest {
    body: BTreeMap<String, toml::Value>,
}

macro_rules! units {
    ($text:expr, $table:expr) => {{
        let read = |number: &Number| -> Option<Usd> {
            money::per_million($text.get(number.as_ref()?.span())?)
        };
        let mut units = UnitPrices::default();
        units.input = read(&$table.input);
        units.output = read(&$table.output);
        units.reasoning = read(&$table.reasoning).filter(|usd| Some(*usd) != units.output);
        units.cache_read = read(&$table.cache_read);
        units.cache_write = read(&$table.cache_write);
        units.audio_input = read(&$table.input_audio);
        units.audio_output = read(&$table.output_audio);
        units
    }};
}

pub(crate) fn read(folder: &Path) -> Result<Models, String> {
    let mut models = Models::new();
    for (theirs, row) in providers::models_dev() {
        let root = folder.join("providers").join(theirs).join("models");
        for path in files(&root)? {
            let name = path.strip_prefix(&root).map_err(|error| error.to_string())?;
            let name = name.to_string_lossy().replace('\\', "/");
            let name = name.strip_suffix(".toml").unwrap_or(&name);
            let text = text_of(&path)?;
            let base = |id: &str| text_of(&folder.join("models").join(format!("{id}.toml")));
            let entry = entry(row, name, &text, base)
                .map_err(|error| format!("{}: {error}", path.display()))?;
            if let Some(entry) = entry {
                models.insert(entry.model.id.to_ascii_lowercase(), entry);
            }
        }
    }
    Ok(models)
}

fn text_of(path: &Path) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

fn files(folder: &Path) -> Result<Vec<std::path::PathBuf>, String> {
    let mut found = Vec::new();
    let Ok(entries) = std::fs::read_dir(folder) else { return Ok(found) };
    for entry in entries {
        let path = entry.map_err(|error| error.to_string())?.path();
        if path.is_dir() {
            found.extend(files(&path)?);
        } else if path.extension().is_some_and(|extension| extension == "toml") {
            found.push(path);
        }
    }
    Ok(found)
}

/// Returns the model, if the library can ask it for something.
fn entry(
    row: &Provider,
    name: &str,
    text: &str,
    base: impl FnOnce(&str) -> Result<String, String>,
) -> Result<Option<Entry>, String> {
    let parse = |text: &str| toml::from_str::<Table>(text).map_err(|error| error.to_string());
    let mut table = parse(text)?;
    if let Some(id) = table.base_model.take() {
        table = table.upon(parse(&base(&id)?)?);
    }
    if !providers::is_reached(row, name) {
        return Ok(None);
    }
    let modalities = table.modalities.take().unwrap_or_default();
    let makes = |word: &str| modalities.output.iter().any(|known| known == word);
    let takes = |word: &str| modalities.input.iter().any(|known| known == word);
    // These make images and sound in a chat; elsewhere that is another service.
    let in_chat = name.starts_with("gemini-") && (makes("image") || makes("audio"));
    if !makes("text") && !in_chat {
        return Ok(None);
    }
    let is_embedding = providers::is_embedding(name);
    if is_embedding && !row.serves.embeddings {
        return Ok(None);
    }
    let mut model = ModelData::default();
    model.id = format!("{}/{name}", row.name);
    model.kind = Some(if is_embedding { ModelKind::Embedding } else { ModelKind::Chat });
    let some = |count: Option<u64>| count.filter(|count| *count > 0);
    model.context_window = some(table.limit.context);
    model.prices = prices(row, name, text, &table);
    let mut entry =
        Entry { deprecated: table.status.as_deref() == Some("deprecated"), ..Entry::default() };
    if is_embedding {
        for price in &mut model.prices {
            price.per_million.output = None;
        }
        // The length of the vectors stands where others have the length of the answer, or a stand-in.
        model.dimensions = table.limit.output.filter(|length| (64..=8_192).contains(length));
        entry.model = model;
        return Ok(Some(entry));
    }
    model.max_input_tokens = some(table.limit.input);
    model.max_output_tokens = some(table.limit.output);
    model.knowledge_cutoff = table.knowledge;
    let can = &mut model.abilities;
    can.tools = table.tool_call;
    can.reasoning = table.reasoning;
    can.structured_output = table.structured_output;
    can.temperature = table.temperature;
    let listed =
        |is: bool| (if is { Some(true) } else { None }, if is { None } else { Some(false) });
    (can.image_input, entry.unlisted.image_input) = listed(takes("image"));
    (can.audio_input, entry.unlisted.audio_input) = listed(takes("audio"));
    (can.video_input, entry.unlisted.video_input) = listed(takes("video"));
    (can.pdf_input, entry.unlisted.pdf_input) = listed(takes("pdf"));
    (can.image_output, entry.unlisted.image_output) = listed(makes("image"));
    (can.audio_output, entry.unlisted.audio_output) = listed(makes("audio"));
    let level = |value: &toml::Value| {
        Effort::ALL.into_iter().find(|known| value.as_str() == Some(known.as_str()))
    };
    let options = table.reasoning_options.unwrap_or_default();
    let levels: Vec<Effort> =
        options.iter().flat_map(|option| &option.values).filter_map(level).collect();
    model.efforts = (!levels.is_empty()).then_some(levels);
    entry.model = model;
    Ok(Some(entry))
}

fn prices(row: &Provider, name: &str, text: &str, table: &Table) -> Vec<Price> {
    let Some(cost) = &table.cost else { return Vec::new() };
    let mut usual = Price::default();
    usual.per_million = units!(text, cost);
    let is_zero = |usd: Option<Usd>| usd.is_none_or(|usd| usd.picos() == 0);
    let is_free = Listing::of(&row.name).free_suffix.is_some_and(|end| name.ends_with(end));
    if is_zero(usual.per_million.input) && is_zero(usual.per_million.output) && !is_free {
        // Nothing is written where the price is not known, or is part of something else.
        return Vec::new();
    }
    let mut prices = vec![usual];
    for line in &cost.tiers {
        let mut price = Price::default();
        price.above_prompt_tokens = line.tier.size;
        price.per_million = units!(text, line);
        prices.push(price);
    }
    for mode in table.experimental.modes.values() {
        let tier = mode.provider.body.get("service_tier").and_then(toml::Value::as_str);
        if let (Some(tier), Some(cost)) = (tier, &mode.cost) {
            let mut price = Price::default();
            price.service_tier = Some(tier.to_owned());
            price.per_million = units!(text, cost);
            prices.push(price);
        }
    }
    prices
}

impl Table {
    /// What is said here, and elsewhere what the base says. Prices are each host's own.
    fn upon(self, mut base: Self) -> Self {
        for omitted in &self.base_model_omit {
            match omitted.as_str() {
                "limit.input" => base.limit.input = None,
                "limit.output" => base.limit.output = None,
                "structured_output" => base.structured_output = None,
                "reasoning_options" => base.reasoning_options = None,
                "temperature" => base.temperature = None,
                "knowledge" => base.knowledge = None,
                "status" => base.status = None,
                _ => {}
            }
        }
        Self {
            base_model: None,
            base_model_omit: Vec::new(),
            reasoning: self.reasoning.or(base.reasoning),
            reasoning_options: self.reasoning_options.or(base.reasoning_options),
            temperature: self.temperature.or(base.temperature),
            tool_call: self.tool_call.or(base.tool_call),
            structured_output: self.structured_output.or(base.structured_output),
            knowledge: self.knowledge.or(base.knowledge),
            status: self.status.or(base.status),
            cost: self.cost,
            limit: Limit {
                context: self.limit.context.or(base.limit.context),
                input: self.limit.input.or(base.limit.input),
                output: self.limit.output.or(base.limit.output),
            },
            modalities: self.modalities.or(base.modalities),
            experimental: self.experimental,
        }
    }
}
