//! The provider without a model to run.

use agentloop::{AgentLoop, ChatRequest, ErrorKind};
use agentloop_local::{Folders, Local};

use crate::common::{Scratch, gguf};

fn client(scratch: &Scratch) -> AgentLoop {
    let local = Local::new().folders(Folders::new(&scratch.0));
    AgentLoop::builder().provider(local.provider()).build().unwrap()
}

#[tokio::test]
async fn the_models_on_this_machine_are_listed() {
    let scratch = Scratch::new();
    std::fs::write(scratch.0.join("small.gguf"), gguf(0)).unwrap();
    let models = client(&scratch).models("local").await.unwrap();
    let names: Vec<String> = models.iter().map(agentloop::ModelInfo::qualified).collect();
    assert_eq!(names, ["local/small"]);
}

#[tokio::test]
async fn an_unknown_model_lists_the_known_ones() {
    let scratch = Scratch::new();
    std::fs::write(scratch.0.join("small.gguf"), gguf(0)).unwrap();
    let error =
        client(&scratch).chat(ChatRequest::new("local/other").user("Hi")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert!(error.message().contains("small"), "{error}");
    assert!(error.hint().unwrap().contains("agentloop pull"));
}

#[cfg(not(feature = "llama"))]
#[tokio::test]
async fn a_build_without_the_engine_states_what_is_missing() {
    let scratch = Scratch::new();
    std::fs::write(scratch.0.join("small.gguf"), gguf(0)).unwrap();
    let error =
        client(&scratch).chat(ChatRequest::new("local/small").user("Hi")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.hint().unwrap().contains("--features local"), "{error:?}");
}
