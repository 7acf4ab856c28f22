//! The simulator in process: no sockets.

use std::pin::Pin;
use std::task::{Context, Poll};

use agentloop::protocol::serve::route;
use agentloop::provider::KeySource;
use agentloop::transport::{Body, SendOptions, Transport};
use agentloop::{BoxFuture, Error, ErrorKind, Protocol, Provider, Result, Secret};
use bytes::Bytes;
use futures_core::Stream;
use http::{Request, Response};

use crate::ledger::Busy;
use crate::manners::Manners;
use crate::reply::{Piece, Pieces};
use crate::simulator::Simulator;

/// Brings a [`Simulator`] into a client: requests reach it without a network.
///
/// A stall is a body that never goes on, a reset an error of the kind `Connection`, a refused call such an error
/// before there is an answer.
///
/// ```
/// use agentloop::{AgentLoop, Protocol, Provider};
/// use agentloop_sim::{SimTransport, Simulator};
///
/// let transport = SimTransport::new(Simulator::new(), Protocol::OpenAiChat);
/// let lab = Provider::openai_compatible("lab", "http://lab.invalid/v1").transport(transport);
/// let ai = AgentLoop::builder().provider(lab).build()?;
/// # Ok::<(), agentloop::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct SimTransport {
    simulator: Simulator,
    protocol: Protocol,
    manners: Manners,
}

impl SimTransport {
    /// A transport to `simulator`, which is spoken to in `protocol`.
    pub fn new(simulator: Simulator, protocol: Protocol) -> Self {
        Self { simulator, protocol, manners: Manners::default() }
    }
}

impl SimTransport {
    /// The protocol of a call: its own, if that has such a call; else another one that has, as a row may speak several.
    fn spoken(&self, request: &Request<Bytes>) -> Protocol {
        let has = |protocol: &Protocol| {
            route(*protocol, request.method(), request.uri().path(), request.headers()).is_some()
        };
        let mut others = Protocol::ALL.iter().copied();
        if has(&self.protocol) { self.protocol } else { others.find(has).unwrap_or(self.protocol) }
    }
}

impl Transport for SimTransport {
    fn send<'a>(
        &'a self,
        request: Request<Bytes>,
        _: SendOptions,
    ) -> BoxFuture<'a, Result<Response<Body>>> {
        Box::pin(async move {
            let busy = self.simulator.begin();
            let answer = self.simulator.answer_as(self.spoken(&request), &request, self.manners);
            let Some(reply) = answer else {
                return Err(broken("the simulated connection closed without an answer"));
            };
            let pieces = PieceStream { pieces: reply.body, stalled: false, _busy: busy };
            let mut response = Response::new(Body::stream(pieces));
            *response.status_mut() = reply.status;
            *response.headers_mut() = reply.headers;
            Ok(response)
        })
    }
}

struct PieceStream {
    pieces: Pieces,
    stalled: bool,
    _busy: Busy,
}

impl Stream for PieceStream {
    type Item = Result<Bytes>;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.stalled {
            return Poll::Pending;
        }
        match self.pieces.next() {
            Some(Piece::Bytes(bytes)) => Poll::Ready(Some(Ok(bytes))),
            // Nothing will ever wake the reader but its own clock.
            Some(Piece::Stall) => {
                self.stalled = true;
                Poll::Pending
            }
            Some(Piece::Reset) => Poll::Ready(Some(Err(broken("the simulated connection broke")))),
            None => Poll::Ready(None),
        }
    }
}

fn broken(what: &str) -> Error {
    Error::new(ErrorKind::Connection, what)
}

impl Simulator {
    /// The provider `sim`, without a key.
    pub fn provider(&self) -> Provider {
        self.provider_named("sim", Protocol::OpenAiChat)
    }

    /// A provider of that name that is spoken to in that protocol, without a key.
    pub fn provider_named(&self, name: impl Into<String>, protocol: Protocol) -> Provider {
        let mut provider = Provider::openai_compatible(name.into(), "sim://local/v1");
        provider.protocol = protocol;
        self.row(provider)
    }

    /// The same row, answered by this simulator: rules, quirks and all stay, so that one suite of tests can run
    /// over every row of the table.
    ///
    /// A key that would be read from outside is replaced by the word `sim-key`, and every variable in the address
    /// by `sim`.
    pub fn row(&self, mut provider: Provider) -> Provider {
        if !matches!(provider.key, KeySource::None | KeySource::Value(_)) {
            provider.key = KeySource::Value(Secret::new("sim-key"));
        }
        let address = without_variables(&provider.base_url);
        let mut provider = provider.base_url(address);
        for endpoint in &mut provider.endpoints {
            endpoint.base_url = without_variables(&endpoint.base_url).into();
        }
        let mut transport = SimTransport::new(self.clone(), provider.protocol);
        transport.manners = Manners::of(&provider.quirks);
        provider.transport(transport)
    }
}

fn without_variables(address: &str) -> String {
    let mut filled = String::with_capacity(address.len());
    let mut rest = address;
    while let Some((before, after)) = rest.split_once("${") {
        filled.push_str(before);
        filled.push_str("sim");
        rest = after.split_once('}').map_or("", |(_, after)| after);
    }
    filled + rest
}

/// The provider `sim`: a simulated model, in process, without a key.
///
/// ```
/// use agentloop::{AgentLoop, ChatRequest};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> agentloop::Result<()> {
/// let ai = AgentLoop::builder().provider(agentloop_sim::provider()).build()?;
/// let answer = ai.chat(ChatRequest::new("sim/echo").user("Hello")).await?;
/// assert!(answer.text().starts_with("Hello"));
/// # Ok(())
/// # }
/// ```
pub fn provider() -> Provider {
    Simulator::new().provider()
}

/// A simulated provider of that name, spoken to in that protocol.
pub fn provider_named(name: impl Into<String>, protocol: Protocol) -> Provider {
    Simulator::new().provider_named(name, protocol)
}

/// The same row, answered by a simulator of its own; see [`Simulator::row`].
///
/// ```
/// use agentloop::{AgentLoop, ChatRequest, Provider};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> agentloop::Result<()> {
/// for provider in Provider::all() {
///     let model = format!("{}/think", provider.name);
///     let ai = AgentLoop::builder().provider(agentloop_sim::row(provider)).build()?;
///     let answer = ai.chat(ChatRequest::new(model).user("Hello")).await?;
///     assert!(answer.thinking().is_some());
/// }
/// # Ok(())
/// # }
/// ```
pub fn row(provider: Provider) -> Provider {
    Simulator::new().row(provider)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_of_an_address_are_filled_in() {
        let filled = without_variables("https://${NAME}.example.com/${PATH}/v1");
        assert_eq!(filled, "https://sim.example.com/sim/v1");
        assert_eq!(without_variables("https://a/${OPEN"), "https://a/sim");
    }
}
