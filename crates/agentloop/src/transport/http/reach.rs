//! Limits the addresses that are connected to.

use std::error::Error as StdError;
use std::fmt;
use std::future::Future;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::pin::Pin;
use std::task::{Context, Poll};

use hyper_util::client::legacy::connect::dns::Name;
use tower_service::Service;

/// The addresses that may be connected to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Reach {
    /// All addresses.
    #[default]
    Any,
    /// The addresses of the public internet.
    Public,
    /// The addresses of the public internet and 127.0.0.1, where tests run their server.
    #[cfg(test)]
    PublicAndHere,
}

impl Reach {
    /// Returns whether this address is allowed.
    pub(super) fn allows(self, address: IpAddr) -> bool {
        let is_public = match address {
            IpAddr::V4(address) => is_public_v4(address),
            IpAddr::V6(address) => is_public_v6(address),
        };
        match self {
            Self::Any => true,
            Self::Public => is_public,
            #[cfg(test)]
            Self::PublicAndHere => is_public || address == Ipv4Addr::LOCALHOST,
        }
    }

    /// Checks a host that is an IP address. Names are checked when they are resolved.
    pub(super) fn check_literal(self, host: &str) -> Result<(), Refused> {
        match host.parse() {
            Ok(address) if !self.allows(address) => Err(Refused(address)),
            _ => Ok(()),
        }
    }
}

/// The address that is not allowed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Refused(pub(super) IpAddr);

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is not a public address", self.0)
    }
}

impl StdError for Refused {}

/// Resolves names, and returns only the allowed addresses. Only these are connected to, so a name that resolves differently the next time
/// (DNS rebinding) has no effect.
#[derive(Clone, Debug)]
pub(super) struct Checked<R> {
    lookup: R,
    reach: Reach,
}

impl<R> Checked<R> {
    pub(super) fn new(lookup: R, reach: Reach) -> Self {
        Self { lookup, reach }
    }
}

type BoxError = Box<dyn StdError + Send + Sync>;

impl<R> Service<Name> for Checked<R>
where
    R: Service<Name>,
    R::Response: Iterator<Item = SocketAddr>,
    R::Error: Into<BoxError>,
    R::Future: Send + 'static,
{
    type Response = std::vec::IntoIter<SocketAddr>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.lookup.poll_ready(context).map_err(Into::into)
    }

    fn call(&mut self, name: Name) -> Self::Future {
        let (found, reach) = (self.lookup.call(name), self.reach);
        Box::pin(async move {
            let mut refused = None;
            let mut reached = Vec::new();
            for address in found.await.map_err(Into::into)? {
                if reach.allows(address.ip()) {
                    reached.push(address);
                } else {
                    refused = Some(Refused(address.ip()));
                }
            }
            match refused {
                Some(refused) if reached.is_empty() => Err(refused.into()),
                _ => Ok(reached.into_iter()),
            }
        })
    }
}

/// Returns whether an address is public: not of this machine, a private or shared network or a link, and not reserved.
fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    !(address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_documentation()
        || a == 0
        || (a == 100 && b & 0xc0 == 64)
        || (a == 192 && b == 0 && c == 0)
        || (a == 192 && b == 88 && c == 99)
        || (a == 198 && b & 0xfe == 18)
        || a >= 224)
}

/// Returns whether an address is assigned as global unicast and does not embed an IPv4 address that is not public.
fn is_public_v6(address: Ipv6Addr) -> bool {
    let segments = address.segments();
    let v4 = |high: u16, low: u16| Ipv4Addr::from((u32::from(high) << 16) | u32::from(low));
    match segments {
        // IPv4 in IPv6, and the well-known prefix of NAT64.
        [0, 0, 0, 0, 0, 0xffff, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => {
            is_public_v4(v4(high, low))
        }
        // 6to4.
        [0x2002, high, low, ..] => is_public_v4(v4(high, low)),
        // Protocol assignments (Teredo among them), and documentation.
        [0x2001, 0..=0x1ff, ..] | [0x2001, 0xdb8, ..] | [0x3fff, 0..=0xfff, ..] => false,
        // ISATAP, which embeds an IPv4 address.
        [_, _, _, _, 0 | 0x200, 0x5efe, high, low] if !is_public_v4(v4(high, low)) => false,
        [first, ..] => first & 0xe000 == 0x2000,
    }
}

#[cfg(test)]
#[path = "reach_tests.rs"]
mod tests;
