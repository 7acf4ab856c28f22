//! Settings for generated images: sent, or a warning.

use agentloop::{AgentLoop, ChatRequest, ImageOutput, WarningKind, inspect};
use serde_json::{Value, json};

fn encode(model: &str) -> (Value, Vec<(WarningKind, String)>) {
    let image = ImageOutput::of_ratio("16:9").of_size("2K");
    let request = ChatRequest::new(model).user("Draw a cat.").image(image);
    let encoded = inspect::encode(&AgentLoop::from_env(), &request, false).unwrap();
    let warned = encoded.warnings.iter();
    let warned = warned.map(|it| (it.kind, it.subject.clone().unwrap())).collect();
    (serde_json::from_str(encoded.body.get()).unwrap(), warned)
}

#[test]
fn settings_of_images_go_where_they_are_known() {
    let (body, warned) = encode("google/m");
    let config = &body["generationConfig"];
    assert_eq!(config["imageConfig"], json!({"aspectRatio": "16:9", "imageSize": "2K"}));
    assert_eq!(config["responseModalities"], json!(["TEXT", "IMAGE"]));
    assert_eq!(warned, []);
    let (body, warned) = encode("openrouter/m");
    assert_eq!(body["image_config"], json!({"aspect_ratio": "16:9", "image_size": "2K"}));
    assert_eq!(body["modalities"], json!(["text", "image"]));
    assert_eq!(warned, []);
}

#[test]
fn elsewhere_they_are_a_warning() {
    for model in ["openai/m", "mistral/m", "anthropic/m"] {
        let (body, warned) = encode(model);
        assert!(!body.to_string().contains("16:9"), "{body}");
        assert!(
            warned.contains(&(WarningKind::Dropped, "image".to_owned())),
            "{model}: {warned:?}"
        );
    }
}

#[test]
fn a_request_with_them_round_trips() {
    let image = json!({"aspect_ratio": "1:1", "size": "1K"});
    let request = json!({"model": "m", "messages": [], "modalities": ["image"], "image": image});
    let read: ChatRequest = serde_json::from_value(request.clone()).unwrap();
    assert_eq!(serde_json::to_value(read).unwrap(), request);
}
