//! One call, of which everything follows from its number.

use std::time::Duration;

use agentloop::agent::{Agent, CancelToken, RunRequest, StopReason, Tool};
use agentloop::{ChatRequest, ChatStreamEvent, EmbedRequest, Error, Protocol};
use serde_json::{Value, json};

use crate::group::{Group, lane};
use crate::tally::{End, Tally, more};

/// How long a call may take before it is one that hangs. A response that comes a byte at a time takes minutes on a busy machine;
/// one on which nothing comes any more is a timeout of the library's own long before.
const PATIENCE: Duration = Duration::from_secs(900);

/// How many questions are asked again and again.
const POPULAR: u64 = 50;

/// Numbers that look like chance, and are the same every time.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        // splitmix64
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % sides
    }
}

/// Makes the call of that number, and enters how it ended.
pub(crate) async fn make(number: u64, groups: &[Group; 2], tally: &Tally) {
    let mut dice = Dice(number);
    let group = &groups[usize::from(dice.roll(2) == 1)];
    let lanes = Protocol::ALL;
    let protocol = lanes[usize::try_from(dice.roll(lanes.len() as u64)).unwrap_or(0)];
    let asked = if dice.roll(8) == 0 { dice.roll(POPULAR) } else { number + POPULAR };
    let call = Call {
        group,
        protocol,
        question: format!("Question {asked} of many, said again?"),
        leaves: (!group.is_sure && dice.roll(6) == 0).then(|| dice.roll(20)),
    };
    more(&tally.begun);
    let (name, end) = match (dice.roll(20), protocol) {
        (0..7, _)
        | (13..16, Protocol::Anthropic | Protocol::Bedrock | Protocol::GeminiInteractions) => {
            ("chat", within(call.chat()).await)
        }
        (7..13, _) => ("stream", within(call.stream()).await),
        (13..16, _) => ("embed", within(call.embed()).await),
        (16..18, _) => ("run", within(call.run(true)).await),
        _ => ("run, streamed", within(call.run(false)).await),
    };
    tally.end(name, end, group.kinds);
}

async fn within(call: impl Future<Output = End>) -> Option<End> {
    tokio::time::timeout(PATIENCE, call).await.ok()
}

struct Call<'a> {
    group: &'a Group,
    protocol: Protocol,
    question: String,
    /// After how many milliseconds or events the caller goes away.
    leaves: Option<u64>,
}

impl Call<'_> {
    fn model(&self, model: &str) -> String {
        format!("{}/{model}", lane(self.group.name, self.protocol))
    }

    /// The same model, of the next protocol that has it.
    fn other(&self, model: &str) -> String {
        let other = match self.protocol {
            Protocol::OpenAiChat => Protocol::Gemini,
            Protocol::Gemini if model != "vectors" => Protocol::Anthropic,
            Protocol::Anthropic => Protocol::OpenAiResponses,
            _ => Protocol::OpenAiChat,
        };
        format!("{}/{model}", lane(self.group.name, other))
    }

    fn request(&self, model: &str) -> ChatRequest {
        ChatRequest::new(self.model(model))
            .user(self.question.as_str())
            .fallbacks([self.other(model)])
    }

    /// Waits for it, unless the caller goes away before.
    async fn stays<T>(&self, future: impl Future<Output = T>) -> Option<T> {
        match self.leaves {
            None => Some(future.await),
            Some(wait) => tokio::time::timeout(Duration::from_millis(wait), future).await.ok(),
        }
    }

    async fn chat(&self) -> End {
        match self.stays(self.group.ai.chat(self.request("think"))).await {
            None => End::Left,
            Some(Err(error)) => End::Failed(Box::new(error)),
            Some(Ok(answer)) if answer.text().starts_with(&self.question) => End::Right,
            Some(Ok(answer)) => End::Wrong(format!("{answer:?}")),
        }
    }

    async fn stream(&self) -> End {
        let failed = |error: Error| End::Failed(Box::new(error));
        let mut stream = match self.stays(self.group.ai.stream(self.request("long-40"))).await {
            None => return End::Left,
            Some(Err(error)) => return failed(error),
            Some(Ok(stream)) => stream,
        };
        let (mut events, mut text) = (0, String::new());
        loop {
            if self.leaves.is_some_and(|after| events >= after) {
                return End::Left;
            }
            events += 1;
            match stream.next().await {
                Some(Ok(ChatStreamEvent::MessageDone { response })) => {
                    text.push_str(&response.text());
                    break;
                }
                Some(Ok(_)) => {}
                Some(Err(error)) => return failed(error),
                None => return End::Wrong("a stream without an end".to_owned()),
            }
        }
        if text.ends_with("word40") && stream.next().await.is_none() {
            End::Right
        } else {
            End::Wrong(text)
        }
    }

    async fn embed(&self) -> End {
        let texts = vec![self.question.clone(), "another".to_owned()];
        let request =
            EmbedRequest::new(self.model("vectors"), texts).fallbacks([self.other("vectors")]);
        match self.stays(self.group.ai.embed(request)).await {
            None => End::Left,
            Some(Err(error)) => End::Failed(Box::new(error)),
            Some(Ok(answer)) if answer.embeddings.len() == 2 => End::Right,
            Some(Ok(answer)) => End::Wrong(format!("{} vectors", answer.embeddings.len())),
        }
    }

    async fn run(&self, whole: bool) -> End {
        let parameters = json!({"type": "object", "properties": {"city": {"type": "string"}}});
        let weather = |_: Value, _| async { Ok("sunny") };
        let weather = Tool::dynamic("weather", "The weather", parameters, weather);
        let agent = Agent::new(self.group.ai.clone()).tool(weather).max_steps(4);
        let cancel = CancelToken::new();
        let mut request = RunRequest::new(self.request("echo")).cancel_token(&cancel);
        if whole {
            request = request.whole_responses();
        }
        let mut stream = agent.stream(request);
        let mut events = 0;
        while let Some(after) = self.leaves {
            events += 1;
            if events == after {
                // Half of them say so, the others are just gone.
                if after % 2 == 0 {
                    return End::Left;
                }
                cancel.cancel();
            }
            if stream.next().await.is_none() {
                return End::Left;
            }
        }
        match stream.outcome().await {
            Err(failed) => End::Failed(Box::new(failed.error)),
            Ok(outcome) => {
                if outcome.text().contains("weather says: ") && outcome.stop == StopReason::Finished
                {
                    End::Right
                } else {
                    End::Wrong(format!("{:?}: {}", outcome.stop, outcome.text()))
                }
            }
        }
    }
}
