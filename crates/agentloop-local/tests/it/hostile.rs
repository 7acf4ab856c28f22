//! Downloads from servers that want to harm.

use std::time::{Duration, Instant};

use agentloop::ErrorKind;
use agentloop_local::Pull;

use crate::common::{Scratch, gguf};
use crate::pull::{Server, response, rest, run, sha256, start_of, tree, whole};

/// A server that cuts every download off after much, and then sends another part than was asked for, was asked for ever.
#[tokio::test]
async fn a_server_that_makes_a_download_start_again_is_given_up() {
    let body = gguf(40 << 20);
    let server = Server::start(move |_, request| match start_of(request) {
        None => whole(&body, "one")[..24 << 20].to_vec(),
        Some(_) => rest(&body, 10, "one")[..1_000].to_vec(),
    })
    .await;
    let scratch = Scratch::new();
    let pull = server.pull(&scratch).stall_time(Duration::from_millis(500));
    let ended = tokio::time::timeout(Duration::from_secs(60), run(&pull)).await;
    assert!(ended.expect("it is given up").is_err());
    assert!(server.requests().len() <= 12, "{}", server.requests().len());
}

/// A server that ignores `if-range` sent the rest of another version, and both were joined.
#[tokio::test]
async fn a_part_of_another_version_is_not_added() {
    let (old, mut new) = (gguf(100_000), gguf(100_000));
    new[90_000] ^= 1;
    new[20_000] ^= 1;
    let expected = new.clone();
    let server = Server::start(move |count, request| match (count, start_of(request)) {
        (0, _) => whole(&old, "old")[..50_000].to_vec(),
        (_, Some(start)) => rest(&new, start, "new"),
        _ => whole(&new, "new"),
    })
    .await;
    let scratch = Scratch::new();
    let pulled = run(&server.pull(&scratch)).await.unwrap();
    assert!(std::fs::read(&pulled.path).unwrap() == expected);
}

/// A file of another repository with the same name and size counted as the one that was asked for, also with a checksum.
#[tokio::test]
async fn another_file_of_the_same_name_and_size_is_not_the_model() {
    let (other, wanted) = (gguf(1_000), {
        let mut it = gguf(1_000);
        it[500] ^= 1;
        it
    });
    let served = wanted.clone();
    let server = Server::start(move |_, request| match request.contains("/api/models/") {
        true => tree(&[("model.gguf", &served)]),
        false => whole(&served, "one"),
    })
    .await;
    let scratch = Scratch::new();
    let path = scratch.0.join("model.gguf");
    for with_checksum in [true, false] {
        std::fs::write(&path, &other).unwrap();
        let pull = match with_checksum {
            true => server.pull(&scratch).sha256(&sha256(&wanted)).unwrap(),
            false => Pull::new("owner/name", &scratch.0).unwrap().mirror(&server.url).unwrap(),
        };
        let pulled = run(&pull).await.unwrap();
        assert!(!pulled.was_present && std::fs::read(&path).unwrap() == wanted);
        let again = run(&pull).await.unwrap();
        assert!(again.was_present && again.is_verified);
    }
}

/// Two sizes that the server claims overflowed when they were added.
#[tokio::test]
async fn sizes_that_do_not_fit_into_a_number_are_too_large() {
    let entry = |number: u8| {
        format!(r#"{{"path":"m-0000{number}-of-00002.gguf","size":18446744073709551615}}"#)
    };
    let list = format!("[{},{}]", entry(1), entry(2));
    let server = Server::start(move |_, _| {
        response("200 OK", &format!("content-length: {}\r\n", list.len()), list.as_bytes())
    })
    .await;
    let scratch = Scratch::new();
    let pull = Pull::new("owner/name", &scratch.0).unwrap().mirror(&server.url).unwrap();
    assert_eq!(run(&pull).await.unwrap_err().kind(), ErrorKind::TooLarge);
}

#[tokio::test]
async fn lists_that_are_not_lists_are_errors() {
    let lists: [Vec<u8>; 8] = [
        b"<html>".to_vec(),
        b"{}".to_vec(),
        b"[1]".to_vec(),
        br#"[{"path":7}]"#.to_vec(),
        br#"[{"path":"m.gguf","size":-1}]"#.to_vec(),
        b"[".repeat(100_000),
        br#"[{"path":"../m.gguf"},{"path":"/m.gguf"},{"path":"a\u0000b.gguf"},{"path":"a/../m.gguf"}]"#
            .to_vec(),
        [br#"[{"path":""#.to_vec(), vec![b'a'; 9 << 20], b".gguf\"}]".to_vec()].concat(),
    ];
    for list in lists {
        let shown = String::from_utf8_lossy(&list[..list.len().min(60)]).into_owned();
        let server = Server::start(move |_, _| {
            response("200 OK", &format!("content-length: {}\r\n", list.len()), &list)
        })
        .await;
        let scratch = Scratch::new();
        let pull = Pull::new("owner/name", &scratch.0).unwrap().mirror(&server.url).unwrap();
        let began = Instant::now();
        assert!(run(&pull).await.is_err(), "{shown}");
        assert!(began.elapsed() < Duration::from_secs(10), "{shown}");
        assert!(scratch.files().is_empty(), "{shown}");
    }
}

#[tokio::test]
async fn a_range_that_is_refused_ends_or_starts_again() {
    let body = gguf(1_000);
    for total in ["*/77", "*/*", "x", "*/18446744073709551616"] {
        let served = body.clone();
        let server = Server::start(move |count, _| match count {
            0 => whole(&served, "one")[..600].to_vec(),
            1 => response(
                "416 Range Not Satisfiable",
                &format!("content-range: bytes {total}\r\ncontent-length: 0\r\n"),
                b"",
            ),
            _ => whole(&served, "one"),
        })
        .await;
        let scratch = Scratch::new();
        let pull = server.pull(&scratch).stall_time(Duration::from_secs(2));
        match run(&pull).await {
            Ok(pulled) => assert!(std::fs::read(&pulled.path).unwrap() == body, "{total}"),
            Err(error) => assert!(!scratch.files().contains(&"model.gguf".to_owned()), "{error}"),
        }
    }
}
