//! Puts the cost on an answer.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::SystemTime;

use futures_core::Stream;
use serde_json::Value;

use crate::error::Result;
use crate::event::ChatStreamEvent;
use crate::middleware::Answer;
use crate::models::ModelData;
use crate::request::EmbedUsage;
use crate::response::{Cost, Usage};
use crate::stream::ChatStream;

/// Where an answer's provider says which tier it was served in.
const TIER: &str = "serviceTier";

/// What an answer is paid with.
#[derive(Clone, Debug)]
pub(super) struct Pricing {
    /// What is known of the model; `None` when it is not known.
    pub(super) model: Option<Arc<ModelData>>,
    /// The tier that was asked for.
    pub(super) tier: Option<String>,
    pub(super) when: SystemTime,
}

impl Pricing {
    /// The cost, if it is known; `served` is the tier that the provider says.
    pub(super) fn cost(&self, usage: &Usage, served: Option<&str>) -> Option<Cost> {
        self.model.as_ref()?.cost(usage, self.when, served.or(self.tier.as_deref()))
    }

    /// The answer, with its cost where its provider named none.
    pub(super) fn apply(self, answer: Answer) -> Answer {
        match answer {
            Answer::Events(mut events) if self.model.is_some() => {
                let mut price = Price { pricing: self, served: None, known: None };
                if let Some(whole) = events.as_whole() {
                    whole.iter_mut().for_each(|event| price.put_on(event));
                    return Answer::Events(events);
                }
                Answer::Events(ChatStream::new(Priced { events, price }))
            }
            Answer::Embedding(mut response) => {
                if response.cost.is_none() {
                    let usage = response.usage.map(|usage| usage_of(&usage));
                    response.cost = usage.and_then(|usage| self.cost(&usage, None));
                }
                Answer::Embedding(response)
            }
            other => other,
        }
    }
}

/// The usage of an embeddings call in the form of a chat's.
pub(super) fn usage_of(usage: &EmbedUsage) -> Usage {
    Usage {
        prompt_tokens: Some(usage.prompt_tokens),
        // Vectors are not written in tokens.
        completion_tokens: Some(0),
        total_tokens: Some(usage.total_tokens),
        ..Usage::default()
    }
}

struct Price {
    pricing: Pricing,
    /// The tier that the provider says.
    served: Option<String>,
    /// The cost, once the usage has passed.
    known: Option<Cost>,
}

impl Price {
    fn put_on(&mut self, event: &mut ChatStreamEvent) {
        match event {
            ChatStreamEvent::Metadata { choice_index: None, provider_metadata } => {
                if let Some(Value::String(tier)) = provider_metadata.get(TIER) {
                    self.served = Some(tier.clone());
                }
            }
            ChatStreamEvent::Usage { usage, cost } if cost.is_none() => {
                self.known = self.pricing.cost(usage, self.served.as_deref());
                cost.clone_from(&self.known);
            }
            ChatStreamEvent::MessageDone { response } if response.cost.is_none() => {
                // The usage of the whole is the one that has passed, if its steps have.
                response.cost = self.known.take().or_else(|| {
                    let tier = response.provider_metadata.get(TIER).and_then(Value::as_str);
                    self.pricing.cost(&response.usage, tier.or(self.served.as_deref()))
                });
            }
            _ => {}
        }
    }
}

struct Priced {
    events: ChatStream,
    price: Price,
}

impl Stream for Priced {
    type Item = Result<ChatStreamEvent>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        let mut item = Pin::new(&mut this.events).poll_next(context);
        if let Poll::Ready(Some(Ok(event))) = &mut item {
            this.price.put_on(event);
        }
        item
    }
}
