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
fn statuses_and_codes_say_what_can_be_done() {
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
fn an_error_inside_a_200_has_the_status_that_it_names_or_means() {
    for (body, status) in [
        (r#"{"error":{"message":"m","code":402}}"#, Some(402)),
        (r#"{"error":{"message":"m","status_code":400}}"#, Some(400)),
        (r#"{"error":{"message":"m","type":"overloaded_error"}}"#, Some(529)),
        (r#"{"error":{"message":"m","code":"rate_limit_exceeded"}}"#, Some(429)),
        (r#"{"error":"m"}"#, None),
    ] {
        assert_eq!(in_answer("p", body.as_bytes()).status(), status, "{body}");
    }
}
