//! The simulated providers of the tour.

use std::sync::Mutex;

use agentloop::internal::lock;
use agentloop::middleware::Fallback;
use agentloop::{AgentLoop, ChatResponse, Provider};

use crate::failure::Failure;
use crate::simulator::{Faults, Script, Server, Simulator};
use crate::{store, time};

/// The providers and the names of their protocols.
pub(super) const PROVIDERS: [(&str, &str); 4] = [
    ("meadow", "Anthropic's Messages"),
    ("river", "OpenAI's Chat Completions"),
    ("forest", "OpenAI's Responses"),
    ("glacier", "Google's generateContent"),
];

/// The provider whose responses are truncated.
pub(super) const BROKEN: &str = "bridge";

/// The first question of the tour.
pub(super) const QUESTION: &str = "Why is the sky blue?";

/// What the simulated models say, with `TODAY` in the place of the date.
const SCRIPT: &str = r#"{
  "turns": [{ "parts": [{ "type": "text", "text": "I only know the answers of the tour." }] }],
  "scenes": [
    { "when": "sky blue", "turns": [{ "parts": [
      { "type": "thinking", "thinking": "They want a short explanation. Rayleigh scattering is the reason; I should name it." },
      { "type": "text",
        "text": "Air scatters blue light more than red light, because its wavelength is shorter. So blue light reaches you from every part of the sky. This is called Rayleigh scattering.",
        "citations": [{ "type": "url", "url": "https://example.org/scattering", "title": "Light and air" }] }
    ] }] },
    { "when": "the date", "turns": [
      { "parts": [{ "type": "tool_call", "id": "call_1", "name": "time", "arguments": "{}" }] },
      { "parts": [{ "type": "text", "text": "Today is TODAY, in UTC." }] }
    ] },
    { "when": "haiku", "turns": [{ "parts": [
      { "type": "text", "text": "Words arrive in drops,\none by one they find their place:\nthe river is whole." }
    ] }] }
  ]
}"#;

/// Two servers, a client that knows their providers, and what it counted.
pub(super) struct Stage {
    whole: Server,
    broken: Server,
    client: AgentLoop,
    counted: Mutex<(u64, u64)>,
}

impl Stage {
    /// Starts the servers at free ports of this machine.
    pub(super) async fn start() -> Result<Self, Failure> {
        let script = SCRIPT.replace("TODAY", &time::format_day(store::now()));
        let simulator =
            || Ok::<_, Failure>(Simulator::new().with_script(Script::from_json(&script)?));
        let cut = Faults::always("cut-events=6".parse()?);
        let whole = serve(simulator()?).await?;
        let broken = serve(simulator()?.with_faults(cut)).await?;
        let client = AgentLoop::builder()
            .provider(Provider::anthropic_compatible(PROVIDERS[0].0, whole.url()))
            .provider(Provider::openai_compatible(PROVIDERS[1].0, whole.url()))
            .provider(Provider::responses_compatible(PROVIDERS[2].0, whole.url()))
            .provider(Provider::gemini_compatible(PROVIDERS[3].0, whole.url()))
            .provider(Provider::openai_compatible(BROKEN, broken.url()))
            .layer(Fallback::new::<String>([]))
            .build()?;
        Ok(Self { whole, broken, client, counted: Mutex::default() })
    }

    pub(super) fn client(&self) -> &AgentLoop {
        &self.client
    }

    pub(super) fn url(&self) -> String {
        self.whole.url()
    }

    /// Adds the usage of a response, as prompt and completion tokens.
    pub(super) fn count(&self, response: &ChatResponse) {
        let usage = &response.usage;
        let mut counted = lock(&self.counted);
        counted.0 += usage.prompt_tokens.unwrap_or(0);
        counted.1 += usage.completion_tokens.unwrap_or(0);
    }

    pub(super) fn counted(&self) -> (u64, u64) {
        *lock(&self.counted)
    }

    /// Returns what the providers of the complete responses counted.
    pub(super) fn billed(&self) -> (u64, u64) {
        let ledger = self.whole.simulator().ledger();
        (ledger.prompt_tokens, ledger.completion_tokens)
    }

    /// Returns the completion tokens that the provider of the truncated responses counted.
    pub(super) fn billed_truncated(&self) -> u64 {
        self.broken.simulator().ledger().completion_tokens
    }
}

async fn serve(simulator: Simulator) -> Result<Server, Failure> {
    simulator
        .serve("127.0.0.1:0")
        .await
        .map_err(|error| Failure::input(format!("cannot listen on this machine: {error}")))
}
