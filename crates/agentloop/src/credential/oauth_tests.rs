use http::HeaderMap;

use super::*;

fn left(body: &str) -> Duration {
    let fetched = read_token(body.as_bytes(), "lab").unwrap();
    fetched.expires.unwrap().duration_since(SystemTime::now()).unwrap()
}

#[test]
fn the_end_of_a_token_is_read_in_every_form() {
    let hour = Duration::from_secs(3599);
    let on = UNIX_EPOCH.elapsed().unwrap().as_secs() + 3600;
    for body in [
        r#"{"access_token":"t","expires_in":3600,"token_type":"Bearer"}"#.to_owned(),
        r#"{"access_token":"t","expires_in":"3600","token_type":"bearer"}"#.to_owned(),
        r#"{"access_token":"t","expires_in":3600.5}"#.to_owned(),
        format!(r#"{{"access_token":"t","expires_on":"{on}"}}"#),
        format!(
            r#"{{"accessToken":"t","expires_on":{on},"expiresOn":"2026-01-01","tokenType":"Bearer"}}"#
        ),
    ] {
        let left = left(&body);
        assert!(
            left > hour - Duration::from_secs(60) && left < hour + Duration::from_secs(60),
            "{body}"
        );
    }
    assert!(left(r#"{"access_token":"t"}"#) <= DEFAULT_TOKEN_LIFETIME);
    // A token does not live for longer than a day, whatever its service claims.
    for huge in ["1e300", "18446744073709551615", "9223372036854775807", "\"99999999999999999999\""]
    {
        for name in ["expires_in", "expires_on"] {
            let body = format!(r#"{{"access_token":"t","{name}":{huge}}}"#);
            assert!(left(&body) <= MAX_TOKEN_LIFETIME, "{body}");
        }
    }
}

#[test]
fn what_is_not_a_token_is_an_error_that_shows_none_of_it() {
    let long = format!(r#"{{"access_token":"{}"}}"#, "SECRET".repeat(MAX_TOKEN_BYTES / 6 + 1));
    let deep = "[".repeat(500) + &"]".repeat(500);
    let deep = format!(r#"{{"access_token":"SECRET","expires_in":{deep}}}"#);
    for body in [
        r#"["SECRET","Bearer"]"#,
        "",
        "<html>",
        "[]",
        "{}",
        "null",
        "\"SECRET\"",
        r#"{"access_token":""}"#,
        r#"{"access_token":null}"#,
        r#"{"access_token":["SECRET"]}"#,
        r#"{"access_token":"SECRET\r\nx-admin: 1"}"#,
        r#"{"access_token":"SECRET\u0000"}"#,
        r#"{"access_token":"SECRET x"}"#,
        r#"{"access_token":"SECRETü"}"#,
        r#"{"access_token":"SECRET","token_type":"pop"}"#,
        r#"{"access_token":"SECRET","expires_in":-1}"#,
        r#"{"access_token":"SECRET","expires_in":0}"#,
        r#"{"access_token":"SECRET","expires_in":"soon"}"#,
        r#"{"access_token":"SECRET","expires_in":"NaN"}"#,
        r#"{"access_token":"SECRET","expires_in":[]}"#,
        r#"{"access_token":"SECRET","expires_on":1}"#,
        r#"{"access_token":"SECRET","access_token":"SECRET"}"#,
        &long,
        &deep,
    ] {
        let error = read_token(body.as_bytes(), "lab").err().unwrap_or_else(|| panic!("{body}"));
        assert_eq!(error.kind(), ErrorKind::Auth);
        assert!(!format!("{error:?} {error}").contains("SECRET"), "{error}");
    }
    assert!(read_token(b"\xff\xfe", "lab").is_err());
}

fn refused(status: u16, body: &str) -> Error {
    let body = bytes::Bytes::copy_from_slice(body.as_bytes());
    refusal("lab", &Responded { status, headers: HeaderMap::new(), body })
}

#[test]
fn a_refusal_shows_codes_and_not_what_was_sent() {
    let body = r#"{"error":"invalid_client","error_description":"AADSTS7000215: Invalid client secret SECRET"}"#;
    let error = refused(401, body);
    assert!(error.message().ends_with("invalid_client (AADSTS7000215)"), "{error}");
    assert!(!error.is_retryable() && !format!("{error:?}").contains("SECRET"));
    for body in [
        r#"{"error":"SECRET \n","error_description":"SECRET"}"#,
        r#"{"error":{"message":"SECRET"}}"#,
        r#"{"error":"invalid_grant","error_description":"AADSTS SECRET"}"#,
        "SECRET",
        "",
    ] {
        let error = refused(400, body);
        assert_eq!(error.kind(), ErrorKind::Auth);
        assert!(!format!("{error:?} {error}").contains("SECRET"), "{error}");
    }
    assert!(refused(503, "").is_retryable() && refused(429, "{}").is_retryable());
    assert!(refused(400, r#"{"error":"temporarily_unavailable"}"#).is_retryable());
    // A redirect is not followed.
    assert!(refused(302, "").message().contains("302"));
}

#[test]
fn a_secret_is_sent_encrypted_or_within_this_machine() {
    for url in [
        "https://oauth2.googleapis.com/token",
        "http://127.0.0.1:99/t",
        "http://[::1]/",
        "http://localhost/x",
    ] {
        assert!(crate::credential::service::check_url(url, "it").is_ok(), "{url}");
    }
    for url in [
        "http://oauth2.googleapis.com/token",
        "ftp://127.0.0.1/",
        "//x",
        "x",
        "",
        "https://",
        "https://user:p@x.test/",
        "http://127.0.0.1@evil.test/",
        "http://localhost.evil.test/",
        "file:///etc/passwd",
    ] {
        assert_eq!(
            crate::credential::service::check_url(url, "it").unwrap_err().kind(),
            ErrorKind::Config,
            "{url}"
        );
    }
}
