//! What a started server sees of our environment.

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

/// Those of ours that are passed on.
pub(super) fn passed_on() -> impl Iterator<Item = (&'static str, std::ffi::OsString)> {
    PASSED_ON.iter().filter_map(|name| Some((*name, std::env::var_os(name)?)))
}
