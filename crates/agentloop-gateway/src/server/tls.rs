//! The certificate of the server.

use std::fmt;
use std::io;
use std::path::Path;
use std::sync::Arc;

use agentloop::{Error, ErrorKind, Result};
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

/// A certificate and its private key. It is cheap to clone.
#[derive(Clone)]
pub struct Tls(TlsAcceptor);

impl Tls {
    /// Reads a certificate chain and its private key, both in PEM.
    ///
    /// ```no_run
    /// # fn main() -> agentloop::Result<()> {
    /// let tls = agentloop_gateway::Tls::read("cert.pem".as_ref(), "key.pem".as_ref())?;
    /// # drop(tls);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// When a file cannot be read, or the key does not belong to the certificate.
    pub fn read(cert: &Path, key: &Path) -> Result<Self> {
        let wrong = |path: &Path, why: &dyn fmt::Display| {
            Error::new(ErrorKind::Config, format!("{}: {why}", path.display()))
        };
        let chain: Vec<CertificateDer<'static>> = CertificateDer::pem_file_iter(cert)
            .and_then(Iterator::collect)
            .map_err(|error| wrong(cert, &error))?;
        if chain.is_empty() {
            return Err(wrong(cert, &"it has no certificate"));
        }
        let private = PrivateKeyDer::from_pem_file(key).map_err(|error| wrong(key, &error))?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, private))
            .map_err(|error| wrong(cert, &error))?;
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(Self(TlsAcceptor::from(Arc::new(config))))
    }

    pub(super) async fn accept(&self, stream: TcpStream) -> io::Result<TlsStream<TcpStream>> {
        self.0.accept(stream).await
    }
}

agentloop::shown! { Tls: self { } }
