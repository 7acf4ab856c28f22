//! Heads of requests that mean one thing only.
//!
//! A header that is there twice means one thing to a proxy in front of the gateway and perhaps another to the gateway: who is asked, who
//! asks, or how long the body is. RFC 9112 and 9110 let a server refuse such a request, and demand it for `Host`.

use http::header::{
    AUTHORIZATION, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, HOST, HeaderName,
    TRANSFER_ENCODING,
};
use http::request::Parts;

/// The code of the error.
pub(crate) const AMBIGUOUS: &str = "ambiguous_request";

/// Headers that a request has at most once.
const SINGLE: [HeaderName; 8] = [
    HOST,
    AUTHORIZATION,
    HeaderName::from_static("x-api-key"),
    HeaderName::from_static("x-goog-api-key"),
    CONTENT_LENGTH,
    CONTENT_TYPE,
    CONTENT_ENCODING,
    TRANSFER_ENCODING,
];

/// Checks that nothing that decides about a request is there twice. The error is what the client gets.
pub(crate) fn check(head: &Parts) -> Result<(), String> {
    let headers = &head.headers;
    // Nearly every request has every header once.
    if headers.keys_len() != headers.len() {
        let is_repeated = |name: &&HeaderName| headers.get_all(*name).iter().nth(1).is_some();
        if let Some(name) = SINGLE.iter().find(is_repeated) {
            return Err(format!("the request has the header `{name}` more than once"));
        }
    }
    if let (Some(named), Some(host)) = (head.uri.authority(), headers.get(HOST))
        && !named.as_str().as_bytes().eq_ignore_ascii_case(host.as_bytes())
    {
        let message = "the header `host` and the authority of the URL differ";
        return Err(message.to_owned());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::*;

    fn head(uri: &str, headers: &[(&str, &str)]) -> Parts {
        let mut request = Request::post(uri);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.body(()).unwrap().into_parts().0
    }

    #[test]
    fn headers_that_decide_are_there_once_also_with_the_same_value() {
        for name in SINGLE {
            let name = name.as_str();
            assert!(check(&head("/v1/messages", &[(name, "5")])).is_ok(), "{name}");
            for second in ["5", "6", ""] {
                let refused = check(&head("/", &[(name, "5"), ("via", "a"), (name, second)]));
                assert!(refused.unwrap_err().contains(name), "{name} {second}");
            }
        }
        // Lists may have several lines.
        assert!(check(&head("/", &[("anthropic-beta", "a"), ("anthropic-beta", "b")])).is_ok());
        // Claude Code sends both.
        assert!(check(&head("/", &[("authorization", "Bearer a"), ("x-api-key", "a")])).is_ok());
    }

    #[test]
    fn the_host_is_that_of_the_url_if_both_name_one() {
        for (uri, host, is_right) in [
            ("http://gateway:4180/", "gateway:4180", true),
            ("http://Gateway:4180/", "gateway:4180", true),
            ("/", "gateway:4180", true),
            ("http://gateway:4180/", "evil.example", false),
            ("http://localhost/", "localhost:4181", false),
            ("http://gateway/", "", false),
        ] {
            assert_eq!(check(&head(uri, &[("host", host)])).is_ok(), is_right, "{uri} {host}");
        }
    }
}
