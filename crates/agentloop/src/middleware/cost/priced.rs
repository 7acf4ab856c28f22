//! Adds the cost to a response.

use std::pin::Pin;
use std::task::{Context, Poll};

use futures_core::Stream;

use crate::chat::{ChatStreamEvent, Cost, CostSource, EmbedUsage, TaskEvent, TaskResponse, Usage};
use crate::error::Result;
use crate::middleware::Response;
use crate::models::{Pricing, served_tier};
use crate::stream::ChatStream;

/// Adds the cost to a response.
pub(super) struct Pricer {
    pub(super) pricing: Pricing,
    /// Whether the clock is not the system's. Then a cost from the price list is computed again.
    pub(super) own_clock: bool,
}

impl Pricer {
    /// Returns the response with its cost, unless it has one.
    pub(super) fn apply(self, response: Response) -> Response {
        match response {
            Response::Events(mut events) if self.pricing.model.is_some() => {
                let mut price = Price { pricer: self, served: None, known: None };
                if let Some(whole) = events.as_whole() {
                    whole.iter_mut().for_each(|event| price.add_to(event));
                    return Response::Events(events);
                }
                Response::Events(ChatStream::new(Priced { events, price }))
            }
            Response::Embedding(mut response) => {
                if self.is_wanted(response.cost.as_ref()) {
                    let usage = response.usage.map(|usage| usage_of(&usage));
                    response.cost = usage.and_then(|usage| self.pricing.cost(&usage, None));
                }
                Response::Embedding(response)
            }
            Response::Task(mut response) => {
                self.add_to(&mut response);
                Response::Task(response)
            }
            Response::TaskStream(events) => Response::TaskStream(events.map_events(move |event| {
                if let TaskEvent::Done { response } = event {
                    self.add_to(response);
                }
            })),
            other => other,
        }
    }

    /// Adds the cost to the response of another modality.
    fn add_to(&self, response: &mut TaskResponse) {
        if self.is_wanted(response.cost()) {
            let cost = response.usage().and_then(|usage| self.pricing.cost(usage, None));
            response.set_cost(cost);
        }
    }

    /// Returns whether a cost must be computed.
    fn is_wanted(&self, cost: Option<&Cost>) -> bool {
        cost.is_none_or(|cost| self.own_clock && cost.source == CostSource::Prices)
    }
}

/// Converts the usage of an embeddings call to that of a chat.
pub(super) fn usage_of(usage: &EmbedUsage) -> Usage {
    Usage {
        prompt_tokens: Some(usage.prompt_tokens),
        // Vectors have no tokens.
        completion_tokens: Some(0),
        total_tokens: Some(usage.total_tokens),
        ..Usage::default()
    }
}

struct Price {
    pricer: Pricer,
    /// The tier that the provider reports.
    served: Option<String>,
    /// The cost, after the event with the usage.
    known: Option<Cost>,
}

impl Price {
    fn add_to(&mut self, event: &mut ChatStreamEvent) {
        let Self { pricer, served, known } = self;
        match event {
            ChatStreamEvent::Metadata { choice_index: None, provider_metadata } => {
                if let Some(tier) = served_tier(provider_metadata) {
                    *served = Some(tier.to_owned());
                }
            }
            ChatStreamEvent::Usage { usage, cost } if pricer.is_wanted(cost.as_ref()) => {
                *known = pricer.pricing.cost(usage, served.as_deref());
                cost.clone_from(known);
            }
            ChatStreamEvent::MessageDone { response }
                if pricer.is_wanted(response.cost.as_ref()) =>
            {
                // The usage of the response is that of the earlier event, if there was one.
                response.cost = known.take().or_else(|| {
                    let tier = served_tier(&response.provider_metadata).or(served.as_deref());
                    pricer.pricing.cost(&response.usage, tier)
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
            this.price.add_to(event);
        }
        item
    }
}
