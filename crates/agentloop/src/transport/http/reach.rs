//! Which addresses may be reached: all, or only those of the public internet.

use std::error::Error as StdError;
use std::fmt;
use std::future::Future;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::pin::Pin;
use std::task::{Context, Poll};

use hyper_util::client::legacy::connect::dns::Name;
use tower_service::Service;

/// Which addresses may be reached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Reach {
    /// All.
    #[default]
    Any,
    /// Those of the public internet.
    Public,
}

impl Reach {
    /// Whether this address may be reached.
    pub(super) fn allows(self, address: IpAddr) -> bool {
        match (self, address) {
            (Self::Any, _) => true,
            (Self::Public, IpAddr::V4(address)) => is_public_v4(address),
            (Self::Public, IpAddr::V6(address)) => is_public_v6(address),
        }
    }

    /// Checks a host that is written as an address, which is not looked up. Any other is checked when it is.
    pub(super) fn check_literal(self, host: &str) -> Result<(), Refused> {
        match host.parse() {
            Ok(address) if !self.allows(address) => Err(Refused(address)),
            _ => Ok(()),
        }
    }
}

/// The address that was not reached.
#[derive(Clone, Copy, Debug)]
pub(super) struct Refused(pub(super) IpAddr);

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is not a public address", self.0)
    }
}

impl StdError for Refused {}

/// Looks names up, and hands on only the addresses that may be reached. The connection goes to what is handed on and to
/// nothing else, so that a name which leads elsewhere at the next look gains nothing.
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
                match reach.allows(address.ip()) {
                    true => reached.push(address),
                    false => refused = Some(Refused(address.ip())),
                }
            }
            match refused {
                Some(refused) if reached.is_empty() => Err(refused.into()),
                _ => Ok(reached.into_iter()),
            }
        })
    }
}

/// Not this machine, not a private or shared network, not a link, not for documentation, tests or the future.
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

/// What is given out as global unicast, and no way into an IPv4 address that is not public.
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
        // An interface that is named after its IPv4 address.
        [_, _, _, _, 0 | 0x200, 0x5efe, high, low] if !is_public_v4(v4(high, low)) => false,
        [first, ..] => first & 0xe000 == 0x2000,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn only_addresses_of_the_public_internet_are_public() {
        for (address, expected) in [
            ("8.8.8.8", true),
            ("93.184.216.34", true),
            ("100.63.255.255", true),
            ("172.32.0.1", true),
            ("198.20.0.1", true),
            ("0.0.0.0", false),
            ("0.1.2.3", false),
            ("10.1.2.3", false),
            ("100.64.0.1", false),
            ("100.127.255.255", false),
            ("127.0.0.1", false),
            ("127.8.9.1", false),
            ("169.254.169.254", false),
            ("172.16.0.1", false),
            ("172.31.255.255", false),
            ("192.0.0.8", false),
            ("192.0.2.1", false),
            ("192.88.99.1", false),
            ("192.168.0.1", false),
            ("198.18.0.1", false),
            ("198.19.255.255", false),
            ("198.51.100.1", false),
            ("203.0.113.1", false),
            ("224.0.0.1", false),
            ("240.0.0.1", false),
            ("255.255.255.255", false),
            ("2606:4700::1111", true),
            ("2a00:1450::1", true),
            ("::", false),
            ("::1", false),
            ("::7f00:1", false),
            ("::ffff:8.8.8.8", true),
            ("::ffff:127.0.0.1", false),
            ("::ffff:169.254.169.254", false),
            ("64:ff9b::8.8.8.8", true),
            ("64:ff9b::10.0.0.1", false),
            ("64:ff9b:1::8.8.8.8", false),
            ("100::1", false),
            ("2001::1", false),
            ("2001:db8::1", false),
            ("2002:808:808::1", true),
            ("2002:a00:1::1", false),
            ("2002:7f00:1::1", false),
            ("2606:4700::5efe:10.0.0.1", false),
            ("3fff::1", false),
            ("5f00::1", false),
            ("fc00::1", false),
            ("fd12:3456::1", false),
            ("fe80::1", false),
            ("fec0::1", false),
            ("ff02::1", false),
        ] {
            assert_eq!(Reach::Public.allows(address.parse().unwrap()), expected, "{address}");
            assert!(Reach::Any.allows(address.parse().unwrap()), "{address}");
        }
    }

    /// A name that leads somewhere else each time it is looked up.
    #[derive(Clone)]
    struct Rebinding(Arc<AtomicUsize>, &'static [&'static [&'static str]]);

    impl Service<Name> for Rebinding {
        type Response = std::vec::IntoIter<SocketAddr>;
        type Error = std::io::Error;
        type Future = std::future::Ready<Result<Self::Response, std::io::Error>>;

        fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), std::io::Error>> {
            Poll::Ready(Ok(()))
        }

        fn call(&mut self, _: Name) -> Self::Future {
            let at = self.0.fetch_add(1, Ordering::Relaxed);
            let found = self.1[at].iter().map(|address| address.parse().unwrap());
            std::future::ready(Ok(found.collect::<Vec<_>>().into_iter()))
        }
    }

    #[tokio::test]
    async fn what_is_handed_on_is_what_was_checked_and_a_name_is_looked_up_once() {
        let looks = Arc::new(AtomicUsize::new(0));
        let answers: &[&[&str]] =
            &[&["8.8.8.8:80"], &["127.0.0.1:80"], &["10.0.0.1:80", "8.8.4.4:80", "[::1]:80"]];
        let mut checked = Checked::new(Rebinding(looks.clone(), answers), Reach::Public);
        let mut look = async || {
            let found = checked.call("rebind.test".parse().unwrap()).await;
            found.map(|found| found.map(|address| address.to_string()).collect::<Vec<_>>())
        };
        assert_eq!(look().await.unwrap(), ["8.8.8.8:80"]);
        assert_eq!(looks.load(Ordering::Relaxed), 1);
        let refused = look().await.unwrap_err();
        assert!(refused.downcast_ref::<Refused>().is_some(), "{refused}");
        assert_eq!(look().await.unwrap(), ["8.8.4.4:80"], "the others are left out");
    }
}
