//! The ways to call, and what their callers see.

use std::time::Duration;

use agentloop::agent::{Agent, Tool};
use agentloop::middleware::{Backoff, Retry};
use agentloop::transport::HttpTransport;
use agentloop::{
    AgentLoop, ChatRequest, ChatStreamEvent, EmbedRequest, Error, Fold, Protocol, Provider,
    Timeouts,
};
use serde_json::{Value, json};

use crate::support::patience::within;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Call {
    Chat,
    Stream,
    Embed,
    Run,
    /// A run with streamed responses.
    RunStream,
}

impl Call {
    pub(crate) const ALL: [Self; 5] =
        [Self::Chat, Self::Stream, Self::Embed, Self::Run, Self::RunStream];

    /// Every call in every protocol that has it.
    pub(crate) fn everywhere() -> impl Iterator<Item = (Self, Protocol)> {
        let all = Protocol::ALL.iter().flat_map(|protocol| Self::ALL.map(|call| (call, *protocol)));
        let embeds = |protocol| {
            !matches!(
                protocol,
                Protocol::Anthropic | Protocol::Bedrock | Protocol::GeminiInteractions
            )
        };
        all.filter(move |(call, protocol)| *call != Self::Embed || embeds(*protocol))
    }

    /// Whether its responses are streamed to the caller.
    pub(crate) fn is_streamed(self) -> bool {
        matches!(self, Self::Stream | Self::RunStream)
    }

    /// How many of its requests succeed before the one that is tested: a run calls a tool first.
    pub(crate) fn before(self) -> usize {
        usize::from(matches!(self, Self::Run | Self::RunStream))
    }

    /// Makes the call. Panics if a response is wrong.
    pub(crate) async fn make(self, ai: &AgentLoop) -> Result<(), Error> {
        within("the end of the call", self.made(ai)).await
    }

    /// The same, for as long as it takes.
    pub(crate) async fn made(self, ai: &AgentLoop) -> Result<(), Error> {
        match self {
            Self::Chat => {
                let answer = ai.chat(ChatRequest::new("lab/long-8").user("Hi")).await?;
                assert!(answer.text().ends_with("word8"), "{answer:?}");
            }
            Self::Stream => stream(ai).await?,
            Self::Embed => {
                let answer = ai.embed(EmbedRequest::new("lab/vectors", "Hi")).await?;
                assert_eq!(answer.embeddings.len(), 1);
            }
            Self::Run => run(ai, true).await?,
            Self::RunStream => run(ai, false).await?,
        }
        Ok(())
    }
}

async fn stream(ai: &AgentLoop) -> Result<(), Error> {
    let mut stream = ai.stream(ChatRequest::new("lab/long-8").user("Hi")).await?;
    let (mut fold, mut has_content) = (Fold::new(), false);
    while let Some(event) = stream.next().await {
        match event {
            Ok(ChatStreamEvent::MessageDone { response }) => {
                assert!(response.text().ends_with("word8"), "{response:?}");
                assert!(stream.next().await.is_none(), "nothing comes after the end");
                return Ok(());
            }
            Ok(event) => {
                has_content |= event.is_content();
                fold.push(&event).unwrap();
            }
            Err(error) => {
                assert!(
                    has_content,
                    "what fails before the first content fails the call: {error:?}"
                );
                assert!(!error.is_retryable(), "{error:?}");
                assert_eq!(error.partial().unwrap().text(), fold.partial().text());
                assert!(stream.next().await.is_none(), "nothing comes after an error");
                return Err(error);
            }
        }
    }
    panic!("a stream without an end")
}

async fn run(ai: &AgentLoop, whole: bool) -> Result<(), Error> {
    let parameters = json!({"type": "object", "properties": {"city": {"type": "string"}}});
    let sunny = |_: Value, _| async { Ok("sunny") };
    let weather = Tool::dynamic("weather", "The weather", parameters, sunny);
    let agent = Agent::new(ai.clone()).tool(weather);
    let request = ChatRequest::new("lab/echo").user("Weather?");
    let ended =
        if whole { agent.run(request).await } else { agent.stream(request).outcome().await };
    match ended {
        Ok(outcome) => {
            assert!(outcome.text().contains("sunny"), "{outcome:?}");
            assert_eq!(outcome.steps.len(), 2);
            Ok(())
        }
        Err(failed) => {
            // The first step is kept, with the result of its call, unless it is what failed.
            if let Some(first) = failed.outcome.steps.first() {
                assert_eq!(first.results.len(), 1, "{:?}", failed.error);
                assert!(failed.outcome.messages.len() >= 2, "{:?}", failed.error);
            }
            Err(failed.error)
        }
    }
}

/// A client of the server at `url`; with `retries`, one that retries at once.
pub(crate) fn client(
    protocol: Protocol,
    url: &str,
    transport: HttpTransport,
    timeout: Duration,
    retries: u32,
) -> AgentLoop {
    let mut provider = Provider::openai_compatible("lab", url.to_owned()).key("sk-of-the-lab");
    provider.protocol = protocol;
    let timeouts = Timeouts::default().first_content(timeout).idle(timeout / 2);
    let retry = Retry::new().max_retries(retries).backoff(Backoff::constant(Duration::ZERO));
    let builder = AgentLoop::builder().provider(provider).timeouts(timeouts).transport(transport);
    builder.layer(retry).build().unwrap()
}

/// A transport that does not look at the environment.
pub(crate) fn transport() -> HttpTransport {
    HttpTransport::builder().without_proxy().build().unwrap()
}
