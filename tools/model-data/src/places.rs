//! Of a model that is listed once for each place where it is served, one record.
//!
//! A provider with inference profiles has a model under several names: `anthropic.claude-x` in the region of the call, `eu.anthropic.claude-x`
//! through the profile of a geography. litellm also has `eu-west-2/minimax.x`. What differs between them is the price.
//!
//! litellm 1.108.4 lists different prices for regions of one geography (`minimax.minimax-m2.5` in `eu-west-1` and `eu-west-2`). No source states
//! which of them a call through a profile costs, so a price is kept only where it is certain:
//!
//! - the price of a name without a place is that of the regions of the United States: where litellm 1.108.4 lists these regions too, they
//!   have that price;
//! - the price of a geography other than `global`, `us` and `us-gov` is kept if the geographies agree. If they do not, prices
//!   may differ between the regions of one geography as well;
//! - the two regions of `us-gov` have one price. Where they are listed with two, one of them is wrong.

use std::collections::BTreeMap;

use agentloop::Usd;
use agentloop::models::{ModelData, Price};

use crate::listing::Listing;
use crate::providers;

/// The regions that have the price of a name without a place.
const HOME: [&str; 3] = ["us-east-1", "us-east-2", "us-west-2"];

/// The geographies with inference profiles.
const GEOGRAPHIES: [&str; 8] = ["global", "us", "us-gov", "eu", "apac", "jp", "au", "in"];

/// The geographies whose regions have one price, whatever that of the others.
const UNIFORM: [&str; 3] = ["global", "us", "us-gov"];

/// The regions of the geography `us-gov`.
const GOVERNMENT: [&str; 2] = ["us-gov-east-1", "us-gov-west-1"];

/// The lists of prices of a model, by place. The empty text is the name without a place.
type ByPlace = BTreeMap<String, Vec<Price>>;

/// Brings the records of a model together, for the providers that have profiles.
pub(crate) fn gather(models: Vec<ModelData>, notes: &mut Vec<String>) -> Vec<ModelData> {
    let mut rest = Vec::new();
    let mut gathered: BTreeMap<String, (ModelData, ByPlace)> = BTreeMap::new();
    for mut model in models {
        let row = model.id.split_once('/').and_then(|(provider, _)| providers::find(provider));
        let Some(row) = row.filter(|row| Listing::of(&row.name).has_profiles) else {
            rest.push(model);
            continue;
        };
        let name = model.id.get(row.name.len() + 1..).unwrap_or_default();
        let (place, name) = split(name);
        let (place, id) = (place.to_owned(), format!("{}/{name}", row.name));
        let prices = std::mem::take(&mut model.prices);
        let (known, by_place) = gathered.entry(id.to_ascii_lowercase()).or_default();
        model.id = id;
        let mut others = std::mem::take(known);
        *known = if place.is_empty() {
            // A profile may end before its model.
            others.deprecation_date = None;
            model.or(others)
        } else {
            others.or(model)
        };
        by_place.insert(place, prices);
    }
    for (mut model, mut by_place) in gathered.into_values() {
        keep_certain(&model.id, &mut by_place, notes);
        model.prices = lines(by_place);
        rest.push(model);
    }
    rest
}

/// Divides a name into the place and the name of the model.
fn split(name: &str) -> (&str, &str) {
    if let Some((region, model)) = name.split_once('/') {
        return (region, model);
    }
    match name.split_once('.') {
        Some((geography, model)) if GEOGRAPHIES.contains(&geography) => (geography, model),
        _ => ("", name),
    }
}

/// Returns the standard price, by which lists are compared.
fn usual(prices: &[Price]) -> Option<(Option<Usd>, Option<Usd>)> {
    let is_usual =
        |price: &&Price| price.service_tier.is_none() && price.above_prompt_tokens.is_none();
    let price = prices.iter().find(is_usual)?;
    Some((price.per_million.input, price.per_million.output))
}

/// Removes the prices that are not those of all calls under a name.
fn keep_certain(id: &str, by_place: &mut ByPlace, notes: &mut Vec<String>) {
    let of = |by_place: &ByPlace, place: &str| by_place.get(place).and_then(|list| usual(list));
    let mut remove = |by_place: &mut ByPlace, place: &str, why: &str| {
        if by_place.remove(place).is_some_and(|list| !list.is_empty()) {
            let place = if place.is_empty() { "the regions" } else { place };
            notes.push(format!("{id}: no price in {place}, {why}"));
        }
    };
    let (plain, global, us) = (of(by_place, ""), of(by_place, "global"), of(by_place, "us"));
    if plain.is_some() && plain == global && us.is_some() && us != global {
        remove(by_place, "", "the sources have that of the global profile");
    }
    let places: Vec<String> = by_place.keys().cloned().collect();
    let local = |place: &&String| {
        GEOGRAPHIES.contains(&place.as_str()) && !["global", "us-gov"].contains(&place.as_str())
    };
    let mut prices = places.iter().filter(local).filter_map(|place| of(by_place, place));
    let first = prices.next();
    if prices.any(|price| Some(price) != first) {
        for place in places.iter().filter(local).filter(|place| !UNIFORM.contains(&place.as_str()))
        {
            remove(by_place, place, "it differs between geographies");
        }
    }
    let government = GOVERNMENT.map(|region| of(by_place, region));
    if government.iter().all(Option::is_some) && government[0] != government[1] {
        for region in GOVERNMENT {
            remove(by_place, region, "it is listed with two");
        }
    }
}

/// Returns one list, in which lines of the same price are one.
fn lines(mut by_place: ByPlace) -> Vec<Price> {
    if let Some(plain) = by_place.remove("") {
        for region in HOME {
            by_place.entry(region.to_owned()).or_insert_with(|| plain.clone());
        }
    }
    let mut lines: Vec<(Price, Vec<String>)> = Vec::new();
    for (place, prices) in by_place {
        for price in prices {
            let known = lines.iter().position(|line: &(Price, Vec<String>)| line.0 == price);
            match known.and_then(|at| lines.get_mut(at)) {
                Some((_, places)) => places.push(place.clone()),
                None => lines.push((price, vec![place.clone()])),
            }
        }
    }
    let placed = lines.into_iter().map(|(mut price, places)| {
        price.regions = places;
        price
    });
    placed.collect()
}
