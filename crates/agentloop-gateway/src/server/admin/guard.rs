//! Who may use the admin listener.
//!
//! A web page of another site must not read or change anything, also if the listener has no token because only this machine
//! can reach it: browsers of this machine run foreign pages. `Origin` and `Sec-Fetch-Site` name the site of a page. A page
//! whose name was made to point to this machine (DNS rebinding) is its own site, and is recognised by `Host`.

use std::net::IpAddr;

use http::StatusCode;
use http::header::{HOST, ORIGIN};
use http::request::Parts;
use http::uri::Authority;

use super::reply::{Problem, problem};

/// Returns what the client calls this server: the header `Host`, or the authority of HTTP/2.
fn authority(head: &Parts) -> Option<Authority> {
    let header = head.headers.get(HOST).and_then(|value| value.to_str().ok());
    match header {
        Some(text) => text.parse().ok(),
        None => head.uri.authority().cloned(),
    }
}

/// Checks that a listener for this machine only is called by a name of this machine.
pub(super) fn check_host(is_loopback: bool, head: &Parts) -> Result<(), Problem> {
    if !is_loopback || authority(head).is_some_and(|name| is_local(name.host())) {
        return Ok(());
    }
    let message = "this listener is for this machine only, so it must be called localhost or by a loopback address; a proxy in front of it must set `Host: localhost`";
    Err(problem(StatusCode::MISDIRECTED_REQUEST, "wrong_host", message))
}

/// Returns whether a name or an address means this machine, for every resolver.
fn is_local(host: &str) -> bool {
    let bare = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(host);
    match bare.parse::<IpAddr>() {
        Ok(address) => address.is_loopback(),
        Err(_) => bare.eq_ignore_ascii_case("localhost"),
    }
}

/// Refuses requests of other web sites.
pub(super) fn check_site(head: &Parts) -> Result<(), Problem> {
    let refused = || {
        let message = "requests from other web sites are refused";
        Err(problem(StatusCode::FORBIDDEN, "foreign_site", message))
    };
    for site in head.headers.get_all("sec-fetch-site") {
        // `same-site` is another port of this machine, which may be anybody's.
        if !matches!(site.as_bytes(), b"same-origin" | b"none") {
            return refused();
        }
    }
    for origin in head.headers.get_all(ORIGIN) {
        let named = origin.to_str().ok().and_then(|text| text.split_once("://"));
        let named = named.and_then(|(_, rest)| rest.parse::<Authority>().ok());
        let is_own = match (named, authority(head)) {
            (Some(named), Some(own)) => named == own,
            _ => false,
        };
        if !is_own {
            return refused();
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::*;

    fn head(headers: &[(&str, &str)]) -> Parts {
        let mut request = Request::get("/api/overview");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.body(()).unwrap().into_parts().0
    }

    #[test]
    fn a_listener_of_this_machine_is_called_by_a_name_of_this_machine() {
        for host in ["localhost", "LOCALHOST:4181", "127.0.0.1:4181", "127.9.9.9", "[::1]:4181"] {
            assert!(check_host(true, &head(&[("host", host)])).is_ok(), "{host}");
        }
        for host in [
            "evil.example",
            "evil.example:4181",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "10.0.0.1",
            "0.0.0.0",
            "[::]",
            "localhost@evil.example",
            "",
            "a b",
        ] {
            let refused = check_host(true, &head(&[("host", host)])).unwrap_err();
            assert_eq!(refused.status, StatusCode::MISDIRECTED_REQUEST, "{host}");
            assert!(check_host(false, &head(&[("host", host)])).is_ok(), "{host}");
        }
        assert!(check_host(true, &head(&[])).is_err());
        // HTTP/2 has the name in the URI.
        let request = Request::get("http://localhost:4181/api/overview").body(()).unwrap();
        assert!(check_host(true, &request.into_parts().0).is_ok());
    }

    #[test]
    fn requests_of_other_sites_are_refused() {
        let own = ("host", "localhost:4181");
        for headers in [
            vec![own],
            vec![own, ("origin", "http://localhost:4181")],
            vec![own, ("sec-fetch-site", "same-origin")],
            vec![own, ("sec-fetch-site", "none")],
        ] {
            assert!(check_site(&head(&headers)).is_ok(), "{headers:?}");
        }
        for other in [
            ("origin", "https://evil.example"),
            ("origin", "http://localhost:3000"),
            ("origin", "http://127.0.0.1:4181"),
            ("origin", "null"),
            ("origin", ""),
            ("sec-fetch-site", "cross-site"),
            ("sec-fetch-site", "same-site"),
            ("sec-fetch-site", "Same-Origin "),
        ] {
            assert!(check_site(&head(&[own, other])).is_err(), "{other:?}");
        }
        let twice = [own, ("sec-fetch-site", "same-origin"), ("sec-fetch-site", "cross-site")];
        assert!(check_site(&head(&twice)).is_err());
    }
}
