//! What a started server sees of our environment.

use std::ffi::{OsStr, OsString};

/// What any program needs. Keys of providers and of others are not among them.
const PASSED_ON: [&str; 24] = [
    "HOME",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "LOGNAME",
    "PATH",
    "SHELL",
    "TERM",
    "TMPDIR",
    "TZ",
    "USER",
    // Where a machine reaches the world only through a proxy.
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "no_proxy",
    // Windows.
    "APPDATA",
    "COMSPEC",
    "LOCALAPPDATA",
    "PATHEXT",
    "SYSTEMROOT",
    "TEMP",
    "USERPROFILE",
];

/// Returns the variables that are passed on. A proxy is passed on without its name and password.
pub(super) fn passed_on() -> impl Iterator<Item = (&'static str, OsString)> {
    PASSED_ON.iter().filter_map(|name| {
        let value = std::env::var_os(name)?;
        match name.to_ascii_lowercase().as_str() {
            "http_proxy" | "https_proxy" => Some((*name, without_password(&value)?.into())),
            _ => Some((*name, value)),
        }
    })
}

/// Returns the URL of a proxy without its name and password, or `None` if it is not text.
fn without_password(url: &OsStr) -> Option<String> {
    let url = url.to_str()?;
    let (scheme, rest) =
        url.split_once("://").map_or(("", url), |(_, rest)| url.split_at(url.len() - rest.len()));
    // A password may hold any character: all up to the last `@` goes.
    let place = rest.rsplit_once('@').map_or(rest, |(_, place)| place);
    Some(format!("{scheme}{place}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proxy_is_passed_on_without_its_name_and_password() {
        for (url, passed) in [
            ("http://proxy.test:3128", "http://proxy.test:3128"),
            ("http://me:hush@proxy.test:3128/", "http://proxy.test:3128/"),
            ("me:hush@proxy.test:3128", "proxy.test:3128"),
            ("socks5h://me:hu/s@h@proxy.test", "socks5h://proxy.test"),
            ("", ""),
        ] {
            assert_eq!(without_password(OsStr::new(url)).unwrap(), passed);
        }
    }
}
