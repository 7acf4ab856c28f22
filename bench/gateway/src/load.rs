//! The client.

use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;

type Sender = Client<HttpConnector, Full<Bytes>>;

/// How many streams share a connection of HTTP/2. The gateway allows 256.
const STREAMS: usize = 250;

fn client(http2: bool) -> Sender {
    let mut connector = HttpConnector::new();
    connector.set_nodelay(true);
    Client::builder(TokioExecutor::new()).http2_only(http2).build(connector)
}

fn request(args: &[String], key: &str) -> Request<Full<Bytes>> {
    Request::post(format!("{}{}", args[0], args[1]))
        .header("content-type", "application/json")
        .header("authorization", format!("Bearer {key}"))
        .body(Full::new(Bytes::from(args[2].clone())))
        .expect("a request")
}

pub(crate) async fn run(args: &[String]) {
    let (count, concurrency) = (args[3].parse().expect("a count"), args[4].parse().expect("a number"));
    let (client, args) = (client(false), Arc::new(args.to_vec()));
    let (next, good, bytes) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let workers: Vec<_> = (0..concurrency)
        .map(|_: usize| {
            let (client, args) = (client.clone(), Arc::clone(&args));
            let (next, good, bytes) = (Arc::clone(&next), Arc::clone(&good), Arc::clone(&bytes));
            tokio::spawn(async move {
                while next.fetch_add(1, Ordering::Relaxed) < count {
                    let Ok(response) = client.request(request(&args, &args[5])).await else { continue };
                    let is_good = response.status().is_success();
                    let Ok(body) = response.into_body().collect().await else { continue };
                    bytes.fetch_add(body.to_bytes().len(), Ordering::Relaxed);
                    good.fetch_add(usize::from(is_good), Ordering::Relaxed);
                }
            })
        })
        .collect();
    for worker in workers {
        let _ = worker.await;
    }
    println!("{} {}", good.load(Ordering::Relaxed), bytes.load(Ordering::Relaxed));
}

/// Holds streams that are silent: some over HTTP/1.1, then some over HTTP/2, which needs fewer open files.
pub(crate) async fn idle(args: &[String]) {
    let counts = [(&args[3], false), (&args[4], true)];
    let mut held: Vec<Incoming> = Vec::new();
    for (count, http2) in counts {
        let mut sender = client(http2);
        for number in 0..count.parse().expect("a count") {
            if http2 && number % STREAMS == 0 {
                sender = client(true);
            }
            let response = sender.request(request(args, &args[5])).await.expect("a response");
            assert!(response.status().is_success(), "{}", response.status());
            let mut body = response.into_body();
            let _ = body.frame().await;
            held.push(body);
        }
        println!("{}", held.len());
        std::io::stdout().flush().expect("stdout");
    }
    let _ = tokio::task::spawn_blocking(|| std::io::copy(&mut std::io::stdin(), &mut std::io::sink())).await;
}
