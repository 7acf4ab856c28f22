//! Reads moderations: OpenAI reports `flagged`, Mistral only the categories.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Deserialize;

use crate::chat::{ModerateRequest, ModerateResponse, Moderation, TaskResponse};
use crate::error::Result;
use crate::protocol::lenient::{Many, Object, Text};
use crate::protocol::task::{Reader, TaskDecoded, WireUsage};

#[derive(Default, Deserialize)]
#[serde(default)]
struct Wire<'a> {
    #[serde(borrow)]
    model: Text<'a>,
    #[serde(borrow)]
    results: Option<Many<Item<'a>>>,
    #[serde(borrow)]
    usage: Object<WireUsage<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Item<'a> {
    flagged: Option<bool>,
    /// A category that a model does not have is `null`.
    #[serde(borrow)]
    categories: Object<BTreeMap<Cow<'a, str>, Option<bool>>>,
    #[serde(borrow)]
    category_scores: Object<BTreeMap<Cow<'a, str>, Option<f64>>>,
}

pub(in crate::protocol) fn decode(
    reader: &Reader<'_>,
    request: &ModerateRequest,
) -> Result<TaskDecoded> {
    let wire: Wire<'_> = reader.json()?;
    let items = wire.results.ok_or_else(|| reader.broken("there are no results"))?;
    let (asked, came) = (request.input.len(), items.0.len());
    if asked != came {
        let message = format!("the provider returned {came} results for {asked} inputs");
        return Err(reader.broken(message));
    }
    let mut response = ModerateResponse::default();
    for item in items.0 {
        let Some(categories) = item.categories.0 else {
            return Err(reader.broken("a result has no categories"));
        };
        let known = |(name, value): (Cow<'_, str>, Option<bool>)| Some((name.into_owned(), value?));
        let categories: BTreeMap<String, bool> = categories.into_iter().filter_map(known).collect();
        let known = |(name, value): (Cow<'_, str>, Option<f64>)| Some((name.into_owned(), value?));
        let scores = item.category_scores.0.unwrap_or_default();
        response.results.push(Moderation {
            flagged: item.flagged.unwrap_or_else(|| categories.values().any(|value| *value)),
            categories,
            scores: scores.into_iter().filter_map(known).collect(),
        });
    }
    let usage = wire.usage.0.unwrap_or_default();
    response.usage = usage.tokens();
    response.model = wire.model.into_non_empty().unwrap_or_default().into_owned();
    Ok(TaskDecoded { response: TaskResponse::Moderate(response), cost: usage.cost() })
}
