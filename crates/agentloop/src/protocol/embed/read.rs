//! Reads the response of an embeddings call: the known forms are distinguished by their fields.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::{Embedded, vector};
use crate::chat::EmbedUsage;
use crate::error::{Error, ErrorKind, Result};
use crate::protocol::json::read_json_body;
use crate::protocol::lenient::{Int, Many, Object, Text};
use crate::protocol::{ReportedCost, error_body};
use crate::provider::Provider;
use crate::provider::quirks::EmbeddingEncoding;

/// The kinds of number in which one vector may come, the most exact first; one has another name in what an SDK writes.
const KINDS: [&str; 7] = ["float", "float_", "base64", "int8", "uint8", "binary", "ubinary"];

#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct Wire<'a> {
    model: Text<'a>,
    /// A list of objects, each with its place and its vector.
    data: Option<Many<Item<'a>>>,
    /// A list of vectors or of objects that hold them, or an object of such lists by the kind of number.
    embeddings: Option<&'a RawValue>,
    /// One vector, or an object that holds it.
    embedding: Option<&'a RawValue>,
    /// A list of objects that hold an object that holds the vector.
    predictions: Option<Many<Prediction<'a>>>,
    usage: Object<Usage<'a>>,
    #[serde(rename = "usageMetadata")]
    usage_metadata: Object<UsageMetadata>,
    meta: Object<Meta>,
    prompt_eval_count: Int,
    /// Of Amazon's Titan models.
    #[serde(rename = "inputTextTokenCount")]
    input_text_token_count: Int,
    error: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Item<'a> {
    index: Int,
    #[serde(borrow)]
    embedding: Option<&'a RawValue>,
    #[serde(borrow)]
    values: Option<&'a RawValue>,
    statistics: Object<Statistics>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Statistics {
    token_count: Int,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Prediction<'a> {
    #[serde(borrow)]
    embeddings: Item<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Usage<'a> {
    prompt_tokens: Int,
    total_tokens: Int,
    #[serde(borrow)]
    cost: Option<&'a RawValue>,
    cost_in_usd_ticks: Int,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct UsageMetadata {
    prompt_token_count: Int,
    total_token_count: Int,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Meta {
    billed_units: Object<BilledUnits>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct BilledUnits {
    input_tokens: Int,
}

/// Returns the vectors, in the order of the texts. An error that is in their place is read by `error_in`.
pub(crate) fn decode(
    provider: &Provider,
    body: &[u8],
    error_in: &dyn Fn(&[u8]) -> Error,
) -> Result<Embedded> {
    let body = body.trim_ascii();
    let name = provider.name.as_ref();
    if body.starts_with(b"[") && error_body::is_listed_error(body) {
        return Err(error_in(body));
    }
    let wire: Wire<'_> = read_json_body(body).map_err(|error| error.with_provider(name))?;
    if wire.error.is_some_and(|error| error.get() != "{}") {
        return Err(error_in(body));
    }
    let usage = usage(&wire);
    let broken =
        |what: String| Error::new(ErrorKind::Protocol, what).with_provider(name).with_raw(body);
    let encoding = provider.quirks.embeddings.encoding;
    match vectors(&wire, encoding).map_err(broken)? {
        Some(vectors) => {
            let model = wire.model.into_non_empty().map(Cow::into_owned);
            let usage_fields = wire.usage.0.unwrap_or_default();
            let ticks = ReportedCost::of_ticks(usage_fields.cost_in_usd_ticks);
            Ok(Embedded {
                model,
                vectors,
                usage,
                cost: ReportedCost::read(usage_fields.cost).or(ticks),
            })
        }
        None if error_body::is_bare_error(body) => Err(error_in(body)),
        None => Err(broken("the response has no vectors".to_owned())),
    }
}

type Read<T> = std::result::Result<T, String>;

fn vectors(wire: &Wire<'_>, encoding: EmbeddingEncoding) -> Read<Option<Vec<Vec<f32>>>> {
    if let Some(items) = &wire.data {
        return in_order(items.0.iter().map(|item| item.read(encoding))).map(Some);
    }
    if let Some(predictions) = &wire.predictions {
        let items = predictions.0.iter().map(|prediction| &prediction.embeddings);
        return in_order(items.map(|item| item.read(encoding))).map(Some);
    }
    if let Some(all) = wire.embeddings {
        return lists(all.get(), encoding).map(Some);
    }
    match wire.embedding {
        Some(one) => element(one, encoding).map(|(_, vector)| Some(vec![vector])),
        None => Ok(None),
    }
}

/// Returns a list, or the most exact one of an object of lists.
fn lists(raw: &str, encoding: EmbeddingEncoding) -> Read<Vec<Vec<f32>>> {
    let (list, encoding) = if raw.starts_with('{') {
        let kinds: BTreeMap<Cow<'_, str>, &RawValue> =
            serde_json::from_str(raw).map_err(|error| format!("the vectors: {error}"))?;
        let list: Vec<&RawValue> = KINDS
            .iter()
            .find_map(|kind| serde_json::from_str(kinds.get(*kind)?.get()).ok())
            .ok_or("the format of the vectors is unknown")?;
        (list, EmbeddingEncoding::Base64)
    } else {
        let list = serde_json::from_str(raw).map_err(|error| format!("the vectors: {error}"))?;
        (list, encoding)
    };
    in_order(list.into_iter().map(|raw| element(raw, encoding)))
}

/// Returns a vector, or an object that holds one.
fn element(raw: &RawValue, encoding: EmbeddingEncoding) -> Read<(Option<i64>, Vec<f32>)> {
    if raw.get().starts_with('{') {
        let item: Item<'_> =
            serde_json::from_str(raw.get()).map_err(|error| format!("a vector: {error}"))?;
        return item.read(encoding);
    }
    let vector = vector::read(raw.get(), encoding).ok_or("a vector cannot be parsed")?;
    Ok((None, vector))
}

impl Item<'_> {
    fn read(&self, encoding: EmbeddingEncoding) -> Read<(Option<i64>, Vec<f32>)> {
        let raw = self.embedding.or(self.values).ok_or("a vector is missing")?;
        let vector = vector::read(raw.get(), encoding).ok_or("a vector cannot be parsed")?;
        Ok((self.index.0, vector))
    }
}

/// Returns the vectors sorted by their indices, or in the order of arrival if they have none. Every index occurs
/// exactly once.
fn in_order(
    items: impl ExactSizeIterator<Item = Read<(Option<i64>, Vec<f32>)>>,
) -> Read<Vec<Vec<f32>>> {
    let mut places: Vec<Option<Vec<f32>>> = vec![None; items.len()];
    for (at, item) in items.enumerate() {
        let (index, vector) = item?;
        let index = index.map_or(Ok(at), usize::try_from);
        let place = index.ok().and_then(|index| places.get_mut(index));
        match place {
            Some(place @ None) => *place = Some(vector),
            Some(Some(_)) => return Err("two vectors have the same index".to_owned()),
            None => return Err("a vector has an index without a text".to_owned()),
        }
    }
    Ok(places.into_iter().flatten().collect())
}

fn usage(wire: &Wire<'_>) -> Option<EmbedUsage> {
    let (prompt, total) = if let Some(usage) = &wire.usage.0 {
        (usage.prompt_tokens, usage.total_tokens)
    } else if let Some(usage) = &wire.usage_metadata.0 {
        (usage.prompt_token_count, usage.total_token_count)
    } else if let Some(units) = wire.meta.0.as_ref().and_then(|meta| meta.billed_units.0.as_ref()) {
        (units.input_tokens, Int(None))
    } else if let Some(predictions) = &wire.predictions {
        let tokens = |one: &Prediction<'_>| one.embeddings.statistics.0.as_ref()?.token_count.0;
        let sum = predictions.0.iter().try_fold(0i64, |sum, one| sum.checked_add(tokens(one)?));
        (Int(sum), Int(None))
    } else {
        (wire.prompt_eval_count, wire.input_text_token_count)
    };
    let (prompt, total) = (prompt.unsigned(), total.unsigned());
    prompt.or(total).map(|prompt_tokens| EmbedUsage {
        prompt_tokens,
        total_tokens: total.unwrap_or(prompt_tokens),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(body: &str) -> Result<Embedded> {
        let provider = Provider::openai_compatible("p", "http://x.test/v1");
        decode(&provider, body.as_bytes(), &|body| error_body::in_body("p", body))
    }

    #[test]
    fn every_known_form_is_read_from_every_provider() {
        for (body, tokens) in [
            (
                r#"{"data":[{"index":1,"embedding":[2]},{"index":0,"embedding":[1]}],"usage":{"total_tokens":3}}"#,
                Some(3),
            ),
            (r#"{"data":[{"embedding":[1]},{"embedding":"AAAAQA=="}]}"#, None),
            (
                r#"{"embeddings":[{"values":[1]},{"values":[2]}],"usageMetadata":{"promptTokenCount":4}}"#,
                Some(4),
            ),
            (
                r#"{"embeddings":{"float":[[1],[2]],"int8":[[9],[9]]},"meta":{"billed_units":{"input_tokens":5}}}"#,
                Some(5),
            ),
            (r#"{"embeddings":{"float":null,"other":7,"base64":["AACAPw==","AAAAQA=="]}}"#, None),
            (
                r#"{"embeddings":{"int8":[[1],[2]]},"meta":{"billed_units":{"input_tokens":6.0}}}"#,
                Some(6),
            ),
            (r#"{"embeddings":[[1],[2]],"response_type":"embeddings_floats"}"#, None),
            (
                r#"{"model":"m","embeddings":[[1.0],[2.0]],"total_duration":1,"prompt_eval_count":7}"#,
                Some(7),
            ),
            (
                r#"{"predictions":[{"embeddings":{"values":[1],"statistics":{"token_count":3}}},
                 {"embeddings":{"values":[2],"statistics":{"token_count":5}}}]}"#,
                Some(8),
            ),
        ] {
            let embedded = read(body).unwrap();
            assert_eq!(embedded.vectors, [[1.0], [2.0]], "{body}");
            assert_eq!(embedded.usage.map(|usage| usage.total_tokens), tokens, "{body}");
        }
        for body in [r#"{"embedding":[1]}"#, r#"{"embedding":{"values":[1]}}"#] {
            assert_eq!(read(body).unwrap().vectors, [[1.0]]);
        }
        // As Amazon documents it for Titan Text Embeddings V2.
        let titan =
            r#"{"embedding":[1.0],"embeddingsByType":{"float":[1.0]},"inputTextTokenCount":9}"#;
        let embedded = read(titan).unwrap();
        assert_eq!(
            (embedded.vectors, embedded.usage),
            (vec![vec![1.0]], Some(EmbedUsage::new(9, 9)))
        );
    }

    #[test]
    fn an_incomplete_set_of_vectors_is_an_error() {
        for body in [
            "{}",
            r#"{"data":[{"index":0}]}"#,
            r#"{"data":[{"index":0,"embedding":[1]},{"index":0,"embedding":[1]}]}"#,
            r#"{"data":[{"index":0,"embedding":[1]},{"index":2,"embedding":[1]}]}"#,
            r#"{"data":[{"index":-1,"embedding":[1]}]}"#,
            r#"{"data":[{"embedding":[1,null]}]}"#,
            r#"{"data":[{"embedding":"AAA"}]}"#,
            r#"{"embeddings":{"other":[[1]]}}"#,
            r#"{"embeddings":7}"#,
            r#"{"embeddings":[{"other":1}]}"#,
        ] {
            assert_eq!(read(body).unwrap_err().kind(), ErrorKind::Protocol, "{body}");
        }
        for body in [
            r#"{"error":{"message":"no","code":404}}"#,
            r#"[{"error":{"message":"no","code":404}}]"#,
            r#"{"object":"error","message":"no","code":404}"#,
        ] {
            assert_eq!(read(body).unwrap_err().kind(), ErrorKind::NotFound, "{body}");
        }
        let cut = r#"{"embeddings":[[1],[2"#;
        assert_eq!(read(cut).unwrap_err().kind(), ErrorKind::IncompleteStream);
    }
}
