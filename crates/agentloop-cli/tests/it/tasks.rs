//! `agentloop image`, `speak`, `transcribe`, `rerank` and `moderate`.

use crate::common;

use common::agentloop;
use common::folder::Folder;

#[test]
fn an_image_is_written_to_the_first_unused_name_and_its_path_is_printed() {
    let folder = Folder::with([("image-1.png", "mine")]);
    let run = agentloop(["image", "-m", "sim/image", "A lighthouse"]).within(folder.path()).run();
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), "image-2.png\n"), "{run}");
    assert_eq!(folder.read("image-1.png").as_deref(), Some("mine"));
    let bytes = std::fs::read(folder.path().join("image-2.png")).unwrap();
    assert!(bytes.starts_with(b"\x89PNG"));
}

#[test]
fn several_images_get_numbers() {
    let folder = Folder::with([]);
    let image = ["image", "-m", "sim/image", "-n", "2", "-o", "cat.png", "A cat"];
    let run = agentloop(image).within(folder.path()).run();
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), "cat-1.png\ncat-2.png\n"), "{run}");
    let stdout = ["image", "-m", "sim/image", "-n", "2", "-o", "-", "A cat"];
    let run = agentloop(stdout).within(folder.path()).run();
    assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""), "{run}");
    assert!(run.stderr.contains("stdout can take one"), "{run}");
}

#[test]
fn an_image_is_edited_and_a_missing_file_is_named() {
    let folder = Folder::with([]);
    let first = ["image", "-m", "sim/image", "-o", "a.png", "A cat"];
    assert_eq!(agentloop(first).within(folder.path()).run().code, Some(0));
    let edit = ["image", "-m", "sim/image", "--edit", "a.png", "-o", "b.png", "Make it red"];
    let run = agentloop(edit).within(folder.path()).run();
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), "b.png\n"), "{run}");
    let missing = ["image", "-m", "sim/image", "--edit", "none.png", "Make it red"];
    let run = agentloop(missing).within(folder.path()).run();
    assert_eq!(run.code, Some(2), "{run}");
    assert!(run.stderr.contains("none.png"), "{run}");
}

#[test]
fn speech_is_written_to_a_file_and_can_be_written_down_again() {
    let folder = Folder::with([]);
    let speak = ["speak", "-m", "sim/speech", "--voice", "a", "-o", "a.wav", "Good morning"];
    let run = agentloop(speak).within(folder.path()).run();
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), "a.wav\n"), "{run}");
    assert!(std::fs::read(folder.path().join("a.wav")).unwrap().starts_with(b"RIFF"));
    let transcribe = ["transcribe", "-m", "sim/transcribe", "a.wav"];
    let run = agentloop(transcribe).within(folder.path()).run();
    assert_eq!(run.code, Some(0), "{run}");
    assert!(!run.stdout.trim().is_empty(), "{run}");
}

#[test]
fn the_name_of_the_file_selects_subtitles() {
    let folder = Folder::with([("a.wav", "RIFF\0\0\0\0WAVEfmt ")]);
    let transcribe = ["transcribe", "-m", "sim/transcribe", "a.wav", "-o", "a.srt"];
    let run = agentloop(transcribe).within(folder.path()).run();
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), ""), "{run}");
    let text = folder.read("a.srt").unwrap();
    assert!(text.starts_with("1\n00:00:00,000 --> "), "{text}");
}

#[test]
fn documents_are_sorted_by_their_score() {
    let rerank = ["rerank", "-m", "sim/rerank", "the capital of Norway"];
    let documents = "Rome is in Italy\nOslo is the capital of Norway\n";
    let run = agentloop(rerank).stdin(documents).run();
    assert_eq!(run.code, Some(0), "{run}");
    let first: Vec<&str> = run.stdout.lines().next().unwrap().split('\t').collect();
    assert_eq!(first[1..], ["1", "Oslo is the capital of Norway"], "{run}");
    let json = agentloop(rerank.into_iter().chain(["--json"])).stdin(documents).run();
    assert_eq!(json.json()["results"][0]["index"], 1, "{json}");
    let none = agentloop(rerank).stdin("").run();
    assert_eq!(none.code, Some(2), "{none}");
}

#[test]
fn texts_are_moderated_in_their_order() {
    let run = agentloop(["moderate", "-m", "sim/moderation", "Good morning"]).run();
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), "ok\t-\tGood morning\n"), "{run}");
}

#[test]
fn a_provider_without_the_modality_and_a_provider_alone_are_errors_that_state_what_to_do() {
    let run = agentloop(["rerank", "-m", "anthropic/claude-sonnet-4-5", "q", "d"]).run();
    assert_eq!(run.code, Some(2), "{run}");
    assert!(run.stderr.contains("cohere"), "{run}");
    let run = agentloop(["image", "-m", "openai", "A cat"]).run();
    assert_eq!(run.code, Some(2), "{run}");
    assert!(run.stderr.contains("-m openai/MODEL"), "{run}");
}
