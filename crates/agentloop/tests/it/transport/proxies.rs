//! Proxies: tunnels, absolute URLs, and hosts that are reached without one.

use agentloop::ErrorKind;
use agentloop::transport::HttpTransport;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::transport::support::tls::Trust;
use crate::transport::support::*;

/// `name:pass word`, as basic authentication has it (in lower case, like the heads that tests look at).
const BASIC: &str = "proxy-authorization: basic bmftztpwyxnzihdvcmq=";

fn through(proxy_url: &str) -> HttpTransport {
    HttpTransport::builder().proxy(proxy_url).build().unwrap()
}

fn with_password(proxy_url: &str) -> String {
    proxy_url.replace("http://", "http://name:pass%20word@")
}

#[tokio::test]
async fn an_https_host_is_reached_through_a_tunnel_with_the_proxys_password() {
    let trust = Trust::new(&["http/1.1"]);
    let (target, target_url) = listen().await;
    let (proxy, proxy_url) = listen().await;
    let transport = HttpTransport::builder()
        .proxy(with_password(&proxy_url))
        .add_root_certificate_pem(&trust.authority_pem)
        .build()
        .unwrap();
    let proxy = tokio::spawn(async move {
        let mut inside = accept(&proxy).await;
        let (head, _) = read_request(&mut inside).await.unwrap();
        let address = target_url.strip_prefix("http://").unwrap();
        let mut outside = TcpStream::connect(address).await.unwrap();
        inside.write_all(b"HTTP/1.1 200 Connected\r\nvia: test\r\n\r\n").await.unwrap();
        let _ = tokio::io::copy_bidirectional(&mut inside, &mut outside).await;
        head
    });
    let server = tokio::spawn(async move {
        let mut stream = trust.accept(accept(&target).await).await.unwrap();
        respond(&mut stream, "through").await.0
    });
    let said = text(&transport, get("https://secure.test/path")).await.unwrap();
    assert_eq!(said, "through");
    drop(transport);
    let head = server.await.unwrap();
    assert!(head.starts_with("get /path http/1.1\r\n"), "{head}");
    assert!(!head.contains("proxy-authorization"), "{head}");
    let head = proxy.await.unwrap();
    assert!(head.starts_with("connect secure.test:443 http/1.1\r\n"), "{head}");
    assert!(head.contains(BASIC), "{head}");
}

#[tokio::test]
async fn a_proxy_that_opens_no_tunnel_is_a_connection_error_without_the_password() {
    let (proxy_url, proxy) = serve_bytes("HTTP/1.1 407 Who are you\r\n\r\n");
    let transport = through(&with_password(&proxy_url));
    let error = text(&transport, get("https://secure.test/")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Connection);
    assert!(error.to_string().contains("407"), "{error}");
    let shown = format!("{error} {error:?} {transport:?}");
    assert!(!shown.contains("pass") || !shown.contains("word@"), "{shown}");
    assert!(!shown.contains("pass%20word") && !shown.contains("bmFtZT"), "{shown}");
    proxy.await.unwrap();
}

#[tokio::test]
async fn the_proxy_gets_the_whole_url_of_an_http_host() {
    let (proxy_url, proxy) =
        serve(async move |mut stream| respond(&mut stream, "from afar").await.0);
    let transport = through(&with_password(&proxy_url));
    let said = text(&transport, get("http://plain.test:8080/path?q=1")).await.unwrap();
    assert_eq!(said, "from afar");
    let head = proxy.await.unwrap();
    assert!(head.starts_with("get http://plain.test:8080/path?q=1 http/1.1\r\n"), "{head}");
    assert!(head.contains("host: plain.test:8080\r\n"), "{head}");
    assert!(head.contains(BASIC), "{head}");
}

#[tokio::test]
async fn a_socks_proxy_gets_the_name_of_the_host() {
    let (proxy_url, proxy) = serve(async move |mut stream| {
        let mut greeting = [0; 3];
        stream.read_exact(&mut greeting).await.unwrap();
        assert_eq!(greeting, [5, 1, 0]);
        stream.write_all(&[5, 0]).await.unwrap();
        let mut request = [0; 4 + 1 + 10 + 2];
        stream.read_exact(&mut request).await.unwrap();
        assert_eq!(request[..5], [5, 1, 0, 3, 10]);
        assert_eq!(&request[5..15], b"plain.test");
        assert_eq!(request[15..], 80_u16.to_be_bytes());
        stream.write_all(&[5, 0, 0, 1, 127, 0, 0, 1, 0, 80]).await.unwrap();
        respond(&mut stream, "by socks").await.0
    });
    let transport = through(&proxy_url.replace("http://", "socks5h://"));
    assert_eq!(text(&transport, get("http://plain.test/a")).await.unwrap(), "by socks");
    assert!(proxy.await.unwrap().starts_with("get /a http/1.1\r\n"));
}

#[tokio::test]
async fn a_host_on_the_list_is_reached_without_the_proxy() {
    // 127.0.0.1 would be reached directly anyway; this name leads there and is on no such list.
    let (listener, _) = listen().await;
    let port = listener.local_addr().unwrap().port();
    let (proxy, proxy_url) = listen().await;
    let server = tokio::spawn(async move {
        let mut stream = accept(&listener).await;
        respond(&mut stream, "directly").await;
    });
    let transport = HttpTransport::builder()
        .proxy(proxy_url)
        .no_proxy("0.0.0.0/8, other.test")
        .build()
        .unwrap();
    let said = text(&transport, get(format!("http://0.0.0.0:{port}/"))).await.unwrap();
    assert_eq!(said, "directly");
    server.await.unwrap();
    drop(proxy);
}

#[tokio::test]
async fn this_machine_is_reached_without_the_proxy() {
    let (listener, url) = listen().await;
    let server = tokio::spawn(async move {
        for _ in 0..2 {
            let mut stream = accept(&listener).await;
            respond(&mut stream, "directly").await;
        }
    });
    let transport = through("http://127.0.0.1:1");
    assert_eq!(text(&transport, get(&url)).await.unwrap(), "directly");
    let named = url.replace("127.0.0.1", "localhost");
    assert_eq!(text(&transport, get(&named)).await.unwrap(), "directly");
    server.await.unwrap();
}

#[test]
fn an_invalid_proxy_is_an_error_when_building() {
    for url in ["ftp://name:secret@host", "socks4://host:1", "not a url", ""] {
        let error = HttpTransport::builder().proxy(url).build().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Config, "{url}");
        assert!(!format!("{error:?}").contains("secret"));
    }
}
