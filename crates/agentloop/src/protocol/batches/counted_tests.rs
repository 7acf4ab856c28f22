//! Batches with counts instead of a state, whose results are pages (xAI).

use super::*;
use crate::chat::BatchState;

fn provider() -> Provider {
    Provider::openai_compatible("p", "http://p.invalid/v1")
        .quirks(|q| q.storage.batches = BatchApi::CountedFile)
}

fn status(fields: &str) -> crate::chat::BatchStatus {
    let body = format!(r#"{{"batch_id":"batch_1","name":"l",{fields}}}"#);
    decode(&provider(), body.as_bytes()).unwrap()
}

#[test]
fn the_counts_show_the_state() {
    let state = |counts: &str| status(&format!(r#""state":{counts}"#)).state;
    let running = r#"{"num_requests":3,"num_pending":1,"num_success":2}"#;
    assert_eq!(state("{}"), BatchState::Waiting);
    assert_eq!(state(running), BatchState::Running);
    assert_eq!(state(r#"{"num_requests":3,"num_success":2,"num_error":1}"#), BatchState::Completed);
    let cancelled = status(&format!(r#""state":{running},"cancel_time":"2026-11-18""#));
    assert_eq!((cancelled.state, cancelled.errors.len()), (BatchState::Cancelled, 0));
    let refused = status(r#""state":{},"cancel_time":"2026-11-18","cancel_by_xai_message":"bad""#);
    assert_eq!((refused.state, refused.errors), (BatchState::Failed, vec!["bad".to_owned()]));
    let known = status(
        r#""state":{"num_requests":"4","num_success":1,"num_error":1,"num_cancelled":2},"create_time":"2026-11-18T00:00:00Z","input_file_id":"f""#,
    );
    assert_eq!((known.id.as_str(), known.label.as_deref()), ("batch_1", Some("l")));
    let counts = (known.counts.total, known.counts.succeeded, known.counts.failed);
    assert_eq!(counts, (Some(4), Some(1), Some(3)));
    assert_eq!((known.created, known.input_file.as_deref()), (Some(1_794_960_000), Some("f")));
}

#[test]
fn counts_that_cannot_be_added_or_read_do_no_harm() {
    let most = u64::MAX;
    let counts =
        format!(r#""state":{{"num_requests":1,"num_error":{most},"num_cancelled":{most}}}"#);
    assert_eq!(status(&counts).counts.failed, Some(most));
    let odd = status(r#""state":{"num_requests":[],"num_pending":-1},"cancel_by_xai_message":7"#);
    assert_eq!((odd.state, odd.counts.total), (BatchState::Waiting, None));
    assert_eq!(status(r#""state":"new""#).state, BatchState::Unknown);
}

#[test]
fn a_result_is_in_a_field_that_its_endpoint_names() {
    let read = |result: &str| {
        let line = format!(r#"{{"batch_request_id":"a","batch_result":{result}}}"#);
        let provider = provider();
        let row = read_line(&provider, line.as_bytes()).unwrap();
        assert_eq!(row.custom_id.as_deref(), Some("a"));
        row.body.map(str::to_owned).map_err(|error| error.kind())
    };
    let body = Ok(r#"{"x":1}"#.to_owned());
    assert_eq!(read(r#"{"response":{"chat_get_completion":{"x":1}}}"#), body);
    assert_eq!(read(r#"{"response":{"image_generation":null,"responses":{"x":1}}}"#), body);
    assert_eq!(read(r#"{"error":{"code":8,"message":"slow"}}"#), Err(ErrorKind::RateLimit));
    assert_eq!(read(r#"{"response":null,"error":{"code":3}}"#), Err(ErrorKind::InvalidRequest));
    for nothing in ["{}", r#"{"response":{}}"#, r#"{"response":[1]}"#, r#"{"response":"x"}"#] {
        assert_eq!(read(nothing), Err(ErrorKind::Protocol), "{nothing}");
    }
}

#[test]
fn a_page_names_the_next_one_unless_it_is_empty() {
    let page = |body: &str| {
        let provider = provider();
        let (results, next) = read_page(&provider, body.as_bytes())?;
        Ok::<_, Error>((results.len(), next))
    };
    let next = Some("?limit=100&pagination_token=a%26b".to_owned());
    assert_eq!(page(r#"{"results":[{},3],"pagination_token":"a&b"}"#).unwrap(), (2, next));
    assert_eq!(page(r#"{"results":[],"pagination_token":"a"}"#).unwrap(), (0, None));
    assert_eq!(page(r#"{"results":[{}],"pagination_token":null}"#).unwrap(), (1, None));
    assert_eq!(page("{}").unwrap(), (0, None));
    for wrong in ["", "3", r#"{"results":3}"#, r#"{"results":[{}"#] {
        assert_eq!(page(wrong).unwrap_err().kind(), ErrorKind::Protocol, "{wrong}");
    }
    let failed = page(r#"{"error":{"message":"no","code":"invalid_api_key"}}"#).unwrap_err();
    assert!(failed.message().contains("no"), "{failed}");
}
