//! From two sources, one list.

use std::collections::BTreeSet;

use agentloop::models::{Date, ModelData, ModelKind, Price};
use agentloop::provider::NativeSchema;
use agentloop::{Provider, Usd};

use crate::listing::Listing;
use crate::{litellm, models_dev, places, providers};

/// The models, and what is worth knowing about how they came together.
pub(crate) struct Merged {
    pub(crate) models: Vec<ModelData>,
    pub(crate) notes: Vec<String>,
}

/// models.dev's word counts before litellm's, field by field; the rows of the library count before both.
pub(crate) fn merge(
    mut models_dev: models_dev::Models,
    mut litellm: litellm::Models,
    today: Date,
) -> Merged {
    let mut merged = Merged { models: Vec::new(), notes: Vec::new() };
    let both = !models_dev.is_empty();
    let keys: BTreeSet<String> = models_dev.keys().chain(litellm.keys()).cloned().collect();
    for key in keys {
        let (theirs, other) = (models_dev.remove(&key), litellm.remove(&key));
        let Some(row) = key.split('/').next().and_then(providers::find) else { continue };
        let is_gone = |day: Date| day <= today;
        let gone = match (&theirs, &other) {
            (None, Some(_)) if both && Listing::of(&row.name).litellm_is_stale => true,
            (_, Some(other)) => other.model.deprecation_date.is_some_and(is_gone),
            // No other list still has it.
            (Some(theirs), None) => theirs.deprecated,
            (None, None) => true,
        };
        if gone {
            continue;
        }
        let has_moved = moves(&key) && other.is_some();
        let models_dev::Entry { mut model, mut unlisted, .. } = theirs.unwrap_or_default();
        let litellm::Entry { model: mut second, unpriced } = other.unwrap_or_default();
        if has_moved {
            (model.abilities, unlisted) = Default::default();
            std::mem::swap(&mut model, &mut second);
        }
        let prices = match unpriced {
            Some(why) => {
                merged.notes.push(format!("{key}: no price, {why}"));
                Vec::new()
            }
            None if has_moved && !model.prices.is_empty() => model.prices.clone(),
            None => prices(&key, &model.prices, &second.prices, &mut merged.notes),
        };
        let contradicted =
            |one: Option<bool>, other: Option<bool>| one.is_some_and(|one| other == Some(!one));
        let (one, other) = (model.abilities, second.abilities);
        let mut model = model.or(second);
        // What requests are changed for must be sure: where the sources contradict each other, it is not known.
        if contradicted(one.reasoning, other.reasoning) {
            model.abilities.reasoning = None;
        }
        if contradicted(one.structured_output, other.structured_output) {
            model.abilities.structured_output = None;
        }
        model.prices = prices;
        if model.kind == Some(ModelKind::Chat) {
            model.abilities = model.abilities.or(unlisted);
        }
        let mut name_only = ModelData::default();
        (name_only.id, name_only.kind) = (model.id.clone(), model.kind);
        if model == name_only {
            continue;
        }
        correct(&mut model, row, &mut merged.notes);
        merged.models.push(model);
    }
    merged.models = places::gather(merged.models, &mut merged.notes);
    merged
}

const PREMIUM: &str = "a tenth more than the global profile, as in every geography";

/// Models of which models.dev's price is known to be the wrong one, and why. A name may end with `*`.
const PRICED_BY_LITELLM: &[(&str, &str)] = &[
    ("google/gemini-2.5-flash-image", "which keeps words and images apart"),
    // Amazon's guide ("Choosing between Geographic and Global cross-Region inference"): the global profile saves about a tenth.
    // models.dev has this price for the profiles of `eu.` and for some of `au.`, and elsewhere repeats that of `global.`.
    ("bedrock/us.anthropic.claude-*", PREMIUM),
    ("bedrock/jp.anthropic.claude-*", PREMIUM),
    ("bedrock/au.anthropic.claude-*", PREMIUM),
];

/// Returns whether the name refers to another model from time to time. litellm's list is regenerated every day and
/// follows.
fn moves(key: &str) -> bool {
    key.ends_with("-latest")
}

/// Merges two lists. If both have the standard price and it differs, one of them is wrong. It is not known which one,
/// so neither is used.
fn prices(key: &str, first: &[Price], second: &[Price], notes: &mut Vec<String>) -> Vec<Price> {
    if second.iter().any(|price| !price.hours.is_empty()) {
        // A list without hours is older than the hours, or leaves them out.
        return second.to_vec();
    }
    let is_meant = |id: &str| id == key || id.strip_suffix('*').is_some_and(|s| key.starts_with(s));
    let usual = |prices: &[Price]| {
        prices
            .iter()
            .find(|price| price.service_tier.is_none() && price.above_prompt_tokens.is_none())
            .map(|price| (price.per_million.input, price.per_million.output))
    };
    match (usual(first), usual(second)) {
        (None, _) => return second.to_vec(),
        (_, None) => return first.to_vec(),
        (Some(one), Some(other)) if one != other => {
            if let Some((_, why)) = PRICED_BY_LITELLM.iter().find(|(id, _)| is_meant(id)) {
                notes.push(format!("{key}: litellm's price, {why}"));
                return second.to_vec();
            }
            let text = |usd: Option<Usd>| usd.map_or("?".to_owned(), |usd| usd.to_string());
            let show = |(input, output)| format!("{}/{}", text(input), text(output));
            let (one, other) = (show(one), show(other));
            notes.push(format!("{key}: no price, models.dev says {one} and litellm {other}"));
            return Vec::new();
        }
        _ => {}
    }
    let same = |a: &Price, b: &Price| {
        a.service_tier == b.service_tier && a.above_prompt_tokens == b.above_prompt_tokens
    };
    let mut prices = first.to_vec();
    for line in second {
        match prices.iter_mut().find(|known| same(known, line)) {
            Some(known) => {
                known.per_million = known.per_million.or(line.per_million);
                known.per_call.clone_from(&line.per_call);
            }
            None => prices.push(line.clone()),
        }
    }
    prices.sort_by(|a, b| {
        (&a.service_tier, a.above_prompt_tokens).cmp(&(&b.service_tier, b.above_prompt_tokens))
    });
    prices
}

/// More than any vectors cost, for a million tokens: a price above it is a slip of the point.
const MOST_FOR_VECTORS: Usd = Usd::from_picos(5_000_000_000_000);

/// What the library's own row says of the model is checked against its maker's documentation, and counts. What cannot be
/// goes.
fn correct(model: &mut ModelData, row: &Provider, notes: &mut Vec<String>) {
    let beyond = |price: &Price| price.per_million.input.is_some_and(|usd| usd > MOST_FOR_VECTORS);
    if model.kind == Some(ModelKind::Embedding) && model.prices.iter().any(beyond) {
        notes.push(format!("{}: no price, nothing of its kind costs that much", model.id));
        model.prices.clear();
    }
    if let Some((_, day)) = announced(&model.id) {
        for price in &mut model.prices {
            price.until = Some(day);
        }
        notes.push(format!("{}: the price holds until {day}", model.id));
    }
    let name = model.id.split_once('/').map_or("", |(_, name)| name).to_owned();
    let sure =
        |said: Option<bool>| said.filter(|yes| *yes || !Listing::of(&row.name).lacks_abilities);
    let can = &mut model.abilities;
    can.structured_output = sure(can.structured_output);
    can.reasoning = sure(can.reasoning).filter(|yes| *yes || !providers::is_named_thinking(&name));
    let Some(rule) = row.model_rule(&name) else { return };
    if let Some(tokens) = rule.max_output_tokens {
        model.max_output_tokens = Some(tokens);
    }
    if rule.json_schema == NativeSchema::No {
        model.abilities.structured_output = Some(false);
    }
}

/// Prices of which the maker has said when they end, and not yet in which lines they go on.
fn announced(id: &str) -> Option<(&'static str, Date)> {
    let ends = [("google/gemini-4-argon", Date::new(2026, 12, 1)?)];
    ends.into_iter().find(|(known, _)| *known == id)
}
