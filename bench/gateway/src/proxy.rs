//! A plain reverse proxy: what a gateway costs that does nothing.

use http::{Request, Response, Uri};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioIo};

pub(crate) async fn run(upstream: &str) {
    let mut connector = HttpConnector::new();
    connector.set_nodelay(true);
    let client: Client<_, Incoming> = Client::builder(TokioExecutor::new()).build(connector);
    let authority = upstream.trim_start_matches("http://").to_owned();
    let listener = crate::listen();
    while let Ok((socket, _)) = listener.accept().await {
        let _ = socket.set_nodelay(true);
        let (client, authority) = (client.clone(), authority.clone());
        tokio::spawn(async move {
            let service = service_fn(move |request| pass(client.clone(), authority.clone(), request));
            let serving = hyper::server::conn::http1::Builder::new();
            let _ = serving.serve_connection(TokioIo::new(socket), service).await;
        });
    }
}

async fn pass(
    client: Client<HttpConnector, Incoming>,
    authority: String,
    mut request: Request<Incoming>,
) -> Result<Response<Incoming>, hyper_util::client::legacy::Error> {
    let path = request.uri().path_and_query().map_or("/", |path| path.as_str()).to_owned();
    *request.uri_mut() = Uri::builder().scheme("http").authority(authority).path_and_query(path).build().expect("a URL");
    request.headers_mut().remove("host");
    client.request(request).await
}
