//! `agentloop image`, `speak`, `transcribe`, `rerank` and `moderate`.

use crate::common;

use common::agentloop;
use common::folder::Folder;
use common::server::Then;

#[test]
fn an_image_is_written_to_the_first_unused_name_and_its_path_is_printed() {
    let folder = Folder::with([("image-1.png", "mine")]);
    let run = agentloop(["image", "-m", "sim/image", "A lighthouse"]).within(folder.path()).run();
    run.prints("image-2.png\n");
    assert_eq!(folder.read("image-1.png").as_deref(), Some("mine"));
    let bytes = std::fs::read(folder.path().join("image-2.png")).unwrap();
    assert!(bytes.starts_with(b"\x89PNG"));
}

#[test]
fn several_images_get_numbers() {
    let folder = Folder::with([]);
    let image = ["image", "-m", "sim/image", "-n", "2", "-o", "cat.png", "A cat"];
    agentloop(image).within(folder.path()).run().prints("cat-1.png\ncat-2.png\n");
    let stdout = ["image", "-m", "sim/image", "-n", "2", "-o", "-", "A cat"];
    agentloop(stdout).within(folder.path()).run().refuses("stdout can take one");
}

#[test]
fn an_image_is_edited_and_a_missing_file_is_named() {
    let folder = Folder::with([]);
    let first = ["image", "-m", "sim/image", "-o", "a.png", "A cat"];
    assert_eq!(agentloop(first).within(folder.path()).run().code, Some(0));
    let edit = ["image", "-m", "sim/image", "--edit", "a.png", "-o", "b.png", "Make it red"];
    agentloop(edit).within(folder.path()).run().prints("b.png\n");
    let missing = ["image", "-m", "sim/image", "--edit", "none.png", "Make it red"];
    agentloop(missing).within(folder.path()).run().fails(2, "none.png");
}

#[test]
fn speech_is_written_to_a_file_and_can_be_written_down_again() {
    let folder = Folder::with([]);
    let speak = ["speak", "-m", "sim/speech", "--voice", "a", "-o", "a.wav", "Good morning"];
    agentloop(speak).within(folder.path()).run().prints("a.wav\n");
    assert!(std::fs::read(folder.path().join("a.wav")).unwrap().starts_with(b"RIFF"));
    let transcribe = ["transcribe", "-m", "sim/transcribe", "a.wav"];
    let run = agentloop(transcribe).within(folder.path()).run().exits(0);
    assert!(!run.stdout.trim().is_empty(), "{run}");
}

#[test]
fn the_name_of_the_file_selects_subtitles() {
    let folder = Folder::with([("a.wav", "RIFF\0\0\0\0WAVEfmt ")]);
    let transcribe = ["transcribe", "-m", "sim/transcribe", "a.wav", "-o", "a.srt"];
    agentloop(transcribe).within(folder.path()).run().prints("");
    let text = folder.read("a.srt").unwrap();
    assert!(text.starts_with("1\n00:00:00,000 --> "), "{text}");
}

#[test]
fn documents_are_sorted_by_their_score() {
    let rerank = ["rerank", "-m", "sim/rerank", "the capital of Norway"];
    let documents = "Rome is in Italy\nOslo is the capital of Norway\n";
    let run = agentloop(rerank).stdin(documents).run().exits(0);
    let first: Vec<&str> = run.stdout.lines().next().unwrap().split('\t').collect();
    assert_eq!(first[1..], ["1", "Oslo is the capital of Norway"], "{run}");
    let json = agentloop(rerank.into_iter().chain(["--json"])).stdin(documents).run();
    assert_eq!(json.json()["results"][0]["index"], 1, "{json}");
    agentloop(rerank).stdin("").run().exits(2);
}

#[test]
fn texts_are_moderated_in_their_order() {
    let run = agentloop(["moderate", "-m", "sim/moderation", "Good morning"]).run();
    run.prints("ok\t-\tGood morning\n");
}

#[test]
fn a_conversation_is_moderated_as_a_whole() {
    let moderate = ["moderate", "-m", "sim/moderation", "--messages", "-"];
    let messages = r#"[{"role":"user","content":"I will kill you"},{"role":"assistant","content":"Please stop"}]"#;
    let run = agentloop(moderate).stdin(messages).run();
    assert_eq!(
        (run.code, run.stdout.as_str()),
        (Some(0), "flagged\tviolence 0.90\tPlease stop\n"),
        "{run}"
    );
    assert!(run.stderr.contains("moderates no conversations"), "{run}");
    let request = format!(r#"{{"model":"x","messages":{messages}}}"#);
    let json = agentloop(moderate.into_iter().chain(["--json"])).stdin(request).run();
    assert_eq!(json.json()["results"].as_array().map(Vec::len), Some(1), "{json}");
    for wrong in
        ["", "[]", "{}", "7", "[7]", r#"[{"role":"king","content":"x"}]"#, r#"[{"role":"user""#]
    {
        let run = agentloop(moderate).stdin(wrong).run();
        assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""), "{wrong}: {run}");
    }
    agentloop(moderate.into_iter().chain(["text"])).stdin(messages).run().exits(2);
    let missing = agentloop(["moderate", "-m", "sim/m", "--messages", "/missing.json"]).run();
    missing.fails(2, "/missing.json");
}

#[test]
fn a_provider_without_the_modality_and_a_provider_alone_are_errors_that_state_what_to_do() {
    agentloop(["rerank", "-m", "anthropic/claude-sonnet-4-5", "q", "d"]).run().fails(2, "cohere");
    agentloop(["image", "-m", "openai", "A cat"]).run().fails(2, "-m openai/MODEL");
}

// Found by `agentloop transcribe -o /dev/full` as root: the device was replaced by a file.
#[cfg(unix)]
#[test]
fn output_to_a_pipe_or_through_a_link_is_written_and_not_replaced() {
    use std::os::unix::fs::FileTypeExt as _;

    let folder = Folder::with([("a.wav", "RIFF\0\0\0\0WAVEfmt "), ("old.txt", "old")]);
    let made = std::process::Command::new("mkfifo").arg(folder.path().join("pipe")).status();
    assert!(made.unwrap().success());
    for command in [
        &["transcribe", "-m", "sim/transcribe", "a.wav", "-o", "pipe"][..],
        &["speak", "-m", "sim/speech", "--voice", "a", "-o", "pipe", "Good morning"],
    ] {
        let pipe = folder.path().join("pipe");
        let reader = std::thread::spawn(move || std::fs::read(pipe).unwrap());
        agentloop(command.iter().copied()).within(folder.path()).run().exits(0);
        assert!(!reader.join().unwrap().is_empty(), "{command:?}");
        let about = std::fs::symlink_metadata(folder.path().join("pipe")).unwrap();
        assert!(about.file_type().is_fifo(), "{command:?}");
    }
    std::os::unix::fs::symlink("old.txt", folder.path().join("link.txt")).unwrap();
    let through = ["transcribe", "-m", "sim/transcribe", "a.wav", "-o", "link.txt"];
    agentloop(through).within(folder.path()).run().exits(0);
    assert!(std::fs::symlink_metadata(folder.path().join("link.txt")).unwrap().is_symlink());
    assert_ne!(folder.read("old.txt").as_deref(), Some("old"));
}

// The call was paid for before the name was looked at.
#[test]
fn an_output_that_cannot_be_written_is_refused_before_the_call() {
    let folder = Folder::with([("a.wav", "RIFF\0\0\0\0WAVEfmt ")]);
    for output in ["missing/out", "."] {
        // Nothing listens there, so a call would fail with another exit code.
        for command in [
            &["transcribe", "-m", "openai/whisper-1", "a.wav", "-o", output][..],
            &["speak", "-m", "openai/tts-1", "-o", output, "Good morning"],
            &["image", "-m", "openai/gpt-image-1", "-o", output, "A cat"],
        ] {
            let run = agentloop(command.iter().copied())
                .within(folder.path())
                .env("OPENAI_API_KEY", "sk-test")
                .env("AGENTLOOP_OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
                .run();
            assert_eq!(run.code, Some(2), "{command:?}: {run}");
            assert!(run.stderr.contains(&format!("error: {output}: ")), "{command:?}: {run}");
        }
    }
}

// `image -o - > cat.png` wrote a URL into the file, and `-o cat.png` succeeded without a file.
#[test]
fn a_url_in_place_of_an_image_is_an_error_if_the_bytes_were_asked_for() {
    let body =
        "{\"data\":[{\"url\":\"https://a.test/\\u001b[2Jx.png\"},{\"b64_json\":\"iVBORw0KGgo=\"}]}";
    let url = common::server::serve(common::server::json("200 OK", body), Then::Close);
    let folder = Folder::with([]);
    let image = |output: Option<&str>, n: &str| {
        let named = output.into_iter().flat_map(|name| ["-o", name]);
        let command = ["image", "-m", "openai/gpt-image-1", "A cat", "-n", n];
        agentloop(command.into_iter().chain(named))
            .within(folder.path())
            .env("OPENAI_API_KEY", "sk-test")
            .env("AGENTLOOP_OPENAI_BASE_URL", &url)
            .run()
    };
    let run = image(Some("cat.png"), "2");
    assert_eq!((run.code, run.stdout.as_str()), (Some(1), "cat-2.png\n"), "{run}");
    assert!(run.stderr.contains("https://a.test/"), "{run}");
    let run = image(None, "2").exits(0);
    assert!(run.stdout.starts_with("https://a.test/") && !run.stdout.contains('\x1b'), "{run}");
    let run = image(Some("-"), "2");
    assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""), "{run}");
}

#[test]
fn an_output_beside_json_is_an_error_and_not_ignored() {
    for command in [
        &["image", "-m", "sim/image", "--json", "-o", "a.png", "A cat"][..],
        &["speak", "-m", "sim/speech", "--json", "-o", "a.wav", "Good morning"],
    ] {
        agentloop(command.iter().copied()).run().fails(2, "--json");
    }
}
