//! `agentloop pull`, and models in the process.

use crate::common;

use common::agentloop;
use common::server::{Then, json, serve_by, serve_bytes};

/// Returns a GGUF file without tensors.
fn gguf() -> Vec<u8> {
    let text = |text: &str| [&(text.len() as u64).to_le_bytes(), text.as_bytes()].concat();
    let mut bytes = b"GGUF".to_vec();
    bytes.extend(3_u32.to_le_bytes());
    bytes.extend(0_u64.to_le_bytes());
    bytes.extend(1_u64.to_le_bytes());
    bytes.extend(text("general.architecture"));
    bytes.extend(8_u32.to_le_bytes());
    bytes.extend(text("llama"));
    bytes.resize(bytes.len().next_multiple_of(32), 0);
    bytes
}

#[test]
fn a_model_is_downloaded_and_its_name_is_printed() {
    let body = gguf();
    let head =
        format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", body.len());
    let url = serve_bytes([head.into_bytes(), body].concat());
    let run = agentloop(["pull", &format!("{url}/tiny.gguf")]).run();
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), "local/tiny\n"), "{run}");
    assert!(run.stderr.contains("its SHA-256 is"), "{run}");
}

#[test]
fn a_wrong_checksum_is_an_error() {
    let body = gguf();
    let head =
        format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", body.len());
    let url = serve_bytes([head.into_bytes(), body].concat());
    let wrong = "0".repeat(64);
    let run = agentloop(["pull", &format!("{url}/tiny.gguf"), "--sha256", &wrong]).run();
    assert_eq!((run.code, run.stdout.as_str()), (Some(1), ""), "{run}");
    assert!(run.stderr.contains("SHA-256"), "{run}");
}

#[test]
fn a_repository_without_models_is_an_error_that_states_what_to_do() {
    let url = serve_by(Then::Close, |_| json("200 OK", "[]"));
    let run = agentloop(["pull", "owner/repository", "--mirror", &url]).run();
    assert_eq!(run.stdout, "", "{run}");
    assert!(run.stderr.contains("hf:owner/repository/FILE.gguf"), "{run}");
    let run = agentloop(["pull", "smollm2"]).run();
    assert!(run.stderr.contains("OWNER/REPOSITORY"), "{run}");
}

#[cfg(not(feature = "local"))]
#[test]
fn a_build_without_the_engine_states_how_to_get_it() {
    for name in ["local", "local/smollm2"] {
        let run = agentloop(["-m", name, "Hello"]).run();
        assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""), "{run}");
        assert!(run.stderr.contains("--features full,local"), "{run}");
    }
    // It said that there is no provider of this name.
    let run = agentloop(["models", "local"]).run();
    assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""), "{run}");
    assert!(run.stderr.contains("--features full,local"), "{run}");
}

#[test]
fn a_file_of_another_kind_is_an_error_that_states_what_can_be_pulled() {
    let run = agentloop(["pull", "https://example.com/model.safetensors"]).run();
    assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""), "{run}");
    assert!(run.stderr.contains("hint:") && run.stderr.contains("GGUF"), "{run}");
}
