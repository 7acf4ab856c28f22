//! A certificate authority of our own, and TLS servers that it vouches for.

use std::sync::Arc;

use agentloop::transport::HttpTransport;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::ServerConfig;
use rustls::pki_types::PrivateKeyDer;
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

/// An unknown certificate authority, and a server with a certificate of it.
pub(crate) struct Trust {
    pub(crate) authority_pem: String,
    acceptor: TlsAcceptor,
}

impl Trust {
    /// A server with certificates for `127.0.0.1`, `localhost` and `secure.test`, in these protocols.
    pub(crate) fn new(protocols: &[&str]) -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let authority_pem = params.self_signed(&key).unwrap().pem();
        let issuer = Issuer::new(params, key);

        let names = ["127.0.0.1", "localhost", "secure.test"].map(str::to_owned);
        let server_key = KeyPair::generate().unwrap();
        let certificate =
            CertificateParams::new(names).unwrap().signed_by(&server_key, &issuer).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(
                vec![certificate.der().clone()],
                PrivateKeyDer::try_from(server_key.serialize_der()).unwrap(),
            )
            .unwrap();
        config.alpn_protocols = protocols.iter().map(|name| name.as_bytes().to_vec()).collect();
        Self { authority_pem, acceptor: TlsAcceptor::from(Arc::new(config)) }
    }

    /// A transport that trusts it.
    pub(crate) fn transport(&self) -> HttpTransport {
        HttpTransport::builder()
            .without_proxy()
            .add_root_certificate_pem(&self.authority_pem)
            .build()
            .unwrap()
    }

    pub(crate) async fn accept(&self, stream: TcpStream) -> std::io::Result<TlsStream<TcpStream>> {
        self.acceptor.accept(stream).await
    }
}
