//! The URL of a database.

use std::time::Duration;

use agentloop::{Error, ErrorKind, Result, Secret};
use tokio_postgres::Config;
use tokio_postgres::config::Host;
use tokio_postgres_rustls::MakeRustlsConnect;

use super::tls::{self, Trust};

/// How long the connection to one of several servers may take, unless the URL has `connect_timeout`. It is shorter than the
/// deadline, so that the next server gets its turn.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);

/// Options of libpq that an error may name, because they cannot be a part of a password.
const UNSUPPORTED: [&str; 14] = [
    "gssencmode",
    "gsslib",
    "krbsrvname",
    "passfile",
    "replication",
    "require_auth",
    "requirepeer",
    "service",
    "sslcert",
    "sslcompression",
    "sslcrl",
    "sslkey",
    "sslpassword",
    "sslsni",
];

/// A database, and how connections to it are made.
pub(super) struct Target {
    pub(super) config: Config,
    pub(super) tls: MakeRustlsConnect,
}

impl Target {
    /// Reads a URL. Errors do not contain any part of it.
    pub(super) fn parse(url: &Secret) -> Result<Self> {
        let url = url.expose().trim();
        if !["postgres://", "postgresql://"].iter().any(|scheme| url.starts_with(scheme)) {
            return Err(wrong("it does not begin with postgres://"));
        }
        // A password may contain `?`.
        let credentials = url.find('@').unwrap_or_default();
        let query = url[credentials..].find('?').map(|at| credentials + at);
        let (base, query) = match query {
            Some(at) => (&url[..at], &url[at + 1..]),
            None => (url, ""),
        };
        let mut is_verified = false;
        let mut roots = None;
        let mut rest = String::new();
        for option in query.split('&').filter(|option| !option.is_empty()) {
            let (name, value) = option.split_once('=').unwrap_or((option, ""));
            let kept = match (name, value) {
                ("sslrootcert", "system") => continue,
                ("sslrootcert", path) => {
                    let path = decode(path).ok_or_else(|| wrong("sslrootcert is not UTF-8"))?;
                    roots = Some(path);
                    continue;
                }
                // `require` of libpq checks nothing unless there is a file of certificates. Here it always checks.
                ("sslmode", "require" | "verify-ca" | "verify-full") => {
                    is_verified = true;
                    "sslmode=require"
                }
                ("sslmode", "allow") => "sslmode=prefer",
                ("sslmode", "disable" | "prefer") => option,
                ("sslmode", _) => {
                    return Err(wrong("sslmode must be disable, prefer, require or verify-full"));
                }
                (name, _) if UNSUPPORTED.contains(&name) => {
                    return Err(wrong(&format!("the option {name} is not supported")));
                }
                _ => option,
            };
            rest.push(if rest.is_empty() { '?' } else { '&' });
            rest.push_str(kept);
        }
        let config = format!("{base}{rest}").parse::<Config>();
        let mut config = config.map_err(|_| wrong("a part of it cannot be read"))?;
        check(&config)?;
        if config.get_application_name().is_none() {
            config.application_name("agentloop");
        }
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(CONNECT_TIMEOUT);
        }
        let trust = match roots {
            Some(path) => Trust::File(path),
            None if is_verified => Trust::Public,
            None => Trust::Anything,
        };
        Ok(Self { config, tls: tls::connector(&trust)? })
    }
}

/// Checks what would only be noticed, or shown, by a connection.
fn check(config: &Config) -> Result<()> {
    if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
        return Err(wrong("it names no server"));
    }
    // `@` in a password makes the rest of it a part of the host, which errors of TLS show.
    let is_strange = |host: &Host| match host {
        Host::Tcp(host) => {
            !host.chars().all(|c| c.is_alphanumeric() || matches!(c, '.' | '-' | '_' | ':' | '%'))
        }
        #[cfg(unix)]
        Host::Unix(_) => false,
    };
    if config.get_hosts().iter().any(is_strange) {
        return Err(wrong("the name of the server has a character that no name has"));
    }
    Ok(())
}

fn wrong(why: &str) -> Error {
    let message = format!("the URL of the PostgreSQL database cannot be used: {why}");
    Error::new(ErrorKind::Config, message).with_hint(
        "write it as postgres://USER:PASSWORD@HOST/DATABASE?sslmode=require, with @ / ? : and % in a password as %40 %2F %3F %3A %25",
    )
}

fn decode(text: &str) -> Option<String> {
    let decoded = percent_encoding::percent_decode_str(text).decode_utf8();
    decoded.ok().map(std::borrow::Cow::into_owned)
}

#[cfg(test)]
mod tests {
    use tokio_postgres::config::SslMode;

    use super::*;

    fn read(url: &str) -> Result<Target> {
        Target::parse(&Secret::new(url))
    }

    #[test]
    fn options_of_tls_are_read_from_the_url() {
        for (url, mode) in [
            ("postgres://u:p@h/d", SslMode::Prefer),
            ("postgresql://u:p@h:1/d?sslmode=disable", SslMode::Disable),
            ("postgres://u:p?q@h/d?sslmode=allow&connect_timeout=1", SslMode::Prefer),
            ("postgres://u:p@h/d?sslmode=require", SslMode::Require),
            ("postgres://u:p@h/d?connect_timeout=9&sslmode=verify-full", SslMode::Require),
            ("postgres://u:p@h/d?sslmode=verify-ca&sslrootcert=system", SslMode::Require),
        ] {
            assert_eq!(
                read(url).unwrap_or_else(|e| panic!("{url}: {e}")).config.get_ssl_mode(),
                mode
            );
        }
        let target = read("postgres://u:p%40q@h/d").unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(target.config.get_password(), Some(&b"p@q"[..]));
        assert_eq!(target.config.get_application_name(), Some("agentloop"));
        assert_eq!(decode("%2Ftmp/a%20b%zz%4"), Some("/tmp/a b%zz%4".to_owned()));
    }

    #[test]
    fn errors_of_a_url_show_nothing_of_it() {
        for url in [
            "",
            "hunter2",
            "mysql://hunter2@h/d",
            "postgres://",
            "postgres://u:hunter2",
            "postgres://u:hunter2@",
            "postgres://u:pass@hunter2@h/d",
            "postgres://u:p@h:hunter2/d",
            "postgres://u:p@h/d?hunter2=1",
            "postgres://u:p@h/d?hunter2",
            "postgres://u:p@h/d?sslmode=hunter2",
            "postgres://u:p@h/d?sslkey=hunter2",
            "postgres://u:p@h/d?connect_timeout=hunter2",
            "postgres://u:p@h/%ff?hunter2=%ff",
            "postgres://u:p@h/d?sslrootcert=%ff",
        ] {
            let Err(error) = read(url) else { panic!("{url} is accepted") };
            assert_eq!(error.kind(), ErrorKind::Config);
            assert!(!format!("{error:?} {error:#?}").contains("hunter2"), "{error:?}");
        }
    }

    #[test]
    fn a_file_of_certificates_must_have_some() {
        let error = read("postgres://u:p@h/d?sslrootcert=%2Fno%2Fsuch").err();
        assert!(error.is_some_and(|error| error.to_string().contains("/no/such")));
        let folder = crate::servers::folder::Folder::new();
        let path = folder.write("roots.pem", "nothing");
        let error = read(&format!("postgres://u:p@h/d?sslrootcert={}", path.display())).err();
        assert!(error.is_some_and(|error| error.to_string().contains("no certificate")));
    }
}
