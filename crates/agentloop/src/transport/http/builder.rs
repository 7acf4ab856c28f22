//! The builder of a transport.

use std::fmt;

use rustls::pki_types::CertificateDer;

use super::HttpTransport;
use super::proxy::Proxies;
use super::reach::Reach;
use super::tls::{self, Tls};
use crate::error::{Error, ErrorKind, Result};

/// Builds an [`HttpTransport`].
///
/// ```
/// use agentloop::transport::HttpTransport;
///
/// # fn main() -> agentloop::Result<()> {
/// let transport = HttpTransport::builder().proxy("http://proxy.internal:3128").build()?;
/// # Ok(())
/// # }
/// ```
#[derive(Default)]
#[must_use = "a builder does nothing until it is built"]
pub struct HttpTransportBuilder {
    proxy: ProxyChoice,
    no_proxy: String,
    reach: Reach,
    certificates: Vec<CertificateDer<'static>>,
    is_native: bool,
    /// The first error, which `build` returns.
    error: Option<Error>,
}

#[derive(Default)]
enum ProxyChoice {
    #[default]
    Environment,
    None,
    All(String),
}

impl HttpTransportBuilder {
    setters! {
        /// Sends all requests through this proxy and ignores the environment: `http://host:port`, `https://…`, `socks5://…` or `socks5h://…`, with
        /// `name:password@` before the host if the proxy needs it.
        proxy(self, url: impl Into<String>) => self.proxy = ProxyChoice::All(url.into());

        /// Sets the hosts that are reached without the [`proxy`](Self::proxy), separated by commas as in `NO_PROXY`: names (which include their
        /// subdomains), IP addresses, and networks such as `10.0.0.0/8`.
        no_proxy(self, hosts: impl Into<String>) => self.no_proxy = hosts.into();

        /// Uses no proxy and ignores the environment.
        without_proxy(self) => self.proxy = ProxyChoice::None;
    }

    /// Connects to addresses of the public internet only: not to this machine and not to private networks, also after a redirect. The address
    /// that was checked is the one that is used. No proxy is used, because a proxy resolves names by itself.
    pub fn only_public_addresses(mut self) -> Self {
        self.reach = Reach::Public;
        self.proxy = ProxyChoice::None;
        self
    }

    /// Also trusts the authorities whose certificates this PEM text contains.
    pub fn add_root_certificate_pem(mut self, pem: impl AsRef<[u8]>) -> Self {
        match tls::certificates(pem.as_ref(), "the added root certificate") {
            Ok(found) => self.certificates.extend(found),
            Err(error) => _ = self.error.get_or_insert(error),
        }
        self
    }

    /// Also trusts the certificates of the operating system, for networks whose proxy has an authority of its own. The variable
    /// `AGENTLOOP_NATIVE_ROOTS=1` does the same without code. They are read with the first `https` request; if they cannot be, it fails.
    #[cfg(feature = "native-roots")]
    #[cfg_attr(docsrs, doc(cfg(feature = "native-roots")))]
    pub fn native_roots(mut self) -> Self {
        self.is_native = true;
        self
    }

    /// Builds the transport.
    ///
    /// # Errors
    ///
    /// Returns an error if the proxy's URL or a certificate cannot be used.
    pub fn build(self) -> Result<HttpTransport> {
        if let Some(error) = self.error {
            return Err(error);
        }
        if self.reach == Reach::Public && !matches!(self.proxy, ProxyChoice::None) {
            return Err(Error::new(
                ErrorKind::Config,
                "a transport for public addresses only cannot use a proxy",
            ));
        }
        let proxies = match self.proxy {
            ProxyChoice::Environment => Proxies::from_environment(),
            ProxyChoice::None => Proxies::none(),
            ProxyChoice::All(url) => Proxies::all(&url, &self.no_proxy)?,
        };
        Ok(HttpTransport::with(proxies, Tls::new(self.certificates, self.is_native), self.reach))
    }
}

impl fmt::Debug for HttpTransportBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The proxy's URL may contain a password.
        f.debug_struct("HttpTransportBuilder")
            .field("added_certificates", &self.certificates.len())
            .finish_non_exhaustive()
    }
}
