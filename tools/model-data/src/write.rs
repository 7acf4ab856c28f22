//! Writes a data file: a JSON document of which each line but the first and the last is one model, in order. `models/compact.rs` of the library
//! describes a line, and reads it.

use std::collections::BTreeMap;
use std::fmt::{Display, Write as _};

use agentloop::Effort;
use agentloop::models::{Abilities, DataFile, Date, ModelData, ModelKind, Price, UnitPrices};
use serde::Serialize;

/// The content of a data file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Content {
    /// The day on which it is generated.
    pub(crate) generated: Date,
    pub(crate) sources: Vec<Source>,
    /// The providers whose models have variants: a word after a colon chooses how a model is served, not which one.
    pub(crate) variants: Vec<String>,
    /// The providers whose models are also called through inference profiles.
    pub(crate) profiles: Vec<String>,
    /// The models, by `provider/model` in lower case.
    pub(crate) models: BTreeMap<String, ModelData>,
}

/// A source of a data file.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Source {
    pub(crate) name: String,
    /// A version or a commit, and its day if it is known.
    pub(crate) version: String,
    /// The copyright and the terms of use.
    pub(crate) notice: String,
}

#[derive(Serialize)]
struct Head<'a> {
    generated: Date,
    sources: &'a [Source],
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    variants: &'a [String],
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    profiles: &'a [String],
}

/// The fields after the name.
#[derive(Serialize)]
struct Line {
    #[serde(rename = "v", skip_serializing_if = "Option::is_none")]
    vectors: Option<u64>,
    #[serde(rename = "c", skip_serializing_if = "Option::is_none")]
    context: Option<u64>,
    #[serde(rename = "i", skip_serializing_if = "Option::is_none")]
    input: Option<u64>,
    #[serde(rename = "o", skip_serializing_if = "Option::is_none")]
    output: Option<u64>,
    #[serde(rename = "a", skip_serializing_if = "String::is_empty")]
    abilities: String,
    #[serde(rename = "e", skip_serializing_if = "Option::is_none")]
    efforts: Option<String>,
    #[serde(rename = "k", skip_serializing_if = "Option::is_none")]
    knowledge: Option<String>,
    #[serde(rename = "d", skip_serializing_if = "Option::is_none")]
    deprecated: Option<String>,
    #[serde(rename = "u", skip_serializing_if = "String::is_empty")]
    prices: String,
}

impl Content {
    /// Creates a file without models.
    pub(crate) fn new(generated: Date, sources: Vec<Source>) -> Self {
        let (variants, profiles) = (Vec::new(), Vec::new());
        Self { generated, sources, variants, profiles, models: BTreeMap::new() }
    }

    /// Adds a model. It replaces a model of the same name.
    pub(crate) fn insert(&mut self, mut model: ModelData) {
        model.kind = model.kind.or(Some(ModelKind::Chat));
        self.models.insert(model.id.to_ascii_lowercase(), model);
    }

    /// Returns the content of a file that was read.
    pub(crate) fn of(file: DataFile) -> Self {
        let DataFile { generated, sources, variants, profiles, models, .. } = file;
        let source = |source: agentloop::models::Source| Source {
            name: source.name,
            version: source.version,
            notice: source.notice,
        };
        let sources = sources.into_iter().map(source).collect();
        Self { generated, sources, variants, profiles, models }
    }

    /// Returns the text of the file.
    pub(crate) fn to_text(&self) -> Result<String, String> {
        let broken = |error: serde_json::Error| error.to_string();
        let head = Head {
            generated: self.generated,
            sources: &self.sources,
            variants: &self.variants,
            profiles: &self.profiles,
        };
        let mut text = serde_json::to_string(&head).map_err(broken)?;
        text.pop();
        text.push_str(",\"models\":{\n");
        for (place, model) in self.models.values().enumerate() {
            let usable = |c: char| c.is_ascii_graphic() && c != '"' && c != '\\';
            if !model.id.chars().all(usable) || !model.id.contains('/') {
                return Err(format!("`{}` cannot be the name of a model", model.id));
            }
            let comma = if place + 1 < self.models.len() { "," } else { "" };
            let line = serde_json::to_string(&line(model)).map_err(broken)?;
            text.push_str(&format!("\"{}\":{line}{comma}\n", model.id));
        }
        text.push_str("}}\n");
        Ok(text)
    }
}

fn line(model: &ModelData) -> Line {
    let mut prices = Vec::new();
    let mut before: &[String] = &[];
    for price in &model.prices {
        prices.push(write_price(price, before));
        before = &price.regions;
    }
    let is_embedding = model.kind == Some(ModelKind::Embedding);
    Line {
        vectors: is_embedding.then_some(model.dimensions.unwrap_or(0)),
        context: model.context_window,
        input: model.max_input_tokens,
        output: model.max_output_tokens,
        abilities: abilities(&model.abilities),
        efforts: model.efforts.as_ref().map(|all| all.iter().filter_map(effort).collect()),
        knowledge: model.knowledge_cutoff.clone(),
        deprecated: model.deprecation_date.map(|day| day.to_string()),
        prices: prices.join(";"),
    }
}

fn effort(level: &Effort) -> Option<char> {
    Some(match level {
        Effort::None => 'n',
        Effort::Minimal => 'i',
        Effort::Low => 'l',
        Effort::Medium => 'm',
        Effort::High => 'h',
        Effort::Xhigh => 'x',
        Effort::Max => 'a',
        _ => return None,
    })
}

/// Returns the letters of the abilities: upper case means yes, lower case no.
fn abilities(can: &Abilities) -> String {
    let all = [
        ('T', can.tools),
        ('P', can.parallel_tools),
        ('F', can.forced_tools),
        ('I', can.image_input),
        ('A', can.audio_input),
        ('V', can.video_input),
        ('D', can.pdf_input),
        ('G', can.image_output),
        ('S', can.audio_output),
        ('R', can.reasoning),
        ('J', can.structured_output),
        ('H', can.temperature),
        ('C', can.prompt_caching),
        ('W', can.web_search),
    ];
    let letter = |(letter, can): (char, Option<bool>)| {
        can.map(|can| if can { letter } else { letter.to_ascii_lowercase() })
    };
    all.into_iter().filter_map(letter).collect()
}

fn write_price(price: &Price, regions_before: &[String]) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let mut word = |first: char, rest: &dyn Display| {
        let blank = if text.is_empty() { "" } else { " " };
        let _ = write!(text, "{blank}{first}{rest}");
    };
    if let Some(above) = price.above_prompt_tokens {
        word('>', &above);
    }
    if let Some(tier) = &price.service_tier {
        word('@', tier);
    }
    if !price.regions.is_empty() {
        let is_same = price.regions == regions_before;
        word('^', &if is_same { String::new() } else { price.regions.join(",") });
    }
    if let Some(day) = price.from {
        word('+', &day);
    }
    if let Some(day) = price.until {
        word('-', &day);
    }
    for hours in &price.hours {
        word('~', hours);
    }
    let UnitPrices { input, output, cache_read, cache_write, cache_write_1h, .. } =
        price.per_million;
    let UnitPrices { reasoning, audio_input, audio_output, image_output, .. } = price.per_million;
    for (letter, usd) in [
        ('i', input),
        ('o', output),
        ('r', cache_read),
        ('w', cache_write),
        ('h', cache_write_1h),
        ('t', reasoning),
        ('a', audio_input),
        ('s', audio_output),
        ('g', image_output),
    ] {
        if let Some(usd) = usd {
            word(letter, &usd);
        }
    }
    if let Some(usd) = price.per_request {
        word('q', &usd);
    }
    for (tool, usd) in &price.per_call {
        let _ = write!(text, " {tool}={usd}");
    }
    text
}
