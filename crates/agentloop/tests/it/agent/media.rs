//! Results with images, in each protocol.

use agentloop::agent::{Outcome, RunError, StopReason, Tool, ToolOutput};
use agentloop::{ChatMessage, ChatRequest, ContentPart, Role, WarningKind};
use serde_json::{Value, json};

use crate::agent::lab::{Lab, asks, everywhere, says};

const PIXEL: &str = "iVBORw0KGgo=";

/// Returns a tool whose result contains an image.
fn chart() -> Tool {
    Tool::dynamic("weather", "Draws", json!({ "type": "object" }), |_: Value, _| async {
        Ok(ToolOutput::parts([
            ContentPart::text("The chart:"),
            ContentPart::image_url(format!("data:image/png;base64,{PIXEL}")),
        ]))
    })
}

/// Returns whether the provider does not accept images in tool results.
fn rejects_images(lab: &Lab) -> bool {
    matches!(lab.row.provider, "openai" | "xai")
}

async fn run(lab: &Lab, request: ChatRequest) -> Result<Outcome, RunError> {
    let agent = lab.agent().tool(chart());
    if !lab.streamed { agent.run(request).await } else { agent.stream(request).outcome().await }
}

#[tokio::test]
async fn an_image_of_a_tool_reaches_every_model_in_the_form_of_its_provider() {
    everywhere([asks(&["A"]), says("A chart.")], async |lab| {
        let outcome = run(lab, lab.question()).await.unwrap();
        assert_eq!(outcome.stop, StopReason::Finished);
        let sent = lab.request(2).messages;
        let shows = |message: &ChatMessage| {
            serde_json::to_string(&message.content).unwrap().contains(PIXEL)
        };
        let shown: Vec<Role> =
            sent.iter().filter(|turn| shows(turn)).map(|turn| turn.role).collect();
        // In Gemini's protocol an image is in the same message as the results.
        let beside = rejects_images(lab) || lab.row.provider == "google";
        assert_eq!(shown, [if beside { Role::User } else { Role::Tool }]);
        let warnings = &outcome.steps[1].response.warnings;
        let has_warning = warnings.iter().any(|warning| warning.kind == WarningKind::Converted);
        assert_eq!(has_warning, rejects_images(lab), "{warnings:?}");
        // The run keeps the image in the result, whatever the provider accepts.
        assert!(outcome.messages.iter().any(|turn| turn.role == Role::Tool && shows(turn)));
    })
    .await;
}

#[tokio::test]
async fn media_that_a_provider_does_not_accept_are_described_in_text() {
    everywhere([asks(&["A"]), says("A sound.")], async |lab| {
        let tool =
            Tool::dynamic("weather", "Sings", json!({ "type": "object" }), |_: Value, _| async {
                Ok(ToolOutput::parts([ContentPart::audio("UklGRg==", "wav")]))
            });
        let agent = lab.agent().tool(tool);
        let outcome = agent.run(lab.question()).await.unwrap();
        assert_eq!(outcome.stop, StopReason::Finished);
        let sent = serde_json::to_string(&lab.request(2).messages).unwrap();
        let heard = sent.contains("UklGRg==");
        assert_ne!(heard, sent.contains("which the provider does not support"), "{sent}");
        let warnings = &outcome.steps[1].response.warnings;
        assert!(heard || warnings.iter().any(|warning| warning.kind == WarningKind::Dropped));
    })
    .await;
}
