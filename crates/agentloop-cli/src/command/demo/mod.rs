//! `agentloop demo`: a short tour with simulated providers, without a key and without a network.

mod stage;
mod talk;

use agentloop::agent::{Agent, Policy};
use agentloop::{ChatRequest, ChatResponse, Error};

use self::stage::{BROKEN, PROVIDERS, QUESTION, Stage};
use self::talk::Talk;
use crate::command::run::clock;
use crate::failure::Failure;
use crate::setup::Setup;

/// Options of `agentloop demo`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Do not wait for Enter between the parts, and approve the tool call.
    #[arg(long)]
    yes: bool,
}

pub(crate) async fn run(args: &Args, setup: &Setup) -> Result<(), Failure> {
    let stage = Stage::start().await?;
    let mut talk = Talk::new(args.yes, setup.notes);
    talk.say(&format!(
        "Four providers are simulated on this machine at {}, each with a protocol of its own, over real HTTP. Nothing leaves this \
         machine, and no key is needed.",
        stage.url()
    ))?;
    show_stream(&stage, &mut talk).await?;
    talk.wait().await?;
    show_tools(&stage, &mut talk).await?;
    talk.wait().await?;
    show_fallback(&stage, &mut talk).await?;
    talk.wait().await?;
    show_bill(&stage, &mut talk)?;
    talk.say(
        "That was the tour. What next?\n\
         - `agentloop setup` stores the key of a provider and chooses a model.\n\
         - `agentloop 'Your question'` asks it; `agentloop` alone starts a conversation.\n\
         - `agentloop sim` serves the simulated providers to your own programs.",
    )?;
    Ok(())
}

/// Streams one response, and shows that all protocols give the same one.
async fn show_stream(stage: &Stage, talk: &mut Talk) -> Result<(), Failure> {
    talk.heading("1. One interface to every provider")?;
    let (first, protocol) = PROVIDERS[0];
    talk.say(&format!(
        "The question goes to `{first}/tutor`, which speaks {protocol}. Thinking, text and sources are separate parts of the response."
    ))?;
    talk.command(&format!("agentloop -m {first}/tutor '{QUESTION}'"))?;
    let request = |provider: &str| ChatRequest::new(format!("{provider}/tutor")).user(QUESTION);
    let response = talk.stream(stage.client().stream(request(first)).await?).await?;
    stage.count(&response);
    for citation in response.choices.iter().flat_map(agentloop::Choice::citations) {
        if let agentloop::Citation::Url(page) = citation {
            talk.note(&format!(
                "source: {} <{}>",
                page.title.as_deref().unwrap_or_default(),
                page.url
            ))?;
        }
    }
    talk.say("The same question to the other three:")?;
    for (provider, protocol) in &PROVIDERS[1..] {
        let other = stage.client().stream(request(provider)).await?.response().await?;
        stage.count(&other);
        let is_same = parts(&other) == parts(&response);
        let verdict =
            if is_same { "the same text, thinking and sources" } else { "another response" };
        talk.note(&format!("{provider}/tutor ({protocol}): {verdict}"))?;
    }
    Ok(())
}

/// Returns what a user sees of a response.
fn parts(response: &ChatResponse) -> (String, Option<String>, usize) {
    let sources = response.choices.iter().flat_map(agentloop::Choice::citations).count();
    (response.text(), response.thinking(), sources)
}

/// Runs a tool, after the user has approved it.
async fn show_tools(stage: &Stage, talk: &mut Talk) -> Result<(), Failure> {
    const TASK: &str = "What is the date today?";
    talk.heading("2. A tool, with your approval")?;
    talk.say("The model may look at the clock. It asks for the call, you see what would run, and you decide.")?;
    talk.command(&format!("agentloop -m meadow/tutor --tool time '{TASK}'"))?;
    let mut tool = clock();
    let approver = talk.approver();
    if approver.is_some() {
        tool = tool.policy(Policy::Ask);
    }
    let mut agent = Agent::new(stage.client().clone()).tool(tool);
    if let Some(approver) = approver {
        agent = agent.approver(approver);
    }
    let outcome = agent
        .run(ChatRequest::new("meadow/tutor").user(TASK))
        .await
        .map_err(|failed| failed.error)?;
    for step in &outcome.steps {
        stage.count(&step.response);
        for result in &step.results {
            talk.note(&format!(
                "{}({}) = {}",
                result.tool,
                result.arguments,
                result.output.to_text()
            ))?;
        }
    }
    talk.text(&outcome.text())?;
    Ok(())
}

/// Shows that a truncated response is an error, and that another model can take over.
async fn show_fallback(stage: &Stage, talk: &mut Talk) -> Result<(), Failure> {
    const TASK: &str = "Write a haiku about streams.";
    talk.heading("3. A truncated response is never reported as complete")?;
    talk.say(&format!(
        "The connection to `{BROKEN}` closes in the middle of every response. Many programs show such a response as if it were complete."
    ))?;
    talk.command(&format!("agentloop -m {BROKEN}/poet '{TASK}'"))?;
    let request = ChatRequest::new(format!("{BROKEN}/poet")).user(TASK);
    let result = match stage.client().stream(request.clone()).await {
        Ok(stream) => talk.stream(stream).await,
        Err(error) => Err(error.into()),
    };
    match result {
        Err(Failure::Call(error)) => {
            talk.text("")?;
            talk.note(&format!("error: {error}"))?;
            note_partial(&error, talk)?;
        }
        Err(failure) => return Err(failure),
        Ok(_) => talk.note("the response is complete")?,
    }
    talk.say("With another model to fall back to, the question is still answered:")?;
    talk.command(&format!("agentloop -m {BROKEN}/poet --fallback river/poet '{TASK}'"))?;
    let response = stage.client().chat(request.fallbacks(["river/poet"])).await?;
    stage.count(&response);
    talk.text(&response.text())?;
    talk.note(&format!("from {}/{}", response.provider, response.model))?;
    Ok(())
}

fn note_partial(error: &Error, talk: &mut Talk) -> Result<(), Failure> {
    match error.partial().map(ChatResponse::text).filter(|text| !text.is_empty()) {
        Some(text) => talk.note(&format!("what had arrived is kept: {text:?}")),
        None => Ok(()),
    }
}

/// Compares what the client counted with what the providers counted.
fn show_bill(stage: &Stage, talk: &mut Talk) -> Result<(), Failure> {
    talk.heading("4. The tokens of the bill")?;
    let (counted, billed) = (stage.counted(), stage.billed());
    talk.say("Each response has its usage, counted in the same way for every provider. The providers kept a bill of their own:")?;
    talk.note(&format!(
        "this command counted {} prompt and {} completion tokens",
        counted.0, counted.1
    ))?;
    talk.note(&format!(
        "the providers billed {} prompt and {} completion tokens",
        billed.0, billed.1
    ))?;
    talk.note(if counted == billed { "the figures are the same" } else { "the figures differ" })?;
    talk.note(&format!(
        "`{BROKEN}` billed {} completion tokens for its truncated responses, received or not",
        stage.billed_truncated()
    ))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a panic fails the test")]

    use super::*;
    use crate::notes::Notes;

    #[tokio::test]
    async fn the_figures_of_the_tour_are_measured_and_agree() {
        let stage = Stage::start().await.unwrap();
        let mut talk = Talk::new(true, Notes::new(true));
        show_stream(&stage, &mut talk).await.unwrap();
        show_tools(&stage, &mut talk).await.unwrap();
        show_fallback(&stage, &mut talk).await.unwrap();
        assert_eq!(stage.counted(), stage.billed());
        assert!(stage.counted().1 > 0);
        assert!(stage.billed_truncated() > 0);
    }
}
