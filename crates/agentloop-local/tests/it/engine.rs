//! Files that the engine must refuse without ending the process.

use agentloop::{AgentLoop, ChatRequest, ErrorKind};
use agentloop_local::{Folders, Local};

use crate::common::{Scratch, gguf, write};

async fn refused(bytes: &[u8]) -> agentloop::Error {
    let scratch = Scratch::new();
    write(&scratch.0, "bad.gguf", bytes);
    let local = Local::new().folders(Folders::new(&scratch.0));
    let ai = AgentLoop::builder().provider(local.provider()).build().unwrap();
    ai.chat(ChatRequest::new("local/bad").user("Hi")).await.unwrap_err()
}

#[tokio::test]
async fn files_that_are_not_models_are_refused() {
    for bytes in [b"".to_vec(), b"GGUF".to_vec(), b"<html>".to_vec(), gguf(0), gguf(10_000)] {
        let error = refused(&bytes).await;
        assert_eq!(error.kind(), ErrorKind::InvalidRequest, "{error:?}");
    }
}

/// The real file, cut and changed in its head and between its tensors.
#[tokio::test]
async fn a_real_model_that_is_damaged_is_refused_or_works() {
    let Some(path) = std::env::var_os("AGENTLOOP_TEST_GGUF") else {
        println!("SKIPPED: AGENTLOOP_TEST_GGUF names no model");
        return;
    };
    let bytes = std::fs::read(path).unwrap();
    for length in [bytes.len() - 1, bytes.len() / 2, 1 << 20, 100_000, 1_000, 24] {
        let error = refused(&bytes[..length]).await;
        assert_eq!(error.kind(), ErrorKind::InvalidRequest, "{length}: {error:?}");
    }
    for at in [4, 8, 12, 16, 20, 24, 40, 60] {
        let mut changed = bytes.clone();
        changed[at] ^= 0xff;
        let error = refused(&changed).await;
        assert_eq!(error.kind(), ErrorKind::InvalidRequest, "{at}: {error:?}");
    }
}
