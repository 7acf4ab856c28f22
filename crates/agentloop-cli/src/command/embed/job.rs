//! Sends texts in groups, and finds the ones that the provider refuses.

use std::future::Future;
use std::sync::Arc;

use agentloop::{AgentLoop, EmbedRequest, EmbedResponse, Error, ErrorKind};
use serde::Serialize;
use serde_json::json;

use super::args::VectorFormat;
use super::space::Space;
use crate::command::rows::{Job, Line, Outcome, Pending, Row, Sent, Spent, TextOf, is_fatal};
use crate::failure::Failure;

/// How many texts of a request are sent one by one, if each of them is refused.
const MAX_REFUSED: usize = 8;

/// What every request needs.
pub(super) struct Shared {
    pub(super) client: AgentLoop,
    /// The model and the settings, without texts.
    pub(super) base: EmbedRequest,
    /// The model with its provider.
    pub(super) requested: String,
    pub(super) format: VectorFormat,
}

/// The vectors of all rows.
pub(super) struct Embeddings {
    shared: Arc<Shared>,
    text: TextOf,
    settings: String,
    space: Space,
}

/// The result of a row.
#[agentloop_macros::skip_serializing_none]
#[derive(Debug, Serialize)]
pub(super) struct Embedding {
    /// The model that made the vector.
    model: String,
    /// The model that was requested, if it has another name.
    requested: Option<String>,
    dimensions: usize,
    vector: Vec<f32>,
}

impl Embeddings {
    pub(super) fn new(shared: Shared, text: TextOf, space: Space) -> Self {
        let base = &shared.base;
        let settings = json!([text.template, base.dimensions, base.input_type]).to_string();
        Self { shared: Arc::new(shared), text, settings, space }
    }
}

impl Job for Embeddings {
    type Item = String;
    type Output = Embedding;

    fn settings(&self) -> &str {
        &self.settings
    }

    fn build(&self, row: &Row) -> Result<String, Failure> {
        self.text.build(row)
    }

    fn size(text: &String) -> usize {
        text.len()
    }

    fn send(
        &self,
        rows: Vec<Pending<String>>,
    ) -> impl Future<Output = Sent<Embedding>> + Send + 'static {
        let shared = Arc::clone(&self.shared);
        async move { shared.send(rows).await }
    }

    fn check(&mut self, sent: &Sent<Embedding>) -> Result<(), Failure> {
        for line in &sent.lines {
            if let Outcome::Result(result) = &line.result {
                self.space.add(&result.model, result.dimensions).map_err(Failure::Response)?;
            }
        }
        Ok(())
    }

    fn format(&self, line: &Line<Embedding>) -> serde_json::Result<String> {
        match (&line.result, self.shared.format) {
            (Outcome::Result(result), VectorFormat::Vectors) => {
                serde_json::to_string(&result.vector)
            }
            _ => serde_json::to_string(line),
        }
    }
}

impl Shared {
    /// Sends texts. If the provider refuses them, they are sent again in halves, so that one text does not fail the others.
    async fn send(&self, rows: Vec<Pending<String>>) -> Sent<Embedding> {
        let mut sent = Sent::default();
        let mut groups = vec![rows];
        let is_several = groups[0].len() > 1;
        let mut refused = 0;
        while let Some(mut rows) = groups.pop() {
            let mut request = self.base.clone();
            // Without a copy of the texts they could not be sent again.
            request.input = rows.iter().map(|row| row.item.clone()).collect::<Vec<_>>().into();
            let error = match self.client.embed(request).await {
                Ok(response) => {
                    if let Some(error) = self.add(&mut sent, rows, response) {
                        sent.stop = Some(error);
                        return sent;
                    }
                    continue;
                }
                Err(error) => error,
            };
            if self.stops(error.kind()) {
                sent.stop = Some(error);
                return sent;
            }
            let is_hopeless = sent.spent.is_none() && refused >= MAX_REFUSED;
            if rows.len() > 1 && is_refusal(error.kind()) && !is_hopeless {
                let second = rows.split_off(rows.len() / 2);
                groups.extend([second, rows]);
                continue;
            }
            refused += rows.len();
            sent.lines.extend(rows.into_iter().map(|row| row.finish(Outcome::of_error(&error))));
            if sent.spent.is_none() && is_several && groups.is_empty() && is_refusal(error.kind()) {
                sent.all_failed = Some(error);
            }
        }
        sent
    }

    /// Adds the vectors of a response. Returns an error if the output must end here.
    fn add(
        &self,
        sent: &mut Sent<Embedding>,
        rows: Vec<Pending<String>>,
        response: EmbedResponse,
    ) -> Option<Error> {
        let model = format!("{}/{}", response.provider, response.model);
        let requested = (model != self.requested).then(|| self.requested.clone());
        let tokens = response.usage.map_or(0, |usage| usage.total_tokens);
        let cost = response.cost.as_ref().map(|cost| cost.usd);
        let spent = sent.spent.get_or_insert(Spent { tokens: 0, cost: Some(<_>::default()) });
        spent.tokens = spent.tokens.saturating_add(tokens);
        spent.cost = spent.cost.zip(cost).map(|(sum, more)| sum + more);
        sent.warnings.extend(response.warnings);
        for (row, vector) in rows.into_iter().zip(response.embeddings) {
            let dimensions = vector.len();
            let result = match vector.iter().position(|number| !number.is_finite()) {
                None if dimensions > 0 => Outcome::Result(Embedding {
                    model: model.clone(),
                    requested: requested.clone(),
                    dimensions,
                    vector,
                }),
                at => {
                    let message = match at {
                        Some(at) => format!("number {at} of the vector is not finite"),
                        None => "the vector is empty".to_owned(),
                    };
                    let error = Error::new(ErrorKind::Protocol, message)
                        .with_provider(response.provider.as_str())
                        .with_model(response.model.as_str());
                    if self.stops(ErrorKind::Protocol) {
                        return Some(error);
                    }
                    Outcome::of_error(&error)
                }
            };
            sent.lines.push(row.finish(result));
        }
        None
    }

    /// Returns whether an error ends everything: every text would have it, or its place in the output would be missing.
    fn stops(&self, kind: ErrorKind) -> bool {
        self.format == VectorFormat::Vectors
            || is_fatal(kind)
            || matches!(kind, ErrorKind::NotFound | ErrorKind::Unsupported)
    }
}

/// Returns whether the provider refused the texts, which may be because of one of them.
fn is_refusal(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::InvalidRequest
            | ErrorKind::ContextLength
            | ErrorKind::ContentFilter
            | ErrorKind::TooLarge
    )
}
