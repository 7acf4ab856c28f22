//! Reads litellm's `model_prices_and_context_window.json`.

use std::collections::BTreeMap;

use agentloop::models::{ModelData, ModelKind, Price, UnitPrices};
use agentloop::{Effort, Provider, Usd};
use serde_json::value::RawValue;

use crate::listing::Listing;
use crate::{money, providers};

/// By `provider/model` in small letters.
pub(crate) type Models = BTreeMap<String, Entry>;

/// A model, and what decides over its prices.
#[derive(Clone, Debug, Default)]
pub(crate) struct Entry {
    pub(crate) model: ModelData,
    /// Why there are no prices, whatever another source says.
    pub(crate) unpriced: Option<&'static str>,
}

/// The fields of an entry, as they are written: numbers are never floats.
type Fields = BTreeMap<String, Box<RawValue>>;

pub(crate) fn read(text: &str) -> Result<Models, String> {
    let entries: BTreeMap<String, Fields> =
        serde_json::from_str(text).map_err(|error| format!("litellm: {error}"))?;
    let mut models = Models::new();
    for (key, fields) in &entries {
        let Some(theirs) = string(fields, "litellm_provider") else { continue };
        let Some((row, name)) = providers::litellm(&theirs, key) else { continue };
        let Some(kind) = kind(row, name, fields) else { continue };
        if !providers::is_reached(row, name) {
            continue;
        }
        let entry = entry(row, name, kind, fields);
        models.insert(entry.model.id.to_ascii_lowercase(), entry);
    }
    Ok(models)
}

fn raw<'a>(fields: &'a Fields, name: &str) -> Option<&'a str> {
    fields.get(name).map(|value| value.get()).filter(|value| *value != "null")
}

fn string(fields: &Fields, name: &str) -> Option<String> {
    serde_json::from_str(raw(fields, name)?).ok()
}

fn flag(fields: &Fields, name: &str) -> Option<bool> {
    raw(fields, name)?.parse().ok()
}

/// A count; some are written `4096.0`, and some as text.
fn count(fields: &Fields, name: &str) -> Option<u64> {
    let text = raw(fields, name)?.trim_matches('"');
    let text = text.strip_suffix(".0").unwrap_or(text);
    text.parse().ok().filter(|count| *count > 0)
}

fn words(fields: &Fields, name: &str) -> Vec<String> {
    raw(fields, name).and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
}

/// Returns what the model is asked for, if the library can ask for it.
fn kind(row: &Provider, name: &str, fields: &Fields) -> Option<ModelKind> {
    match string(fields, "mode").as_deref() {
        Some("chat") => Some(ModelKind::Chat),
        // Only the maker serves these models by that protocol alone; elsewhere it is another service.
        Some("responses") if Listing::of(&row.name).responses_are_chat => Some(ModelKind::Chat),
        // These models make images and sound in a chat.
        Some("image_generation" | "audio_speech") if name.starts_with("gemini-") => {
            Some(ModelKind::Chat)
        }
        Some("embedding") if row.serves.embeddings => Some(ModelKind::Embedding),
        _ => None,
    }
}

fn entry(row: &Provider, name: &str, kind: ModelKind, fields: &Fields) -> Entry {
    let mut model = ModelData::default();
    model.id = format!("{}/{name}", row.name);
    model.kind = Some(kind);
    model.context_window = count(fields, "max_input_tokens");
    model.deprecation_date = string(fields, "deprecation_date").and_then(|day| day.parse().ok());
    let mut unpriced = if kind == ModelKind::Chat && always_searches(row, name) {
        Some("each request costs by how much is searched")
    } else {
        None
    };
    if unpriced.is_none() {
        model.prices = prices(row, kind, fields);
        if raw(fields, "off_peak_pricing").is_some() {
            match off_peak(fields) {
                Some(line) => model.prices.push(line),
                None => {
                    model.prices.clear();
                    unpriced = Some("costs something else at hours that are not understood");
                }
            }
        }
    }
    if kind == ModelKind::Embedding {
        model.dimensions = count(fields, "output_vector_size");
        return Entry { model, unpriced };
    }
    model.max_output_tokens = count(fields, "max_output_tokens");
    let (inputs, outputs) =
        (words(fields, "supported_modalities"), words(fields, "supported_output_modalities"));
    let has = |list: &[String], word: &str| list.iter().any(|known| known == word).then_some(true);
    let can = &mut model.abilities;
    can.tools = flag(fields, "supports_function_calling");
    can.parallel_tools = flag(fields, "supports_parallel_function_calling");
    can.forced_tools =
        flag(fields, "supports_forced_tool_use").or_else(|| flag(fields, "supports_tool_choice"));
    can.image_input = flag(fields, "supports_vision").or_else(|| has(&inputs, "image"));
    can.audio_input = flag(fields, "supports_audio_input").or_else(|| has(&inputs, "audio"));
    can.video_input = flag(fields, "supports_video_input").or_else(|| has(&inputs, "video"));
    can.pdf_input = flag(fields, "supports_pdf_input");
    can.image_output = has(&outputs, "image");
    can.audio_output = flag(fields, "supports_audio_output").or_else(|| has(&outputs, "audio"));
    can.reasoning = flag(fields, "supports_reasoning");
    can.structured_output = flag(fields, "supports_native_structured_output")
        .or_else(|| flag(fields, "supports_response_schema"));
    can.temperature = flag(fields, "supports_sampling_params");
    can.prompt_caching = flag(fields, "supports_prompt_caching");
    can.web_search = flag(fields, "supports_web_search");
    let levels = words(fields, "reasoning_effort_levels");
    if !levels.is_empty() {
        let level = |word: &String| Effort::ALL.into_iter().find(|known| known.as_str() == word);
        model.efforts = Some(levels.iter().filter_map(level).collect());
    }
    Entry { model, unpriced }
}

/// Returns whether the model searches for every response, at a price that depends on a parameter of the request.
fn always_searches(row: &Provider, name: &str) -> bool {
    Listing::of(&row.name).is_priced_by_search
        || name.contains("-search-preview")
        || name.contains("-search-api")
}

/// The place of a price.
type UnitOf = fn(&mut UnitPrices) -> &mut Option<Usd>;

/// The fields that are prices of tokens; what follows in a field's name is when they hold.
const UNITS: [(&str, UnitOf); 9] = [
    ("input_cost_per_token", |units| &mut units.input),
    ("output_cost_per_token", |units| &mut units.output),
    ("cache_read_input_token_cost", |units| &mut units.cache_read),
    ("cache_creation_input_token_cost_above_1hr", |units| &mut units.cache_write_1h),
    ("cache_creation_input_token_cost", |units| &mut units.cache_write),
    ("output_cost_per_reasoning_token", |units| &mut units.reasoning),
    ("input_cost_per_audio_token", |units| &mut units.audio_input),
    ("output_cost_per_audio_token", |units| &mut units.audio_output),
    ("output_cost_per_image_token", |units| &mut units.image_output),
];

fn prices(row: &Provider, kind: ModelKind, fields: &Fields) -> Vec<Price> {
    let mut lines: BTreeMap<(Option<String>, Option<u64>), Price> = BTreeMap::new();
    for (name, value) in fields {
        let Some((rest, unit)) =
            UNITS.iter().find_map(|(unit, field)| Some((name.strip_prefix(unit)?, field)))
        else {
            continue;
        };
        let Some((tier, above)) = condition(rest) else { continue };
        let Some(usd) = money::per_token(value.get()) else { continue };
        let line = lines.entry((tier.clone(), above)).or_default();
        line.service_tier = tier;
        line.above_prompt_tokens = above;
        *unit(&mut line.per_million) = Some(usd);
    }
    let search = Listing::of(&row.name).has_search_price.then(|| search_price(fields)).flatten();
    for line in lines.values_mut() {
        let units = &mut line.per_million;
        if units.reasoning == units.output {
            units.reasoning = None;
        }
        if kind == ModelKind::Embedding {
            *units = UnitPrices::default();
            units.input = line_input(fields, line.service_tier.as_deref());
        }
        if let Some(usd) = search {
            line.per_call.insert("web_search_requests".to_owned(), usd);
            // What is fetched costs its tokens, and the fetching nothing.
            line.per_call.insert("web_fetch_requests".to_owned(), Usd::default());
        }
    }
    let zero = |usd: Option<Usd>| usd.is_none_or(|usd| usd.picos() == 0);
    let usual = lines.get(&(None, None)).map(|line| line.per_million).unwrap_or_default();
    if zero(usual.input) && zero(usual.output) {
        // Nothing is written where the price is not known, or is part of something else.
        return Vec::new();
    }
    lines.into_values().filter(|line| !line.per_million.is_empty()).collect()
}

/// Vectors cost what is read.
fn line_input(fields: &Fields, tier: Option<&str>) -> Option<Usd> {
    let name = match tier {
        None => "input_cost_per_token".to_owned(),
        Some("batch") => "input_cost_per_token_batches".to_owned(),
        Some(tier) => format!("input_cost_per_token_{tier}"),
    };
    money::per_token(raw(fields, &name)?)
}

/// The line for the hours at which less is paid. None if it cannot be understood.
fn off_peak(fields: &Fields) -> Option<Price> {
    let table: Fields = serde_json::from_str(raw(fields, "off_peak_pricing")?).ok()?;
    let windows: Vec<Fields> = serde_json::from_str(raw(&table, "windows")?).ok()?;
    let mut price = Price::default();
    for window in &windows {
        let days: Vec<u8> = serde_json::from_str(raw(window, "weekdays")?).ok()?;
        let days: String = days.iter().map(u8::to_string).collect();
        let spans =
            string(window, "hours_utc").map_or_else(|| words(window, "hours_utc"), |one| vec![one]);
        for span in spans {
            price.hours.push(format!("{days}/{span}").parse().ok()?);
        }
    }
    let read = |name: &str| money::per_token(raw(&table, name)?);
    price.per_million.input = Some(read("input_cost_per_token")?);
    price.per_million.output = Some(read("output_cost_per_token")?);
    price.per_million.cache_read = read("cache_read_input_token_cost");
    (!price.hours.is_empty()).then_some(price)
}

/// `_above_272k_tokens_priority`: from what size on, and in which tier. None is something else.
fn condition(rest: &str) -> Option<(Option<String>, Option<u64>)> {
    let (above, rest) = match rest.strip_prefix("_above_") {
        Some(rest) => {
            let (size, rest) = rest.split_once("k_tokens")?;
            (Some(size.parse::<u64>().ok()?.checked_mul(1_000)?), rest)
        }
        None => (None, rest),
    };
    let tier = match rest {
        "" => None,
        "_batches" => Some("batch"),
        "_flex" => Some("flex"),
        "_priority" => Some("priority"),
        _ => return None,
    };
    Some((tier.map(str::to_owned), above))
}

/// What a search costs, if it costs the same whatever its size.
fn search_price(fields: &Fields) -> Option<Usd> {
    let sizes: BTreeMap<String, Box<RawValue>> =
        serde_json::from_str(raw(fields, "search_context_cost_per_query")?).ok()?;
    let mut prices = sizes.values().map(|price| price.get().parse::<Usd>().ok());
    let first = prices.next()??;
    prices.all(|price| price == Some(first)).then_some(first)
}
