use super::*;

/// The events of `text`, fed `size` bytes at a time.
fn events(text: &[u8], size: usize) -> Vec<(String, String)> {
    let mut events = Vec::new();
    let mut reader = SseReader::new();
    let mut take = |frame: Frame<'_>| {
        events.push((frame.event.to_owned(), String::from_utf8_lossy(frame.data).into_owned()));
        Ok(Flow::Continue)
    };
    for bytes in text.chunks(size) {
        reader.feed(bytes, &mut take).unwrap();
    }
    reader.finish(&mut take).unwrap();
    events
}

fn assert_events(text: &str, expected: &[(&str, &str)]) {
    for size in 1..=text.len().max(1) {
        let got = events(text.as_bytes(), size);
        let got: Vec<_> = got.iter().map(|(e, d)| (e.as_str(), d.as_str())).collect();
        assert_eq!(got, expected, "{text:?} by {size}");
    }
}

#[test]
fn lines_end_in_lf_crlf_or_cr() {
    assert_events("data: a\n\ndata: b\n\n", &[("", "a"), ("", "b")]);
    assert_events("data: a\r\n\r\ndata: b\r\n\r\n", &[("", "a"), ("", "b")]);
    assert_events("data: a\r\rdata: b\r\r", &[("", "a"), ("", "b")]);
    assert_events("data: a\r\ndata: b\n\rdata: c\n\n", &[("", "a\nb"), ("", "c")]);
}

#[test]
fn at_most_one_space_after_the_colon_is_dropped() {
    assert_events("data:a\n\ndata: b\n\ndata:  c\n\n", &[("", "a"), ("", "b"), ("", " c")]);
}

#[test]
fn several_data_lines_are_joined_by_a_newline() {
    assert_events("data: a\ndata: b\ndata\ndata: c\n\n", &[("", "a\nb\n\nc")]);
}

#[test]
fn comments_ids_retries_and_unknown_fields_are_ignored() {
    assert_events(
        ": hello\nid: 1\nretry: 5\nfoo: bar\ndatax: y\ndata: a\n: more\n\n",
        &[("", "a")],
    );
}

#[test]
fn an_event_has_a_name_only_for_itself() {
    assert_events("event: x\ndata: a\n\ndata: b\n\n", &[("x", "a"), ("", "b")]);
    assert_events("event: x\n\ndata: b\n\n", &[("", "b")]);
}

#[test]
fn a_bom_is_skipped() {
    assert_events("\u{feff}data: a\n\n", &[("", "a")]);
}

#[test]
fn the_last_event_counts_without_its_blank_line() {
    assert_events("data: a\n\ndata: b", &[("", "a"), ("", "b")]);
    assert_events("data: a\n", &[("", "a")]);
}

#[test]
fn a_cut_inside_a_character_is_invisible() {
    assert_events("data: é漢😀\n\n", &[("", "é漢😀")]);
}

#[test]
fn nothing_counts_after_the_event_that_ends_the_stream() {
    let mut seen = 0;
    let mut reader = SseReader::new();
    let flow = reader
        .feed(b"data: a\n\ndata: b\n\n", &mut |_| {
            seen += 1;
            Ok(Flow::Done)
        })
        .unwrap();
    assert_eq!((flow, seen), (Flow::Done, 1));
}

#[test]
fn a_line_without_end_is_an_error_and_not_memory() {
    let mut reader = SseReader::new();
    let block = vec![b'x'; 1 << 20];
    let error = (0..64).find_map(|_| reader.feed(&block, &mut |_| Ok(Flow::Continue)).err());
    assert_eq!(error.unwrap().kind(), ErrorKind::TooLarge);
    assert!(reader.line.len() <= MAX_LINE_BYTES);
}

#[test]
fn lines_may_end_in_different_ways() {
    let expected = [("", "a"), ("", "b"), ("", "c"), ("", "d")];
    assert_events("data: a\r\n\ndata: b\n\r\ndata: c\r\rdata: d\r\n\r", &expected);
    // A CR that has its LF does not take the next one, wherever the bytes are cut.
    assert_events("\r\n\ndata: a\r\n\ndata: b\r\n\ndata: c\n\ndata: d\r\n\n", &expected);
}
