//! Words that requests are marked with.

use agentloop::Error;
use http::{HeaderMap, HeaderName, StatusCode};

use crate::call::own;
use crate::store::{MAX_NAME_BYTES, MAX_TAGS, is_tag};

/// The header in which a client marks a request.
pub(crate) const TAGS: HeaderName = HeaderName::from_static("x-agentloop-tags");

/// Returns the tags of a request: those of its key, and at most [`MAX_TAGS`] that the client sends.
///
/// # Errors
///
/// When there are too many, or one is not a word.
pub(crate) fn read(of_key: &[String], headers: &HeaderMap) -> Result<Vec<String>, Error> {
    let mut tags = of_key.to_vec();
    let mut count = 0;
    for value in headers.get_all(TAGS) {
        let words = value.to_str().unwrap_or("\u{fffd}").split(',').map(str::trim);
        for word in words.filter(|word| !word.is_empty()) {
            count += 1;
            if !is_tag(word) || count > MAX_TAGS {
                let message = format!(
                    "`{TAGS}` has at most {MAX_TAGS} words, separated by commas, each with at most {MAX_NAME_BYTES} letters, digits, `.`, `_`, `:` or `-`"
                );
                return Err(own(StatusCode::BAD_REQUEST, "invalid_tags", message));
            }
            if !tags.iter().any(|tag| tag == word) {
                tags.push(word.to_owned());
            }
        }
    }
    Ok(tags)
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn read_text(text: &[u8]) -> Result<Vec<String>, Error> {
        let mut headers = HeaderMap::new();
        headers.insert(TAGS, HeaderValue::from_bytes(text).unwrap());
        read(&["web".to_owned()], &headers)
    }

    #[test]
    fn tags_of_key_and_client_are_joined() {
        assert_eq!(read_text(b"a, b:2 ,web,,a").unwrap(), ["web", "a", "b:2"]);
        assert_eq!(read(&[], &HeaderMap::new()).unwrap(), [""; 0]);
    }

    #[test]
    fn hostile_tags_are_refused() {
        let long = "x".repeat(MAX_NAME_BYTES + 1);
        let many = "a,".repeat(MAX_TAGS + 1);
        for text in [long.as_bytes(), many.as_bytes(), b"a b", b"a\xff", b"<script>", b"a;b", b"=1"]
        {
            let error = read_text(text).unwrap_err();
            assert_eq!((error.status(), error.code()), (Some(400), Some("invalid_tags")));
        }
        let mut headers = HeaderMap::new();
        for number in 0..=MAX_TAGS {
            headers.append(TAGS, HeaderValue::from_str(&format!("t{number}")).unwrap());
        }
        assert!(read(&[], &headers).is_err(), "several headers are one list");
    }
}
