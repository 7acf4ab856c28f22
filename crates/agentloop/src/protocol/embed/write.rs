//! Writes the response to an embeddings call, as a server does.

use bytes::Bytes;
use serde_json::{Value, json};

use super::vector;
use crate::chat::EmbedResponse;

/// The form of the vectors in a response.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum VectorForm {
    /// A list of objects, each with its index.
    #[default]
    Listed,
    /// A list of objects, each with its index and a vector in base64 of 32-bit floats.
    ListedBase64,
    /// A list of objects, each with its index and a vector in base64 of signed bytes.
    ListedInt8,
    /// Lists of vectors by the kind of number.
    ByType,
    /// A list of vectors.
    Bare,
    /// One object of values.
    Single,
    /// A list of objects of values.
    Batch,
    /// One vector.
    One,
    /// A list of objects that hold an object of values.
    Predictions,
}

/// Writes the body of an embeddings response.
pub(crate) fn write(response: &EmbedResponse, form: VectorForm) -> Bytes {
    let vectors = &response.embeddings;
    let listed = |text: &dyn Fn(&[f32]) -> Value| {
        let item = |(index, vector): (usize, &Vec<f32>)| json!({ "object": "embedding", "index": index, "embedding": text(vector) });
        let data: Vec<Value> = vectors.iter().enumerate().map(item).collect();
        json!({ "object": "list", "model": response.model, "data": data })
    };
    let values = |vector: &Vec<f32>| json!({ "values": vector });
    let mut body = match form {
        VectorForm::Listed => listed(&|vector| json!(vector)),
        VectorForm::ListedBase64 => listed(&|vector| json!(vector::floats(vector))),
        VectorForm::ListedInt8 => listed(&|vector| json!(vector::int8(vector))),
        VectorForm::ByType => {
            json!({ "embeddings": { "float": vectors }, "response_type": "embeddings_by_type" })
        }
        VectorForm::Bare => json!({ "model": response.model, "embeddings": vectors }),
        VectorForm::Single => json!({ "embedding": vectors.first().map(values) }),
        VectorForm::One => json!({ "embedding": vectors.first() }),
        VectorForm::Batch => {
            json!({ "embeddings": vectors.iter().map(values).collect::<Vec<_>>() })
        }
        VectorForm::Predictions => {
            // Each text has its own count. Only the sum is known, so it is that of the first.
            let mut tokens = response.usage.map(|usage| usage.prompt_tokens);
            let prediction = |vector| {
                let mut values = values(vector);
                if let Some(tokens) = &mut tokens {
                    values["statistics"] = json!({ "token_count": std::mem::take(tokens) });
                }
                json!({ "embeddings": values })
            };
            json!({ "predictions": vectors.iter().map(prediction).collect::<Vec<_>>() })
        }
    };
    // OpenAI's SDK requires the usage.
    let is_required =
        matches!(form, VectorForm::Listed | VectorForm::ListedBase64 | VectorForm::ListedInt8);
    let usage = response.usage.or_else(|| is_required.then(Default::default));
    if let Some(usage) = usage {
        let (name, value) = match form {
            VectorForm::Listed | VectorForm::ListedBase64 | VectorForm::ListedInt8 => {
                ("usage", json!(usage))
            }
            VectorForm::ByType => {
                ("meta", json!({ "billed_units": { "input_tokens": usage.prompt_tokens } }))
            }
            VectorForm::One => ("inputTextTokenCount", json!(usage.prompt_tokens)),
            VectorForm::Bare => ("prompt_eval_count", json!(usage.prompt_tokens)),
            VectorForm::Predictions => return body.to_string().into(),
            VectorForm::Single | VectorForm::Batch => (
                "usageMetadata",
                json!({ "promptTokenCount": usage.prompt_tokens,
                        "totalTokenCount": usage.total_tokens }),
            ),
        };
        body[name] = value;
    }
    body.to_string().into()
}
