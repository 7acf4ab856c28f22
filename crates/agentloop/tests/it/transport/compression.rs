//! Compressed bodies: unpacked as they arrive, refused if damaged.

use std::io::Write;

use agentloop::ErrorKind;
use agentloop::limits::{MAX_COMPRESSED_WITHOUT_OUTPUT, POLL_WORK_BYTES};
use agentloop::transport::Body;
use flate2::Compression;
use flate2::write::{GzEncoder, ZlibEncoder};
use http::Response;
use tokio::io::AsyncWriteExt;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::transport::support::*;

/// A server that sends one more of these pieces on request, as chunks of one body.
async fn serve(
    encoding: &'static str,
    pieces: Vec<Vec<u8>>,
) -> (Response<Body>, mpsc::Sender<()>, JoinHandle<()>) {
    let (listener, url) = listen().await;
    let (go, mut going) = mpsc::channel(64);
    let server = tokio::spawn(async move {
        let mut stream = accept(&listener).await;
        read_request(&mut stream).await.unwrap();
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-encoding: {encoding}\r\ntransfer-encoding: chunked\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        for piece in pieces {
            let Some(()) = going.recv().await else { return };
            let head = format!("{:x}\r\n", piece.len());
            stream.write_all(head.as_bytes()).await.unwrap();
            stream.write_all(&piece).await.unwrap();
            stream.write_all(b"\r\n").await.unwrap();
        }
        stream.write_all(b"0\r\n\r\n").await.unwrap();
    });
    let response = send(&transport(), get(&url)).await.unwrap();
    (response, go, server)
}

/// Checks that each piece can be read before the next one is sent.
async fn arrives_piece_by_piece(encoding: &'static str, pieces: Vec<Vec<u8>>, texts: &[&str]) {
    let (response, go, server) = serve(encoding, pieces).await;
    assert!(!response.headers().contains_key("content-encoding"));
    let mut body = response.into_body();
    for expected in texts {
        go.send(()).await.unwrap();
        let mut text = String::new();
        while text.len() < expected.len() {
            text += &next(&mut body).await.unwrap().unwrap();
        }
        assert_eq!(text, *expected);
    }
    // What ends the compressed data.
    go.send(()).await.unwrap();
    assert!(next(&mut body).await.is_none());
    server.await.unwrap();
}

const TEXTS: [&str; 3] = ["data: {\"a\":1}\n\n", "data: {\"a\":2}\n\n", "data: [DONE]\n\n"];

/// Compresses the texts, each so that it can be read before the next.
fn compressed<E: Write>(mut encoder: E, take: fn(&mut E) -> &mut Vec<u8>) -> (E, Vec<Vec<u8>>) {
    let mut pieces = Vec::new();
    for text in TEXTS {
        encoder.write_all(text.as_bytes()).unwrap();
        encoder.flush().unwrap();
        pieces.push(std::mem::take(take(&mut encoder)));
    }
    (encoder, pieces)
}

#[tokio::test]
async fn gzip_and_deflate_arrive_piece_by_piece() {
    let encoder = GzEncoder::new(Vec::new(), Compression::best());
    let (encoder, mut pieces) = compressed(encoder, GzEncoder::get_mut);
    pieces.push(encoder.finish().unwrap());
    arrives_piece_by_piece("gzip", pieces, &TEXTS).await;
    let encoder = ZlibEncoder::new(Vec::new(), Compression::best());
    let (encoder, mut pieces) = compressed(encoder, ZlibEncoder::get_mut);
    pieces.push(encoder.finish().unwrap());
    arrives_piece_by_piece("deflate", pieces, &TEXTS).await;
}

/// Text as Brotli that stores it: no compressor is needed to make it, and all of the frame is there.
fn stored_brotli(texts: &[&str]) -> Vec<Vec<u8>> {
    let mut pieces = Vec::new();
    for (index, text) in texts.iter().enumerate() {
        // From the lowest bit: the window size (0, once), not the last block (0), a length of 4 nibbles (00),
        // the length less one (16 bits), stored as it is (1), and zeros up to a whole byte.
        let block = (1 << 19) | ((u32::try_from(text.len()).unwrap() - 1) << 3);
        let bits = if index == 0 { block << 1 } else { block };
        let mut piece = bits.to_le_bytes()[..3].to_vec();
        piece.extend_from_slice(text.as_bytes());
        pieces.push(piece);
    }
    pieces.push(vec![0b11]);
    pieces
}

#[tokio::test]
async fn brotli_arrives_piece_by_piece() {
    arrives_piece_by_piece("br", stored_brotli(&TEXTS), &TEXTS).await;
}

async fn error_of(encoding: &'static str, bytes: Vec<u8>) -> agentloop::Error {
    let (response, go, server) = serve(encoding, vec![bytes]).await;
    go.send(()).await.unwrap();
    let error = read(response).await.unwrap_err();
    server.abort();
    error
}

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

#[tokio::test]
async fn a_damaged_body_is_a_protocol_error() {
    for encoding in ["gzip", "deflate", "br"] {
        let error = error_of(encoding, b"this was never compressed".to_vec()).await;
        assert_eq!(error.kind(), ErrorKind::Protocol, "{encoding}: {error}");
    }
}

#[tokio::test]
async fn a_compressed_body_that_ends_early_is_a_protocol_error() {
    let mut bytes = gzip(b"a text that is long enough to be cut somewhere");
    bytes.truncate(bytes.len() - 9);
    let error = error_of("gzip", bytes).await;
    assert_eq!(error.kind(), ErrorKind::Protocol, "{error}");

    let mut brotli = stored_brotli(&TEXTS).concat();
    brotli.pop();
    let error = error_of("br", brotli).await;
    assert_eq!(error.kind(), ErrorKind::Protocol, "{error}");
}

#[tokio::test]
async fn a_body_that_decompresses_to_too_much_stops_at_the_limit() {
    // 32 MiB in 32 KiB.
    let bytes = gzip(&vec![0; 32 << 20]);
    let (response, go, server) = serve("gzip", vec![bytes]).await;
    go.send(()).await.unwrap();
    let error = response.into_body().collect(8 << 20).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TooLarge);
    server.abort();
}

#[tokio::test]
async fn compressed_bytes_that_decompress_to_nothing_are_bounded() {
    let empty = gzip(b"");
    let members = empty.repeat(2 * MAX_COMPRESSED_WITHOUT_OUTPUT / empty.len());
    let error = error_of("gzip", members).await;
    assert_eq!(error.kind(), ErrorKind::TooLarge, "{error}");
}

#[tokio::test]
async fn large_output_and_empty_members_are_decompressed_in_several_polls() {
    let empty = gzip(b"").repeat(20_000);
    let zeros = gzip(&vec![0; 16 << 20]);
    for (bytes, least) in
        [(empty, 20_000 * (4 << 10) / POLL_WORK_BYTES), (zeros, (16 << 20) / POLL_WORK_BYTES)]
    {
        let (response, go, server) = serve("gzip", vec![bytes]).await;
        go.send(()).await.unwrap();
        let mut polls = 0;
        let mut reading = std::pin::pin!(read(response));
        std::future::poll_fn(|context| {
            polls += 1;
            reading.as_mut().poll(context).map(drop)
        })
        .await;
        assert!(polls >= least, "{polls} polls, not {least}");
        server.await.unwrap();
    }
}

#[tokio::test]
async fn bytes_after_the_end_of_brotli_or_deflate_are_an_error() {
    let mut brotli = stored_brotli(&TEXTS).concat();
    brotli.extend_from_slice(b"more");
    let mut deflate = ZlibEncoder::new(Vec::new(), Compression::best());
    deflate.write_all(b"text").unwrap();
    let deflate = [deflate.finish().unwrap(), b"more".to_vec()].concat();
    for (encoding, bytes) in [("br", brotli), ("deflate", deflate)] {
        let error = error_of(encoding, bytes).await;
        assert_eq!(error.kind(), ErrorKind::Protocol, "{encoding}: {error}");
    }
}

#[tokio::test]
async fn an_empty_body_need_not_be_compressed() {
    let (response, _, server) = serve("gzip", Vec::new()).await;
    assert_eq!(read(response).await.unwrap(), "");
    server.await.unwrap();
}

#[tokio::test]
async fn a_body_in_an_unknown_encoding_is_returned_unchanged() {
    let (response, go, server) = serve("zstd", vec![b"as it is".to_vec()]).await;
    assert_eq!(response.headers()["content-encoding"], "zstd");
    go.send(()).await.unwrap();
    assert_eq!(read(response).await.unwrap(), "as it is");
    server.await.unwrap();
}
