//! Results with images, to each protocol.

use agentloop::agent::{Outcome, RunError, StopReason, Tool, ToolOutput};
use agentloop::{ChatMessage, ChatRequest, ContentPart, Role, WarningKind};
use serde_json::{Value, json};

use crate::agent::lab::{Lab, asks, everywhere, says};

const PIXEL: &str = "iVBORw0KGgo=";

/// A tool that draws.
fn chart() -> Tool {
    Tool::dynamic("weather", "Draws", json!({ "type": "object" }), |_: Value, _| async {
        Ok(ToolOutput::parts([
            ContentPart::text("The chart:"),
            ContentPart::image_url(format!("data:image/png;base64,{PIXEL}")),
        ]))
    })
}

/// Hosts that take no images from tools.
fn takes_none(lab: &Lab) -> bool {
    matches!(lab.row.provider, "openai" | "xai")
}

async fn run(lab: &Lab, request: ChatRequest) -> Result<Outcome, RunError> {
    let agent = lab.agent().tool(chart());
    match lab.streamed {
        false => agent.run(request).await,
        true => agent.stream(request).outcome().await,
    }
}

#[tokio::test]
async fn an_image_of_a_tool_reaches_every_model_in_the_place_that_its_host_has_for_it() {
    everywhere([asks(&["A"]), says("A chart.")], async |lab| {
        let outcome = run(lab, lab.question()).await.unwrap();
        assert_eq!(outcome.stop, StopReason::Finished);
        let sent = lab.asked(2).messages;
        let shows = |message: &ChatMessage| {
            serde_json::to_string(&message.content).unwrap().contains(PIXEL)
        };
        let shown: Vec<Role> =
            sent.iter().filter(|turn| shows(turn)).map(|turn| turn.role).collect();
        // Gemini's rounds are one turn, in which an image stands beside the results.
        let beside = takes_none(lab) || lab.row.provider == "google";
        assert_eq!(shown, [if beside { Role::User } else { Role::Tool }]);
        let warnings = &outcome.steps[1].response.warnings;
        let told = warnings.iter().any(|told| told.kind == WarningKind::Converted);
        assert_eq!(told, takes_none(lab), "{warnings:?}");
        // The run keeps it where it was, whatever the host took.
        assert!(outcome.messages.iter().any(|turn| turn.role == Role::Tool && shows(turn)));
    })
    .await;
}

#[tokio::test]
async fn what_a_host_takes_nowhere_is_told_in_words_and_does_not_end_the_run() {
    everywhere([asks(&["A"]), says("A sound.")], async |lab| {
        let tool =
            Tool::dynamic("weather", "Sings", json!({ "type": "object" }), |_: Value, _| async {
                Ok(ToolOutput::parts([ContentPart::audio("UklGRg==", "wav")]))
            });
        let agent = lab.agent().tool(tool);
        let outcome = agent.run(lab.question()).await.unwrap();
        assert_eq!(outcome.stop, StopReason::Finished);
        let sent = serde_json::to_string(&lab.asked(2).messages).unwrap();
        let heard = sent.contains("UklGRg==");
        assert_ne!(heard, sent.contains("cannot be shown here"), "{sent}");
        let warnings = &outcome.steps[1].response.warnings;
        assert!(heard || warnings.iter().any(|told| told.kind == WarningKind::Dropped));
    })
    .await;
}
