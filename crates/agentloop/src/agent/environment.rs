//! The environment variables of programs that are started for a model.

use std::ffi::{OsStr, OsString};

/// The variables that most programs need. API keys are not among them.
const PASSED_VARIABLES: [&str; 24] = [
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
    // Proxies.
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

/// Returns the environment variables that a program needs and that hold no secrets, such as `PATH`, `HOME`, the language and
/// proxies, for programs that run for a model. A proxy is returned without its user name and password.
///
/// ```
/// let mut command = std::process::Command::new("weather");
/// command.env_clear().envs(agentloop::agent::child_environment());
/// ```
pub fn child_environment() -> impl Iterator<Item = (&'static str, OsString)> {
    PASSED_VARIABLES.iter().filter_map(|name| {
        let value = std::env::var_os(name)?;
        match name.to_ascii_lowercase().as_str() {
            "http_proxy" | "https_proxy" => Some((*name, remove_password(&value)?.into())),
            _ => Some((*name, value)),
        }
    })
}

/// Returns the URL of a proxy without its user name and password; `None` if it is not UTF-8.
fn remove_password(url: &OsStr) -> Option<String> {
    let url = url.to_str()?;
    let (scheme, rest) =
        url.split_once("://").map_or(("", url), |(_, rest)| url.split_at(url.len() - rest.len()));
    // A password may contain any character, so everything up to the last `@` is removed.
    let place = rest.rsplit_once('@').map_or(rest, |(_, place)| place);
    Some(format!("{scheme}{place}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proxy_is_passed_without_its_user_name_and_password() {
        for (url, passed) in [
            ("http://proxy.test:3128", "http://proxy.test:3128"),
            ("http://me:hush@proxy.test:3128/", "http://proxy.test:3128/"),
            ("me:hush@proxy.test:3128", "proxy.test:3128"),
            ("socks5h://me:hu/s@h@proxy.test", "socks5h://proxy.test"),
            ("", ""),
        ] {
            assert_eq!(remove_password(OsStr::new(url)).unwrap(), passed);
        }
    }
}
