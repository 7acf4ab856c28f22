//! Reads moderations: OpenAI reports `flagged`, Mistral only the categories.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Deserialize;

use crate::chat::{ModerateRequest, ModerateResponse, Moderation, TaskResponse};
use crate::error::Result;
use crate::protocol::lenient::{Float, Many, Object, Text};
use crate::protocol::task::{Reader, TaskDecoded, WireUsage};

#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct Wire<'a> {
    model: Text<'a>,
    results: Option<Many<Item<'a>>>,
    usage: Object<WireUsage<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Item<'a> {
    // These two are read strictly: a wrong type must not become "not flagged".
    flagged: Option<bool>,
    /// A category that a model does not have is `null`.
    #[serde(borrow)]
    categories: Object<BTreeMap<Cow<'a, str>, Option<bool>>>,
    #[serde(borrow)]
    category_scores: Object<BTreeMap<Cow<'a, str>, Float>>,
}

pub(in crate::protocol) fn decode(
    reader: &Reader<'_>,
    request: &ModerateRequest,
) -> Result<TaskDecoded> {
    let wire: Wire<'_> = reader.json()?;
    let items = wire.results.ok_or_else(|| reader.broken("there are no results"))?;
    let (asked, came) = (request.results(), items.0.len());
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
        if item.flagged.is_none() && categories.is_empty() {
            return Err(reader.broken("a result has neither `flagged` nor a category"));
        }
        let known = |(name, value): (Cow<'_, str>, Float)| Some((name.into_owned(), value.0?));
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
