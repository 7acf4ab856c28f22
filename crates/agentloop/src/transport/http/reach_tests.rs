//! Which addresses are allowed, and that redirects cannot bypass that.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use ::http::Request;
use bytes::Bytes;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::super::HttpTransport;
use super::super::proxy::Proxies;
use super::super::tls::Tls;
use super::*;
use crate::error::{Error, ErrorKind};
use crate::transport::{SendOptions, Transport};

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

/// A name that resolves to another address each time.
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
async fn a_name_is_resolved_once_and_only_checked_addresses_are_used() {
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

/// Follows one redirect of a server that is allowed.
async fn redirected_to(location: &str) -> Error {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/a.png", listener.local_addr().unwrap());
    let answer = format!("HTTP/1.1 302 Found\r\nlocation: {location}\r\ncontent-length: 0\r\n\r\n");
    let server = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let _ = stream.read(&mut [0; 4096]).await.unwrap();
        stream.write_all(answer.as_bytes()).await.unwrap();
        stream
    });
    let transport = HttpTransport::with(Proxies::none(), Tls::default(), Reach::PublicAndHere);
    let request = Request::get(url).body(Bytes::new()).unwrap();
    let error = transport.send(request, SendOptions::default()).await.unwrap_err();
    server.await.unwrap();
    error
}

#[tokio::test]
async fn a_redirect_to_a_private_address_is_refused_in_every_spelling() {
    for location in [
        "http://169.254.169.254/latest/meta-data/",
        "http://10.0.0.1:8080/",
        "//[::1]/admin",
        "http://[::ffff:10.0.0.1]/",
        "http://[64:ff9b::a00:1]/",
        // Spellings that only the system's resolver understands.
        "http://0xa9fea9fe/",
        "http://10.1/",
    ] {
        let error = redirected_to(location).await;
        assert_eq!(error.kind(), ErrorKind::InvalidRequest, "{location}: {error}");
        assert!(error.message().contains("is not a public address"), "{location}: {error}");
        assert!(!error.is_retryable(), "{location}");
    }
}
