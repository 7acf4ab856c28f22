//! TLS and the trusted certificates.

use std::ffi::OsStr;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio_rustls::TlsConnector;

use super::fault;
use super::io::Io;
use super::origin::Origin;
use crate::error::{Error, ErrorKind, Result};
use crate::limits::MAX_CONFIG_FILE_BYTES;
use crate::regular_file::read_regular;

/// The variable that names a file of further trusted certificates, in PEM.
const CERTIFICATE_FILE: &str = "SSL_CERT_FILE";

/// The variable that adds the certificates of the operating system: `1`, `true` or `yes`.
const NATIVE_ROOTS: &str = "AGENTLOOP_NATIVE_ROOTS";

/// The TLS settings of a transport. They are built once, with the first `https` request: the trust store takes some milliseconds, which a
/// program that only uses a local server should not need.
#[derive(Default)]
pub(super) struct Tls {
    added: Vec<CertificateDer<'static>>,
    /// Whether the certificates of the operating system are trusted, whatever the environment says.
    is_native: bool,
    built: OnceLock<Result<Configs>>,
}

#[derive(Clone)]
struct Configs {
    /// Offers HTTP/2 and HTTP/1.1.
    host: Arc<ClientConfig>,
    /// Offers HTTP/1.1 only, for the `CONNECT` request of a proxy.
    proxy: Arc<ClientConfig>,
}

impl Tls {
    /// Trusts these authorities, the public ones, those of `SSL_CERT_FILE`, and on request those of the operating system.
    pub(super) fn new(added: Vec<CertificateDer<'static>>, is_native: bool) -> Self {
        Self { added, is_native, built: OnceLock::new() }
    }

    /// Starts TLS over `io` with the host of `origin`.
    pub(super) async fn connect(&self, origin: &Origin, io: Io, is_proxy: bool) -> Result<Io> {
        let configs = self.built.get_or_init(|| self.build()).clone()?;
        let config = if is_proxy { configs.proxy } else { configs.host };
        let name = ServerName::try_from(origin.bare_host().to_owned()).map_err(|error| {
            Error::new(ErrorKind::Config, format!("{} is not a valid server name", origin.host))
                .with_source(error)
        })?;
        match TlsConnector::from(config).connect(name, io).await {
            Ok(stream) => Ok(Io::Tls(Box::new(stream))),
            Err(error) => Err(fault::handshake(origin, error)),
        }
    }

    fn build(&self) -> Result<Configs> {
        let mut roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
        // Files of a system's authorities contain some that are too old to be parsed. They are ignored.
        roots.add_parsable_certificates(certificates_of_environment()?);
        if self.is_native || is_set(std::env::var_os(NATIVE_ROOTS).as_deref())? {
            roots.add_parsable_certificates(certificates_of_system()?);
        }
        for certificate in &self.added {
            roots.add(certificate.clone()).map_err(|error| {
                Error::new(ErrorKind::Config, "an added root certificate cannot be used")
                    .with_source(error)
            })?;
        }
        // The crypto provider is passed and not installed, which would affect the whole process.
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| {
                Error::new(ErrorKind::Config, "TLS cannot be set up").with_source(error)
            })?
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        let proxy = Arc::new(config.clone());
        if cfg!(feature = "http2") {
            config.alpn_protocols.insert(0, b"h2".to_vec());
        }
        Ok(Configs { host: Arc::new(config), proxy })
    }
}

/// Reads the certificates in a PEM text. At least one is required.
pub(super) fn certificates(pem: &[u8], what: &str) -> Result<Vec<CertificateDer<'static>>> {
    let found: Vec<_> =
        CertificateDer::pem_slice_iter(pem).collect::<Result<_, _>>().map_err(|error| {
            Error::new(ErrorKind::Config, format!("{what} is not valid PEM")).with_source(error)
        })?;
    if found.is_empty() {
        return Err(Error::new(ErrorKind::Config, format!("{what} contains no certificate"))
            .with_hint("it must be PEM, with a BEGIN CERTIFICATE line"));
    }
    Ok(found)
}

fn certificates_of_environment() -> Result<Vec<CertificateDer<'static>>> {
    let Some(path) = std::env::var_os(CERTIFICATE_FILE).filter(|path| !path.is_empty()) else {
        return Ok(Vec::new());
    };
    let what = format!("the file {} of {CERTIFICATE_FILE}", path.display());
    let pem = read_regular(Path::new(&path), MAX_CONFIG_FILE_BYTES).map_err(|error| {
        Error::new(ErrorKind::Config, format!("{what} cannot be read: {error}")).with_source(error)
    })?;
    certificates(&pem, &what)
}

/// Reads the value of a switch.
fn is_set(value: Option<&OsStr>) -> Result<bool> {
    match value.map(|value| value.to_string_lossy().trim().to_ascii_lowercase()).as_deref() {
        None | Some("" | "0" | "false" | "no") => Ok(false),
        Some("1" | "true" | "yes") => Ok(true),
        Some(_) => Err(Error::new(ErrorKind::Config, format!("{NATIVE_ROOTS} must be 1 or 0"))
            .with_hint("1 trusts the certificates of the operating system")),
    }
}

/// Reads the certificates of the operating system.
#[cfg(feature = "native-roots")]
fn certificates_of_system() -> Result<Vec<CertificateDer<'static>>> {
    let found = rustls_native_certs::load_native_certs();
    // A store with some files that cannot be read is usual, for example because they belong to another user.
    match (found.certs.is_empty(), found.errors.into_iter().next()) {
        (true, Some(error)) => {
            let message = "the certificates of the operating system cannot be read";
            Err(Error::new(ErrorKind::Config, format!("{message}: {error}")).with_source(error))
        }
        (true, None) => {
            Err(Error::new(ErrorKind::Config, "the operating system has no certificates")
                .with_hint("on Debian, install the package ca-certificates"))
        }
        (false, _) => Ok(found.certs),
    }
}

#[cfg(not(feature = "native-roots"))]
fn certificates_of_system() -> Result<Vec<CertificateDer<'static>>> {
    Err(Error::new(
        ErrorKind::Config,
        format!("{NATIVE_ROOTS} is set, but this program cannot read the certificates of the operating system"),
    )
    .with_hint("build it with the feature `native-roots`, or name a file of certificates with SSL_CERT_FILE"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_switch_that_is_neither_on_nor_off_is_an_error() {
        for (value, expected) in [("1", true), (" Yes\n", true), ("0", false), ("", false)] {
            assert_eq!(is_set(Some(OsStr::new(value))).unwrap(), expected, "{value:?}");
        }
        assert!(!is_set(None).unwrap());
        for value in ["on!", "2", "/etc/ssl"] {
            let error = is_set(Some(OsStr::new(value))).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Config);
        }
    }
}
