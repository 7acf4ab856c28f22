use super::*;

/// Writes a frame with these headers, all of them texts.
fn frame(headers: &[(&str, &str)], data: &[u8]) -> Vec<u8> {
    let mut head = Vec::new();
    for (name, value) in headers {
        head.push(u8::try_from(name.len()).unwrap());
        head.extend_from_slice(name.as_bytes());
        head.push(TEXT);
        head.extend_from_slice(&u16::try_from(value.len()).unwrap().to_be_bytes());
        head.extend_from_slice(value.as_bytes());
    }
    frame_of(&head, data)
}

fn of(length: usize) -> u32 {
    u32::try_from(length).unwrap()
}

fn frame_of(head: &[u8], data: &[u8]) -> Vec<u8> {
    let length = PRELUDE + head.len() + data.len() + CHECKSUM;
    let mut frame = lengths(of(length), of(head.len()));
    frame.extend_from_slice(head);
    frame.extend_from_slice(data);
    let sum = checksum(&frame);
    frame.extend_from_slice(&sum.to_be_bytes());
    frame
}

/// Writes a prelude with a correct checksum.
fn lengths(length: u32, headers: u32) -> Vec<u8> {
    let mut prelude = [length.to_be_bytes(), headers.to_be_bytes()].concat();
    let sum = checksum(&prelude);
    prelude.extend_from_slice(&sum.to_be_bytes());
    prelude
}

fn event(name: &str, data: &str) -> Vec<u8> {
    let headers =
        [(":event-type", name), (":content-type", "application/json"), (":message-type", "event")];
    frame(&headers, data.as_bytes())
}

type Read = (Vec<(String, String)>, Result<()>);

fn read(bytes: &[u8], size: usize) -> Read {
    let mut reader = EventStreamReader::new();
    let mut frames = Vec::new();
    let mut take = |frame: Frame<'_>| {
        frames.push((frame.event.to_owned(), String::from_utf8_lossy(frame.data).into_owned()));
        Ok(Flow::Continue)
    };
    let mut done = Ok(());
    for piece in bytes.chunks(size) {
        done = reader.feed(piece, &mut take).map(drop);
        if done.is_err() {
            break;
        }
    }
    (frames, done.and_then(|()| reader.finish()))
}

fn kind(read: Read) -> ErrorKind {
    read.1.unwrap_err().kind()
}

#[test]
fn frames_are_separated_however_the_bytes_are_split() {
    let bytes =
        [event("messageStart", "{}"), event("x", ""), event("y", "{\"é\":\"漢\"}")].concat();
    for size in 1..=bytes.len() {
        let (frames, end) = read(&bytes, size);
        let frames: Vec<_> = frames.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
        assert_eq!(frames, [("messageStart", "{}"), ("x", ""), ("y", "{\"é\":\"漢\"}")], "{size}");
        assert!(end.is_ok());
    }
}

#[test]
fn exceptions_and_errors_have_names_that_no_event_has() {
    let exception = frame(
        &[(":message-type", "exception"), (":exception-type", "throttlingException")],
        b"{\"message\":\"slow down\"}",
    );
    let error = frame(
        &[(":message-type", "error"), (":error-code", "500"), (":error-message", "broken")],
        b"",
    );
    let (frames, _) = read(&[exception, error].concat(), 9);
    assert_eq!(frames[0].0, "exception:throttlingException");
    assert_eq!(frames[0].1, "{\"message\":\"slow down\"}");
    assert_eq!(frames[1], ("error:500".to_owned(), "broken".to_owned()));
}

#[test]
fn a_chunk_is_the_event_inside_of_it() {
    let chunk = |data: &str| read(&event("chunk", data), 5);
    let (frames, end) = chunk(r#"{"bytes":"eyJhIjoxfQ==","p":"abcdef"}"#);
    assert_eq!(frames, [(String::new(), r#"{"a":1}"#.to_owned())]);
    assert!(end.is_ok());
    assert_eq!(chunk(r#"{"p":[{}],"bytes":"e\u0079Jh\/w=="}"#).0[0].1, "{\"a\u{fffd}");
    for damaged in [
        "",
        "{}",
        "[]",
        "null",
        r#"{"bytes":null}"#,
        r#"{"bytes":7}"#,
        r#"{"bytes":["YQ=="]}"#,
        r#"{"bytes":"YQ"}"#,
        r#"{"bytes":"!"}"#,
        r#"{"bytes":"YQ==""#,
    ] {
        let (frames, end) = chunk(damaged);
        assert!(frames.is_empty(), "{damaged}");
        assert_eq!(end.unwrap_err().kind(), ErrorKind::Protocol, "{damaged}");
    }
}

#[test]
fn headers_of_every_type_are_skipped() {
    let mut head = Vec::new();
    let values: [(u8, usize); 10] =
        [(0, 0), (1, 0), (2, 1), (3, 2), (4, 4), (5, 8), (6, 3), (7, 3), (8, 8), (9, 16)];
    for (kind, size) in values {
        head.extend_from_slice(&[1, b'h', kind]);
        if matches!(kind, 6 | 7) {
            head.extend_from_slice(&u16::try_from(size).unwrap().to_be_bytes());
        }
        head.extend(std::iter::repeat_n(b'v', size));
    }
    head.extend_from_slice(b"\x0b:event-type\x07\x00\x01e");
    let (frames, end) = read(&frame_of(&head, b"data"), 7);
    assert_eq!(frames, [("e".to_owned(), "data".to_owned())]);
    assert!(end.is_ok());
}

#[test]
fn a_single_changed_bit_is_noticed_wherever_it_is() {
    let bytes = event("messageStart", "{\"role\":\"assistant\"}");
    for at in 0..bytes.len() {
        for bit in 0..8 {
            let mut changed = bytes.clone();
            changed[at] ^= 1 << bit;
            for size in [1, changed.len()] {
                let (frames, end) = read(&changed, size);
                assert!(frames.is_empty() && end.is_err(), "byte {at}, bit {bit}");
            }
        }
    }
}

#[test]
fn lengths_that_are_not_possible_are_errors_even_with_a_correct_checksum() {
    for (length, headers) in [(0, 0), (15, 0), (16, 1), (40, 25), (12, u32::MAX - 20)] {
        let mut bytes = lengths(length, headers);
        bytes.extend_from_slice(&[0; 64]);
        for size in [1, 5, bytes.len()] {
            let kind = kind(read(&bytes, size));
            assert!(
                matches!(kind, ErrorKind::Protocol | ErrorKind::TooLarge),
                "{length} {headers}"
            );
        }
    }
}

#[test]
fn a_frame_that_is_too_large_is_refused_before_it_arrives() {
    for (length, headers) in
        [(of(MAX_EVENT_BYTES) + 1, 0), (u32::MAX, 0), (1 << 20, of(MAX_FRAME_HEADER_BYTES) + 1)]
    {
        let mut reader = EventStreamReader::new();
        let error =
            reader.feed(&lengths(length, headers), &mut |_| Ok(Flow::Continue)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TooLarge);
        assert!(reader.frame.capacity() < 1 << 10);
    }
}

#[test]
fn a_length_that_promises_more_than_arrives_reserves_no_memory_and_is_an_incomplete_stream() {
    let bytes = lengths(of(MAX_EVENT_BYTES), 0);
    let mut reader = EventStreamReader::new();
    for byte in &bytes {
        reader.feed(std::slice::from_ref(byte), &mut |_| Ok(Flow::Continue)).unwrap();
    }
    assert!(reader.frame.capacity() < 1 << 10);
    assert_eq!(reader.finish().unwrap_err().kind(), ErrorKind::IncompleteStream);
}

#[test]
fn a_stream_that_ends_inside_a_frame_is_incomplete_and_keeps_the_frames_before() {
    let (first, second) = (event("a", "1"), event("b", "2"));
    let bytes = [first.clone(), second].concat();
    for end in first.len() + 1..bytes.len() {
        let (frames, done) = read(&bytes[..end], 11);
        assert_eq!(frames.len(), 1);
        assert_eq!(done.unwrap_err().kind(), ErrorKind::IncompleteStream, "{end}");
    }
}

#[test]
fn headers_that_are_not_complete_or_of_an_unknown_type_are_errors() {
    for head in [
        &b"\x05ab"[..],
        b"\x01a",
        b"\x01a\x07",
        b"\x01a\x07\x00",
        b"\x01a\x07\x00\x05ab",
        b"\x01a\x05\x00",
        b"\x01a\x0a",
        b"\x01a\xff\x00\x00",
    ] {
        assert_eq!(kind(read(&frame_of(head, b""), 3)), ErrorKind::Protocol, "{head:?}");
    }
}

#[test]
fn a_header_that_is_not_text_or_not_utf8_is_not_an_event_type() {
    let (frames, end) = read(&frame_of(b"\x0b:event-type\x07\x00\x01\xff", b"d"), 4);
    assert_eq!(frames, [(String::new(), "d".to_owned())]);
    assert!(end.is_ok());
    let (frames, _) = read(&frame_of(b"\x0b:event-type\x06\x00\x01e", b"d"), 4);
    assert_eq!(frames, [(String::new(), "d".to_owned())]);
}

#[test]
fn nothing_counts_after_the_frame_that_ends_the_stream() {
    let bytes = [event("a", "1"), event("b", "2"), vec![0xff; 40]].concat();
    for size in [1, bytes.len()] {
        let (mut seen, mut reader, mut flow) = (0, EventStreamReader::new(), Flow::Continue);
        for piece in bytes.chunks(size) {
            let mut take = |_: Frame<'_>| {
                seen += 1;
                Ok(Flow::Done)
            };
            flow = reader.feed(piece, &mut take).unwrap();
            if flow == Flow::Done {
                break;
            }
        }
        assert_eq!((flow, seen), (Flow::Done, 1));
    }
}

#[test]
fn a_flood_of_small_frames_is_read_without_keeping_them() {
    let bytes = event("ping", "").repeat(50_000);
    let (mut seen, mut reader) = (0, EventStreamReader::new());
    for piece in bytes.chunks(4099) {
        let mut take = |_: Frame<'_>| {
            seen += 1;
            Ok(Flow::Continue)
        };
        reader.feed(piece, &mut take).unwrap();
    }
    assert_eq!(seen, 50_000);
    assert!(reader.frame.capacity() < 1 << 10);
}
