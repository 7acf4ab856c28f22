//! Reads the short form in which a data file holds a model: one line, its fields by letters.
//!
//! ```text
//! "openai/gpt-x":{"c":400000,"o":128000,"a":"TIRh","e":"lmh","u":"i2.5 o15 r0.25;>272000 i5 o22.5 r0.5"}
//! ```
//!
//! A price list's lines are divided by `;`, and its words by blanks: `>N` is a prompt above N tokens, `@tier` a tier of
//! service, `^` the regions and geographies where it applies (alone: those of the line before), `+day` and `-day` are the first day and the first day after, `~` hours of the week, `q` is for each request, `name=` for each call
//! of a provider's tool, and the other letters are the kinds of tokens, in dollars for a million.

use std::borrow::Cow;

use serde::Deserialize;

use super::{Abilities, ModelData, ModelKind, Price};
use crate::chat::{Effort, Efforts};

const EFFORTS: [(char, Effort); 7] = [
    ('n', Effort::None),
    ('i', Effort::Minimal),
    ('l', Effort::Low),
    ('m', Effort::Medium),
    ('h', Effort::High),
    ('x', Effort::Xhigh),
    ('a', Effort::Max),
];

fn effort(letter: char) -> Option<Effort> {
    EFFORTS.iter().find(|(known, _)| *known == letter).map(|(_, level)| *level)
}

/// The fields after the name.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Line<'a> {
    /// Whether it makes vectors, and of which length (0 is unknown).
    #[serde(rename = "v")]
    vectors: Option<u64>,
    #[serde(rename = "c")]
    context: Option<u64>,
    #[serde(rename = "i")]
    input: Option<u64>,
    #[serde(rename = "o")]
    output: Option<u64>,
    #[serde(rename = "a", borrow)]
    abilities: Cow<'a, str>,
    #[serde(rename = "e", borrow)]
    efforts: Option<Cow<'a, str>>,
    #[serde(rename = "k", borrow)]
    knowledge: Option<Cow<'a, str>>,
    #[serde(rename = "d", borrow)]
    deprecated: Option<Cow<'a, str>>,
    #[serde(rename = "u", borrow)]
    prices: Cow<'a, str>,
}

/// The little of it that shapes a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Hints {
    /// The longest response that leaves room for the prompt.
    pub(crate) max_output_tokens: Option<u64>,
    pub(crate) abilities: Abilities,
    /// The levels of effort, where they are listed.
    pub(crate) efforts: Option<Efforts>,
}

impl Hints {
    /// Creates the hints. An output limit that is all or most of the context window is not a limit that a request can
    /// use.
    pub(super) fn new(
        context: Option<u64>,
        output: Option<u64>,
        abilities: Abilities,
        efforts: Option<Efforts>,
    ) -> Self {
        let leaves_room = |most: &u64| context.is_none_or(|context| *most <= context / 2);
        Self { max_output_tokens: output.filter(leaves_room), abilities, efforts }
    }

    pub(super) fn read(json: &str) -> Option<Self> {
        /// Other fields are skipped, not read.
        #[derive(Default, Deserialize)]
        #[serde(default)]
        struct Part<'a> {
            #[serde(rename = "c")]
            context: Option<u64>,
            #[serde(rename = "o")]
            output: Option<u64>,
            #[serde(rename = "a", borrow)]
            abilities: Cow<'a, str>,
            #[serde(rename = "e", borrow)]
            efforts: Option<Cow<'a, str>>,
        }
        let line: Part<'_> = serde_json::from_str(json).ok()?;
        let abilities = Abilities::from_letters(&line.abilities)?;
        let efforts = line.efforts.map(|letters| letters.chars().filter_map(effort).collect());
        Some(Self::new(line.context, line.output, abilities, efforts))
    }
}

/// Reads the fields after the name. The error states what is wrong.
pub(super) fn read(id: &str, json: &str) -> Result<ModelData, String> {
    let line: Line<'_> = serde_json::from_str(json).map_err(|error| error.to_string())?;
    let unknown = |what: &str| format!("`{what}` is not known");
    Ok(ModelData {
        id: id.to_owned(),
        kind: Some(if line.vectors.is_some() { ModelKind::Embedding } else { ModelKind::Chat }),
        context_window: line.context,
        max_input_tokens: line.input,
        max_output_tokens: line.output,
        abilities: Abilities::from_letters(&line.abilities)
            .ok_or_else(|| unknown(&line.abilities))?,
        efforts: match line.efforts {
            Some(letters) => Some(
                letters
                    .chars()
                    .map(effort)
                    .collect::<Option<_>>()
                    .ok_or_else(|| unknown(&letters))?,
            ),
            None => None,
        },
        dimensions: line.vectors.filter(|length| *length > 0),
        knowledge_cutoff: line.knowledge.map(Cow::into_owned),
        deprecation_date: match line.deprecated {
            Some(day) => Some(day.parse().map_err(|error| format!("{error}"))?),
            None => None,
        },
        prices: read_prices(&line.prices).map_err(unknown)?,
        restrictions: None,
    })
}

/// Reads a list of prices. The error is the line that is not one.
fn read_prices(text: &str) -> Result<Vec<Price>, &str> {
    let mut prices: Vec<Price> = Vec::new();
    for text in text.split(';').filter(|text| !text.is_empty()) {
        let before = prices.last().map_or(&[][..], |price| &price.regions);
        let price = read_price(text, before).ok_or(text)?;
        prices.push(price);
    }
    Ok(prices)
}

fn read_price(text: &str, regions_before: &[String]) -> Option<Price> {
    let mut price = Price::default();
    for word in text.split(' ') {
        if let Some((tool, usd)) = word.split_once('=') {
            price.per_call.insert(tool.to_owned(), usd.parse().ok()?);
            continue;
        }
        let first = word.chars().next()?;
        let rest = word.get(first.len_utf8()..)?;
        match first {
            '>' => price.above_prompt_tokens = Some(rest.parse().ok()?),
            '@' => price.service_tier = Some(rest.to_owned()),
            '^' if rest.is_empty() => price.regions = regions_before.to_vec(),
            '^' => price.regions = rest.split(',').map(str::to_owned).collect(),
            '~' => price.hours.push(rest.parse().ok()?),
            '+' => price.from = Some(rest.parse().ok()?),
            '-' => price.until = Some(rest.parse().ok()?),
            'q' => price.per_request = Some(rest.parse().ok()?),
            letter => *price.per_million.by_letter(letter)? = Some(rest.parse().ok()?),
        }
    }
    Some(price)
}
