use super::*;
use crate::chat::{BatchState, Protocol};

fn provider(form: BatchApi) -> Provider {
    let protocol = match form {
        BatchApi::Messages => Protocol::Anthropic,
        BatchApi::Operation => Protocol::Gemini,
        _ => Protocol::OpenAiChat,
    };
    Provider::compatible(protocol, "p", "http://p.invalid/v1").quirks(|q| q.storage.batches = form)
}

#[test]
fn a_status_is_read_in_every_known_form() {
    let openai = r#"{"id":"batch_1","object":"batch","status":"in_progress","created_at":5,"output_file_id":"o","error_file_id":null,
        "request_counts":{"total":3,"completed":1,"failed":1},"metadata":{"agentloop_batch":"l"}}"#;
    let status = decode(&provider(BatchApi::InputFile), openai.as_bytes()).unwrap();
    assert_eq!((status.id.as_str(), status.state), ("batch_1", BatchState::Running));
    assert_eq!((status.counts.total, status.counts.failed), (Some(3), Some(1)));
    assert_eq!((status.label.as_deref(), status.result_files), (Some("l"), vec!["o".to_owned()]));
    let anthropic = r#"{"id":"msgbatch_1","type":"message_batch","processing_status":"ended","created_at":"2026-11-18T00:00:00Z",
        "request_counts":{"processing":0,"succeeded":0,"errored":0,"canceled":0,"expired":2}}"#;
    let status = decode(&provider(BatchApi::Messages), anthropic.as_bytes()).unwrap();
    assert_eq!((status.state, status.counts.total), (BatchState::Expired, Some(2)));
    let gemini = r#"{"name":"batches/x","metadata":{"state":"BATCH_STATE_SUCCEEDED","displayName":"l","model":"models/m",
        "batchStats":{"requestCount":"2","successfulRequestCount":"2"}},"done":true}"#;
    let status = decode(&provider(BatchApi::Operation), gemini.as_bytes()).unwrap();
    assert_eq!((status.id.as_str(), status.state), ("x", BatchState::Completed));
    assert_eq!((status.counts.succeeded, status.label.as_deref()), (Some(2), Some("l")));
    let file = r#"{"name":"batches/x","metadata":{"state":"BATCH_STATE_SUCCEEDED","inputConfig":{"fileName":"files/in"},
        "output":{"responsesFile":"files/out"}},"response":{"responsesFile":"files/out"}}"#;
    let status = decode(&provider(BatchApi::Operation), file.as_bytes()).unwrap();
    assert_eq!(status.input_file.as_deref(), Some("in"));
    assert_eq!(status.result_files, ["files/out"]);
    let job = r#"{"id":"j","status":"TIMEOUT_EXCEEDED","errors":[{"message":"slow","count":2}],"total_requests":2,"output_file":"o"}"#;
    let status = decode(&provider(BatchApi::Job), job.as_bytes()).unwrap();
    assert_eq!((status.state, status.errors), (BatchState::Expired, vec!["slow".to_owned()]));
}

#[test]
fn every_state_of_an_sdk_is_known_and_one_that_ended_is_final() {
    let read = |status: &str| {
        let json =
            format!(r#"{{"id":"b","name":"b","state":"{status}","status":{{"code":"OK"}}}}"#);
        decode(&provider(BatchApi::Job), json.as_bytes()).unwrap().state
    };
    for (state, words) in [
        (BatchState::Waiting, &["VALIDATING", "QUEUED", "PENDING"][..]),
        (BatchState::Running, &["RUNNING", "IN_PROGRESS", "FINALIZING", "PAUSED", "UPDATING"]),
        (BatchState::Cancelling, &["CANCELLING", "CANCELLATION_REQUESTED", "canceling"]),
        (BatchState::Completed, &["COMPLETED", "SUCCESS", "SUCCEEDED", "PARTIALLY_SUCCEEDED"]),
        (BatchState::Cancelled, &["CANCELLED", "canceled"]),
        (BatchState::Expired, &["EXPIRED", "TIMEOUT_EXCEEDED"]),
        (BatchState::Unknown, &["UNSPECIFIED", "", "NEW", "running forever"]),
    ] {
        for word in words {
            assert_eq!(read(&format!("JOB_STATE_{word}")), state, "{word}");
        }
    }
    // An operation that is done does not change any more, whatever its state is called.
    for (rest, state) in [
        (r#""done":true"#, BatchState::Completed),
        (r#""done":true,"error":{"message":"no"}"#, BatchState::Failed),
        (r#""done":"yes""#, BatchState::Unknown),
    ] {
        let json =
            format!(r#"{{"name":"batches/x","metadata":{{"state":"BATCH_STATE_NEW"}},{rest}}}"#);
        assert_eq!(decode(&provider(BatchApi::Operation), json.as_bytes()).unwrap().state, state);
    }
}

#[test]
fn a_status_of_the_wrong_shape_is_an_error_or_unknown() {
    let provider = provider(BatchApi::InputFile);
    for wrong in ["", "[]", "{}", "3", r#"{"id":7}"#, r#"{"id":""}"#] {
        assert_eq!(decode(&provider, wrong.as_bytes()).unwrap_err().kind(), ErrorKind::Protocol);
    }
    let odd = r#"{"id":"b","status":7,"request_counts":[1],"errors":{"data":"x"},"metadata":3,"output_file_id":{}}"#;
    let status = decode(&provider, odd.as_bytes()).unwrap();
    assert_eq!((status.state, status.result_files.len()), (BatchState::Unknown, 0));
    let long = format!(
        r#"{{"id":"b","status":"failed","errors":[{{"message":"{}"}}]}}"#,
        "ä".repeat(9_999)
    );
    let status = decode(&provider, long.as_bytes()).unwrap();
    assert!(status.errors[0].len() <= 1_000);
    let most = format!(
        r#"{{"id":"b","processing_status":"ended","request_counts":{{"errored":{0},"expired":{0}}}}}"#,
        u64::MAX
    );
    assert_eq!(decode(&provider, most.as_bytes()).unwrap().counts.total, Some(u64::MAX));
}

fn row(form: BatchApi, line: &str) -> (Option<String>, std::result::Result<String, ErrorKind>) {
    let row = read_line(&provider(form), line.as_bytes()).unwrap();
    (row.custom_id, row.body.map(str::to_owned).map_err(|error| error.kind()))
}

#[test]
fn a_line_has_a_body_or_an_error() {
    let id = Some("a".to_owned());
    let file = BatchApi::InputFile;
    let line = r#"{"custom_id":"a","response":{"status_code":200,"body":{"x":1}},"error":null}"#;
    assert_eq!(row(file, line), (id.clone(), Ok(r#"{"x":1}"#.to_owned())));
    let line = r#"{"custom_id":"a","response":{"status_code":429,"body":{"error":{"message":"slow down"}}}}"#;
    assert_eq!(row(file, line), (id.clone(), Err(ErrorKind::RateLimit)));
    let line =
        r#"{"custom_id":"a","response":null,"error":{"code":"batch_expired","message":"late"}}"#;
    assert_eq!(row(file, line), (id.clone(), Err(ErrorKind::Timeout)));
    let line = r#"{"custom_id":"a","response":{"status_code":200}}"#;
    assert_eq!(row(file, line), (id.clone(), Err(ErrorKind::Protocol)));
    // A status of another type, and fields that are not needed, do not cost the response.
    let line = r#"{"custom_id":"a","key":7,"response":{"status_code":"200","body":{"x":1}}}"#;
    assert_eq!(row(file, line), (id.clone(), Ok(r#"{"x":1}"#.to_owned())));
    for status in ["200.5", "[]", "{}", "-1", "99999999", "true"] {
        let line = format!(
            r#"{{"custom_id":"a","response":{{"status_code":{status},"body":{{"x":1}}}}}}"#
        );
        assert_eq!(row(file, &line), (id.clone(), Ok(r#"{"x":1}"#.to_owned())), "{status}");
    }
    let line = r#"{"custom_id":7,"key":"a","response":{"x":1}}"#;
    assert_eq!(row(file, line), (id.clone(), Ok(r#"{"x":1}"#.to_owned())));
    let line = r#"{"custom_id":"a","response":{"choices":[]}}"#;
    assert_eq!(row(file, line), (id.clone(), Ok(r#"{"choices":[]}"#.to_owned())));
    let messages = BatchApi::Messages;
    let line = r#"{"custom_id":"a","result":{"type":"succeeded","message":{"x":1}}}"#;
    assert_eq!(row(messages, line), (id.clone(), Ok(r#"{"x":1}"#.to_owned())));
    let line = r#"{"custom_id":"a","result":{"type":"errored","error":{"type":"error","error":{"type":"invalid_request_error","message":"no"}}}}"#;
    assert_eq!(row(messages, line), (id.clone(), Err(ErrorKind::InvalidRequest)));
    for (kind, expected) in [
        ("canceled", ErrorKind::Cancelled),
        ("expired", ErrorKind::Timeout),
        ("new", ErrorKind::Protocol),
    ] {
        let line = format!(r#"{{"custom_id":"a","result":{{"type":"{kind}"}}}}"#);
        assert_eq!(row(messages, &line), (id.clone(), Err(expected)), "{kind}");
    }
    let operation = BatchApi::Operation;
    let line = r#"{"response":{"candidates":[]},"metadata":{"key":"a"}}"#;
    assert_eq!(row(operation, line), (id.clone(), Ok(r#"{"candidates":[]}"#.to_owned())));
    let line = r#"{"error":{"code":8,"message":"too many"},"metadata":{"key":"a"}}"#;
    assert_eq!(row(operation, line), (id, Err(ErrorKind::RateLimit)));
}

#[test]
fn a_line_that_is_not_a_result_is_an_error_of_the_line() {
    let deep = "[".repeat(100_000);
    for line in
        ["", "x", "[]", "3", "{}", r#"{"custom_id":"a"}"#, r#"{"custom_id":"a","respo"#, &deep]
    {
        let error = read_line(&provider(BatchApi::InputFile), line.as_bytes()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Protocol);
    }
    assert!(read_line(&provider(BatchApi::InputFile), b"{\"custom_id\":\"\xff\"}").is_err());
}

#[test]
fn results_of_an_operation_are_found_in_both_places() {
    let list = r#"{"inlinedResponses":{"inlinedResponses":[{"response":{}},{"error":{}}]}}"#;
    for body in [
        format!(r#"{{"metadata":{{"output":{list}}}}}"#),
        format!(r#"{{"response":{{"output":{list}}},"metadata":{{"output":{list}}}}}"#),
        format!(r#"{{"response":{list}}}"#),
    ] {
        assert_eq!(
            inline_results(body.as_bytes()).unwrap(),
            [r#"{"response":{}}"#, r#"{"error":{}}"#]
        );
    }
    assert!(inline_results(b"{}").unwrap().is_empty());
    assert!(inline_results(b"{\"metadata\":3}").is_err());
}

#[test]
fn requests_of_an_operation_are_inlined_up_to_a_size_and_lines_of_a_file_above() {
    let (provider, path) = (provider(BatchApi::Operation), "/models/m:generateContent");
    let mut request = call(&provider, Method::POST, path.to_owned()).unwrap();
    request.body = Bytes::from(format!(r#"{{"x":"{}"}}"#, "a".repeat(1 << 20)));
    let mut input = Input::new(BatchApi::Operation);
    let mut requests = 0;
    while !input.is_file() {
        input.push(&format!("l-{requests}"), "m", &request).unwrap();
        requests += 1;
    }
    assert_eq!(requests, MAX_OPERATION_BYTES.div_ceil(request.body.len()));
    let upload = input.take_file("l");
    assert_eq!(upload.name, "l.jsonl");
    let lines: Vec<&[u8]> = upload.content.trim_ascii().split(|byte| *byte == b'\n').collect();
    assert_eq!(lines.len(), requests);
    assert!(lines[1].starts_with(br#"{"key":"l-1","request":{"x":"a"#));
    let body =
        inlined("l \"", b"{\"key\":\"a\",\"request\":{\"x\":1}}\n{\"key\":\"b\",\"request\":{}}\n");
    let body: serde_json::Value = serde_json::from_slice(&body.unwrap()).unwrap();
    let requests = json!([
        { "request": { "x": 1 }, "metadata": { "key": "a" } }, { "request": {}, "metadata": { "key": "b" } },
    ]);
    let config = json!({ "requests": { "requests": requests } });
    assert_eq!(body, json!({ "batch": { "displayName": "l \"", "inputConfig": config } }));
}
