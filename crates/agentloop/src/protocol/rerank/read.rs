//! Reads rankings: Cohere, Together, Jina, vLLM and llama.cpp list them as `results`, Fireworks and Voyage as `data`.

use std::cmp::Ordering;

use serde::Deserialize;

use crate::chat::{RankedDocument, RerankRequest, RerankResponse, TaskResponse};
use crate::error::Result;
use crate::protocol::lenient::{Float, Int, Many, Object, Text};
use crate::protocol::task::{Reader, TaskDecoded, WireUsage};

#[derive(Default, Deserialize)]
#[serde(default)]
struct Wire<'a> {
    #[serde(borrow)]
    model: Text<'a>,
    results: Option<Many<Item>>,
    data: Option<Many<Item>>,
    #[serde(borrow)]
    usage: Object<WireUsage<'a>>,
    meta: Object<Meta>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Item {
    index: Int,
    relevance_score: Float,
    score: Float,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Meta {
    billed_units: Object<BilledUnits>,
    tokens: Object<Tokens>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct BilledUnits {
    search_units: Int,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Tokens {
    input_tokens: Int,
    output_tokens: Int,
}

pub(in crate::protocol) fn decode(
    reader: &Reader<'_>,
    request: &RerankRequest,
) -> Result<TaskDecoded> {
    let wire: Wire<'_> = reader.json()?;
    let items = wire.results.or(wire.data).ok_or_else(|| reader.broken("there are no results"))?;
    let count = request.documents.len();
    let mut seen = vec![false; count];
    let mut response = RerankResponse::default();
    for item in items.0 {
        let index = item.index.unsigned().and_then(|index| usize::try_from(index).ok());
        let place = index.and_then(|index| seen.get_mut(index));
        let (Some(index), Some(place)) = (index, place) else {
            let index = item.index.0.map_or_else(|| "none".to_owned(), |index| index.to_string());
            let message =
                format!("a result has the index {index}, but there are {count} documents");
            return Err(reader.broken(message));
        };
        if std::mem::replace(place, true) {
            return Err(reader.broken(format!("document {index} is ranked twice")));
        }
        let score = item.relevance_score.0.or(item.score.0);
        let score = score.ok_or_else(|| reader.broken(format!("document {index} has no score")))?;
        response.results.push(RankedDocument::new(index, score));
    }
    // Equal scores keep the order of arrival.
    response
        .results
        .sort_by(|one, other| other.score.partial_cmp(&one.score).unwrap_or(Ordering::Equal));
    if let Some(most) = request.top_n {
        response.results.truncate(most as usize);
    }
    let usage = wire.usage.0.unwrap_or_default();
    let meta = wire.meta.0.unwrap_or_default();
    response.search_units = meta.billed_units.0.and_then(|units| units.search_units.unsigned());
    response.usage = usage.tokens().or_else(|| {
        let tokens = meta.tokens.0?;
        let (prompt, completion) =
            (tokens.input_tokens.unsigned()?, tokens.output_tokens.unsigned());
        Some(crate::chat::Usage {
            prompt_tokens: Some(prompt),
            completion_tokens: completion,
            total_tokens: Some(prompt.saturating_add(completion.unwrap_or(0))),
            ..crate::chat::Usage::default()
        })
    });
    response.model = wire.model.into_non_empty().unwrap_or_default().into_owned();
    let cost = usage.cost();
    Ok(TaskDecoded { response: TaskResponse::Rerank(response), cost })
}
