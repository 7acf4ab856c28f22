//! Results with images, to each protocol.

use agentloop::agent::{Outcome, RunError, StopReason, Tool, ToolOutput};
use agentloop::{ChatRequest, ContentPart, ErrorKind};
use serde_json::{Value, json};

use crate::lab::{Lab, asks, everywhere, says};

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
    lab.row.provider == "openai"
}

async fn run(lab: &Lab, request: ChatRequest) -> Result<Outcome, RunError> {
    let agent = lab.agent().tool(chart());
    match lab.streamed {
        false => agent.run(request).await,
        true => agent.stream(request).outcome().await,
    }
}

#[tokio::test]
async fn an_image_of_a_tool_reaches_the_model_or_is_named_as_what_the_host_cannot_take() {
    everywhere([asks(&["A"]), says("A chart.")], async |lab| {
        let ended = run(lab, lab.question()).await;
        if takes_none(lab) {
            let failed = ended.unwrap_err();
            assert_eq!(failed.error.kind(), ErrorKind::Unsupported);
            assert!(failed.error.message().contains("image"), "{}", failed.error);
            assert_eq!(failed.outcome.messages.len(), 2, "what was done is not lost");
            return;
        }
        assert_eq!(ended.unwrap().stop, StopReason::Finished);
        let sent = serde_json::to_string(&lab.asked(2).messages).unwrap();
        assert!(sent.contains("The chart:") && sent.contains(PIXEL), "{sent}");
    })
    .await;
}

#[tokio::test]
async fn where_the_caller_is_lenient_an_image_that_the_host_cannot_take_is_left_out_with_a_warning()
{
    everywhere([asks(&["A"]), says("A chart.")], async |lab| {
        let outcome = run(lab, lab.question().lenient()).await.unwrap();
        assert_eq!(outcome.stop, StopReason::Finished);
        let sent = serde_json::to_string(&lab.asked(2).messages).unwrap();
        assert!(sent.contains("The chart:"), "{sent}");
        let warnings = &outcome.steps[1].response.warnings;
        assert_eq!(sent.contains(PIXEL), !takes_none(lab));
        assert_eq!(warnings.iter().any(|told| told.message.contains("image")), takes_none(lab));
        // The run keeps it, whatever the host took.
        assert!(serde_json::to_string(&outcome.messages).unwrap().contains(PIXEL));
    })
    .await;
}
