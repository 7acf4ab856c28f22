//! Makes connections: socket, proxy, TLS.

use std::sync::OnceLock;
use std::time::Duration;

use ::http::Uri;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::dns::GaiResolver;
use hyper_util::client::legacy::connect::proxy::SocksV5;
use tower_service::Service;

use super::fault;
use super::io::Io;
use super::origin::Origin;
use super::proxy::{Proxies, Proxy, ProxyKind};
use super::reach::{Checked, Reach};
use super::tls::Tls;
use crate::error::{Error, ErrorKind, Result};

/// After how long without data the system probes the connection, and the time between two probes.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// How many probes without a response break the connection.
const KEEP_ALIVE_RETRIES: u32 = 3;

/// Makes connections.
pub(super) struct Dialer {
    pub(super) proxies: Proxies,
    pub(super) tls: Tls,
    reach: Reach,
    connector: OnceLock<Connector>,
}

/// Opens sockets to the allowed addresses.
type Connector = HttpConnector<Checked<GaiResolver>>;

impl Dialer {
    pub(super) fn new(proxies: Proxies, tls: Tls, reach: Reach) -> Self {
        Self { proxies, tls, reach, connector: OnceLock::new() }
    }

    /// Connects to `origin`, through `proxy` if there is one.
    pub(super) async fn dial(&self, origin: &Origin, proxy: Option<&Proxy>) -> Result<Io> {
        let io = match proxy {
            None => self.socket(origin, origin, None).await?,
            Some(proxy) => match proxy.kind {
                ProxyKind::Socks5 { resolves } => self.socks(origin, proxy, resolves).await?,
                ProxyKind::Http => {
                    let mut io = self.socket(origin, &proxy.origin, Some(&proxy.origin)).await?;
                    if proxy.origin.https {
                        io = self.tls.connect(&proxy.origin, io, true).await?;
                    }
                    if origin.https { proxy.tunnel(io, origin).await? } else { io }
                }
            },
        };
        if origin.https { self.tls.connect(origin, io, false).await } else { Ok(io) }
    }

    async fn socket(&self, origin: &Origin, to: &Origin, through: Option<&Origin>) -> Result<Io> {
        self.reach.check_literal(to.bare_host()).map_err(|refused| fault::refused(to, refused))?;
        let mut connector = self.connector();
        match connector.call(connector_url("http", to)?).await {
            Ok(socket) => Ok(Io::Plain(socket.into_inner())),
            Err(error) => Err(fault::connect(origin, error, through)),
        }
    }

    async fn socks(&self, origin: &Origin, proxy: &Proxy, resolves: bool) -> Result<Io> {
        let mut connector = SocksV5::new(connector_url("http", &proxy.origin)?, self.connector())
            .local_dns(!resolves);
        if let Some((name, password)) = proxy.raw_auth() {
            connector = connector.with_auth(name.to_owned(), password.to_owned());
        }
        match connector.call(connector_url("http", origin)?).await {
            Ok(socket) => Ok(Io::Plain(socket.into_inner())),
            // Its error type is not `Send`, so only its text is kept.
            Err(error) => Err(fault::connect(
                origin,
                std::io::Error::other(error.to_string()),
                Some(&proxy.origin),
            )),
        }
    }

    fn connector(&self) -> Connector {
        let connector = self.connector.get_or_init(|| {
            let mut connector =
                HttpConnector::new_with_resolver(Checked::new(GaiResolver::new(), self.reach));
            // A request is small and must not wait for more data.
            connector.set_nodelay(true);
            // A model may think for minutes without a byte, and a laptop may sleep meanwhile. The probes show whether the server
            // is still there, and keep the connection open in the networks between.
            connector.set_keepalive(Some(KEEP_ALIVE));
            connector.set_keepalive_interval(Some(KEEP_ALIVE));
            connector.set_keepalive_retries(Some(KEEP_ALIVE_RETRIES));
            #[cfg(any(target_os = "android", target_os = "fuchsia", target_os = "linux"))]
            connector.set_tcp_user_timeout(Some(KEEP_ALIVE * KEEP_ALIVE_RETRIES));
            connector
        });
        connector.clone()
    }
}

/// Returns the URL with which the connector is called.
fn connector_url(scheme: &str, origin: &Origin) -> Result<Uri> {
    Uri::builder().scheme(scheme).authority(origin.to_string()).path_and_query("/").build().map_err(
        |error| {
            Error::new(ErrorKind::Config, format!("{origin} is not a valid host"))
                .with_source(error)
        },
    )
}
