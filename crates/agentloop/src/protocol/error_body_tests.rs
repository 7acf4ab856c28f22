use super::*;
use crate::error::ErrorKind;

fn message(body: &str) -> String {
    of_status("p", 400, &HeaderMap::new(), body.as_bytes()).message().to_owned()
}

#[test]
fn the_message_is_found_in_every_known_body() {
    for (body, expected) in [
        (r#"{"error":{"message":"m"}}"#, "m"),
        (r#"{"error":"m"}"#, "m"),
        (r#"{"code":"c","error":"m"}"#, "m"),
        (r#"{"message":"m"}"#, "m"),
        (r#"{"id":"1","message":"m"}"#, "m"),
        (
            r#"{"object":"error","message":{"detail":[{"type":"t","loc":["body","x"],"msg":"m"}]}}"#,
            "body.x: m",
        ),
        (r#"{"detail":"m"}"#, "m"),
        (
            r#"{"detail":[{"loc":["body","messages",0],"msg":"m"},{"msg":"n"}]}"#,
            "body.messages.0: m; n",
        ),
        (r#"[{"error":{"message":"m"}}]"#, "m"),
        (r#"{"errors":[{"message":"m"},"n"]}"#, "m; n"),
        (r#"{"errors":["m"]}"#, "m"),
        ("plain words", "plain words"),
        ("<html><body>oops</body></html>", "Bad Request"),
        ("", "Bad Request"),
        ("{}", "Bad Request"),
        ("null", "Bad Request"),
        (r#""""#, "Bad Request"),
        (r#"" ""#, "Bad Request"),
    ] {
        assert_eq!(message(body), expected, "{body}");
    }
}

#[test]
fn the_raw_body_is_kept() {
    let error = of_status("p", 502, &HeaderMap::new(), b"<html>bad gateway</html>");
    assert_eq!(error.raw(), Some("<html>bad gateway</html>"));
    assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::Server, true));
}

#[test]
fn statuses_and_codes_determine_the_kind() {
    for (status, body, kind, retryable) in [
        (401, "{}", ErrorKind::Auth, false),
        (402, "{}", ErrorKind::Quota, false),
        (404, "{}", ErrorKind::NotFound, false),
        (408, "{}", ErrorKind::Timeout, true),
        (409, "{}", ErrorKind::Conflict, true),
        (422, "{}", ErrorKind::InvalidRequest, false),
        (429, "{}", ErrorKind::RateLimit, true),
        (429, r#"{"error":{"message":"m","code":"insufficient_quota"}}"#, ErrorKind::Quota, false),
        (500, "{}", ErrorKind::Server, true),
        (503, "{}", ErrorKind::Overloaded, true),
        (529, "{}", ErrorKind::Overloaded, true),
        (
            400,
            r#"{"error":{"code":"context_length_exceeded","message":"m"}}"#,
            ErrorKind::ContextLength,
            false,
        ),
        (
            400,
            r#"{"error":{"code":"content_filter","message":"m"}}"#,
            ErrorKind::ContentFilter,
            false,
        ),
        (400, r#"{"code":"x","error":"Incorrect API key provided"}"#, ErrorKind::Auth, false),
        (
            400,
            r#"{"StatusCode":400,"error":"prompt too long; exceeded max context length by 4 tokens"}"#,
            ErrorKind::ContextLength,
            false,
        ),
        (
            400,
            r#"{"error":{"message":"m","type":"too_many_prompt_tokens","code":400}}"#,
            ErrorKind::ContextLength,
            false,
        ),
        (400, r#"{"error":{"message":"m","code":"model_not_found"}}"#, ErrorKind::NotFound, false),
        (
            403,
            r#"{"code":"permission-denied","error":"Content violates usage guidelines. Team: 1"}"#,
            ErrorKind::ContentFilter,
            false,
        ),
        (
            403,
            r#"{"code":"permission-denied","error":"Your team 1 has either used all available credits or reached its monthly spending limit."}"#,
            ErrorKind::Quota,
            false,
        ),
        (
            429,
            r#"{"type":"error","error":{"type":"rate_limit_error","message":"m","details":{"error_code":"enforced_spend_limit_reached"}}}"#,
            ErrorKind::Quota,
            false,
        ),
        (
            400,
            r#"{"error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the API."}}"#,
            ErrorKind::Quota,
            false,
        ),
        (
            400,
            r#"{"error":{"type":"invalid_request_error","message":"You have reached your specified API usage limits."}}"#,
            ErrorKind::Quota,
            false,
        ),
        (400, r#"{"error":{"message":"m","code":"blocked_api_access"}}"#, ErrorKind::Quota, false),
        // Too large in bytes is not too long for the model.
        (413, "<html>413 Request Entity Too Large</html>", ErrorKind::InvalidRequest, false),
        (
            413,
            r#"{"error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}"#,
            ErrorKind::InvalidRequest,
            false,
        ),
        (
            413,
            r#"{"error":{"message":"Request too large for model `m` on tokens per minute (TPM): Limit 6000, Requested 10000","type":"tokens","code":"rate_limit_exceeded"}}"#,
            ErrorKind::ContextLength,
            false,
        ),
        // At 429 the same words are about a rate.
        (429, r#"{"error":{"message":"too many tokens per minute"}}"#, ErrorKind::RateLimit, true),
        // A local server that calls it its own failure.
        (
            500,
            r#"{"error":{"message":"the request exceeds the available context size"}}"#,
            ErrorKind::ContextLength,
            false,
        ),
        (
            404,
            r#"{"error":{"message":"No endpoints found that support image input"}}"#,
            ErrorKind::InvalidRequest,
            false,
        ),
        (498, r#"{"message":"capacity exceeded"}"#, ErrorKind::Overloaded, true),
        (498, r#"{"message":"invalid token"}"#, ErrorKind::Auth, false),
    ] {
        let error = of_status("p", status, &HeaderMap::new(), body.as_bytes());
        assert_eq!((error.kind(), error.is_retryable()), (kind, retryable), "{status} {body}");
    }
}

#[test]
fn the_server_s_own_word_on_retries_wins() {
    let headers = HeaderMap::from_iter([(
        http::HeaderName::from_static("x-should-retry"),
        "false".parse().unwrap(),
    )]);
    assert!(!of_status("p", 500, &headers, b"{}").is_retryable());
}

#[test]
fn a_lack_of_credit_is_never_retryable() {
    let headers = HeaderMap::from_iter([(
        http::HeaderName::from_static("x-should-retry"),
        "true".parse().unwrap(),
    )]);
    assert!(!of_status("p", 402, &headers, b"{}").is_retryable());
    assert!(of_status("p", 400, &headers, b"{}").is_retryable());
}

#[test]
fn the_cause_behind_a_router_s_error_gives_its_message_and_its_kind() {
    let raw = |status: u16, raw: &str| {
        let metadata = serde_json::json!({ "provider_name": "Up", "raw": raw });
        let error = serde_json::json!({ "code": status, "message": "Provider returned error",
                                        "metadata": metadata });
        let body = serde_json::json!({ "error": error }).to_string();
        of_status("p", status, &HeaderMap::new(), body.as_bytes())
    };
    let deep = serde_json::json!({ "error": { "message":
        r#"{"error":{"message":"This model's maximum context length is 8192 tokens"}}"# } });
    for (status, cause, kind, message) in [
        (
            400,
            r#"{"error":{"message":"prompt is too long: 9 tokens > 8 maximum","type":"invalid_request_error"}}"#,
            ErrorKind::ContextLength,
            "Provider returned error (Up): prompt is too long: 9 tokens > 8 maximum",
        ),
        (
            403,
            r#"{"code":"The caller does not have permission","error":"Content violates usage guidelines."}"#,
            ErrorKind::ContentFilter,
            "Provider returned error (Up): Content violates usage guidelines.",
        ),
        (
            502,
            r#"{"errors":[{"message":"AiError: Internal server error","code":3043}],"success":false}"#,
            ErrorKind::Server,
            "Provider returned error (Up): AiError: Internal server error",
        ),
        (
            400,
            &deep.to_string(),
            ErrorKind::ContextLength,
            "Provider returned error (Up): This model's maximum context length is 8192 tokens",
        ),
        (429, "out of words", ErrorKind::RateLimit, "Provider returned error (Up): out of words"),
        (400, "", ErrorKind::InvalidRequest, "Provider returned error"),
    ] {
        let error = raw(status, cause);
        assert_eq!((error.kind(), error.message()), (kind, message), "{cause}");
    }
    let moderated = br#"{"error":{"code":403,"message":"Input blocked","metadata":{"reasons":["violence"],"flagged_input":"x"}}}"#;
    let error = of_status("p", 403, &HeaderMap::new(), moderated);
    assert_eq!(error.kind(), ErrorKind::ContentFilter);
    let inner = br#"{"error":{"code":"BadRequest","message":"m","innererror":{"code":"ResponsibleAIPolicyViolation"}}}"#;
    assert_eq!(of_status("p", 400, &HeaderMap::new(), inner).kind(), ErrorKind::ContentFilter);
}

#[test]
fn causes_inside_of_causes_are_followed_a_bounded_number_of_times() {
    let mut cause = r#"{"error":{"message":"deep"}}"#.to_owned();
    for _ in 0..12 {
        cause = serde_json::json!({ "error": { "metadata": { "raw": cause } } }).to_string();
    }
    let error = of_status("p", 400, &HeaderMap::new(), cause.as_bytes());
    assert_eq!((error.kind(), error.status()), (ErrorKind::InvalidRequest, Some(400)));
    let wide = serde_json::json!({ "error": { "message": "m", "details": vec![serde_json::json!({ "reason": "r" }); 10_000] } });
    assert_eq!(of_status("p", 400, &HeaderMap::new(), wide.to_string().as_bytes()).message(), "m");
}

#[test]
fn the_parameter_that_an_error_is_about_is_kept() {
    for (body, param) in [
        (r#"{"error":{"message":"m","param":"temperature"}}"#, Some("temperature")),
        (r#"{"object":"error","message":"m","param":"n"}"#, Some("n")),
        (r#"{"error":{"message":"m","param":null}}"#, None),
        (r#"{"error":{"message":"m","param":""}}"#, None),
        (
            r#"{"error":{"message":"m","details":[{"fieldViolations":[{"field":"contents"}]}]}}"#,
            Some("contents"),
        ),
    ] {
        assert_eq!(
            of_status("p", 400, &HeaderMap::new(), body.as_bytes()).param(),
            param,
            "{body}"
        );
    }
}

#[test]
fn an_error_inside_a_200_has_the_status_that_it_names_or_means() {
    for (body, status) in [
        (r#"{"error":{"message":"m","code":402}}"#, Some(402)),
        (r#"{"error":{"message":"m","status_code":400}}"#, Some(400)),
        (r#"{"error":{"message":"m","type":"overloaded_error"}}"#, Some(529)),
        (r#"{"error":{"message":"m","code":"rate_limit_exceeded"}}"#, Some(429)),
        (r#"{"error":"m"}"#, None),
    ] {
        assert_eq!(in_body("p", body.as_bytes()).status(), status, "{body}");
    }
}
