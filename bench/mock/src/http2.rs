//! The same answers over HTTP/2 and TLS, as hosts that allow a hundred streams on a connection. Each answer is held for a
//! moment, so that those who ask at once are open at once, if they come through.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use bench_common::{Kind, Scenario, bodies};
use bytes::Bytes;
use h2::RecvStream;
use h2::server::SendResponse;
use http::{HeaderMap, HeaderName, HeaderValue, Request, Response};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::ServerConfig;
use rustls::pki_types::PrivateKeyDer;
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

/// How many streams are allowed on one connection, as most hosts have it.
const STREAMS: u32 = 100;
/// How long an answer is held.
const HELD: Duration = Duration::from_millis(20);

/// What was seen since the last look.
#[derive(Default)]
pub struct Counts {
    open: AtomicUsize,
    most: AtomicUsize,
    connections: AtomicUsize,
}

impl Counts {
    /// The most streams that were open at once, over all connections, and how many connections were made. They begin anew.
    pub fn take(&self) -> String {
        let (most, connections) = (self.most.swap(0, Relaxed), self.connections.swap(0, Relaxed));
        format!("{{\"open\":{most},\"connections\":{connections}}}")
    }
}

struct Held {
    headers: HeaderMap,
    body: Bytes,
}

/// A server and what there must be trusted to reach it, in PEM.
pub fn prepare() -> (TlsAcceptor, String) {
    let mut params = CertificateParams::new(Vec::new()).expect("parameters");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate().expect("a key");
    let authority = params.self_signed(&key).expect("an authority").pem();
    let issuer = Issuer::new(params, key);
    let key = KeyPair::generate().expect("a key");
    let certificate = CertificateParams::new(vec!["127.0.0.1".to_owned()])
        .and_then(|params| params.signed_by(&key, &issuer))
        .expect("a certificate");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("TLS")
        .with_no_client_auth()
        .with_single_cert(
            vec![certificate.der().clone()],
            PrivateKeyDer::try_from(key.serialize_der()).expect("a key"),
        )
        .expect("a certificate");
    config.alpn_protocols = vec![b"h2".to_vec()];
    (TlsAcceptor::from(Arc::new(config)), authority)
}

pub async fn serve(listener: TcpListener, tls: TlsAcceptor, counts: Arc<Counts>) {
    let chats = Scenario::ALL.iter().filter(|one| matches!(one.kind, Kind::Chat { .. }));
    let answers: Arc<HashMap<_, _>> = Arc::new(chats.map(|one| (one.name, held(one))).collect());
    while let Ok((socket, _)) = listener.accept().await {
        let _ = socket.set_nodelay(true);
        tokio::spawn(connection(socket, tls.clone(), answers.clone(), counts.clone()));
    }
}

/// The answer of a scenario, as HTTP/2 has it.
fn held(scenario: &Scenario) -> Held {
    let bytes = bodies::answer(scenario);
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n").expect("a head");
    let head = String::from_utf8_lossy(&bytes[..end]);
    let headers = head.lines().filter_map(|line| line.split_once(": ")).map(|(name, value)| {
        let name = HeaderName::try_from(name).expect("a name");
        (name, HeaderValue::from_str(value).expect("a value"))
    });
    Held { headers: headers.collect(), body: Bytes::copy_from_slice(&bytes[end + 4..]) }
}

async fn connection(
    socket: TcpStream,
    tls: TlsAcceptor,
    answers: Arc<HashMap<&'static str, Held>>,
    counts: Arc<Counts>,
) {
    // A client may not trust it, or go away.
    let Ok(stream) = tls.accept(socket).await else { return };
    let builder = h2::server::Builder::new().max_concurrent_streams(STREAMS).handshake(stream);
    let Ok(mut connection) = builder.await else { return };
    counts.connections.fetch_add(1, Relaxed);
    while let Some(Ok((request, respond))) = connection.accept().await {
        let (answers, counts) = (answers.clone(), counts.clone());
        let open = counts.open.fetch_add(1, Relaxed) + 1;
        counts.most.fetch_max(open, Relaxed);
        tokio::spawn(async move {
            let _ = answer(request, respond, &answers).await;
            counts.open.fetch_sub(1, Relaxed);
        });
    }
}

async fn answer(
    request: Request<RecvStream>,
    mut respond: SendResponse<Bytes>,
    answers: &HashMap<&'static str, Held>,
) -> Result<(), h2::Error> {
    let scenario = request.uri().path().trim_start_matches('/').split('/').next();
    let found = scenario.and_then(|name| answers.get(name));
    let mut body = request.into_body();
    while let Some(data) = body.data().await {
        body.flow_control().release_capacity(data?.len())?;
    }
    tokio::time::sleep(HELD).await;
    let mut response = Response::new(());
    let Some(found) = found else {
        *response.status_mut() = http::StatusCode::NOT_FOUND;
        return respond.send_response(response, true).map(drop);
    };
    *response.headers_mut() = found.headers.clone();
    respond.send_response(response, false)?.send_data(found.body.clone(), true)
}
