//! Forwards requests to the server.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use agentloop::transport::{Body, SendOptions, Transport};
use agentloop::{BoxFuture, Error, ErrorKind, Result};
use bytes::Bytes;
use futures_core::Stream;
use http::{Method, Request, Response};
use serde_json::json;
use serde_json::value::{RawValue, to_raw_value};

use super::servers::{Server, Servers};

/// The longest response that reports an error, in bytes.
const MAX_ERROR: usize = 64 << 10;

/// The transport of the provider `local`.
pub(super) struct LocalTransport(pub(super) Arc<Servers>);

impl LocalTransport {
    async fn list(&self) -> Result<Response<Body>> {
        let names = self.0.list().await?.into_iter();
        let data: Vec<_> = names.map(|id| json!({ "id": id, "object": "model" })).collect();
        let list = json!({ "object": "list", "data": data });
        Ok(Response::new(Body::whole(list.to_string())))
    }

    async fn forward(&self, request: Request<Bytes>) -> Result<Response<Body>> {
        let path = request.uri().path();
        // The server does these only for a model that was loaded for it, with the option of this name.
        let task = ["embeddings", "rerank"].into_iter().find(|it| path.ends_with(it));
        let wrong = |error| Error::new(ErrorKind::InvalidRequest, format!("the request: {error}"));
        let body = serde_json::from_slice(request.body());
        let mut body: BTreeMap<&str, &RawValue> = body.map_err(wrong)?;
        let name = body.get("model").map_or("null", |name| name.get());
        let name: String = serde_json::from_str(name).map_err(wrong)?;
        let (server, id) = self.0.lease(&name, task).await?;
        let id = to_raw_value(&id).map_err(wrong)?;
        body.insert("model", &id);
        let lines = server.process.lines();
        let response = server.send(path, serde_json::to_vec(&body).map_err(wrong)?).await?;
        if !response.status().is_server_error() {
            return Ok(response.map(|body| Body::stream(Held { body, _server: server })));
        }
        let (head, body) = response.into_parts();
        let body = body.collect(MAX_ERROR).await?;
        if !String::from_utf8_lossy(&body).contains("failed to load") {
            return Ok(Response::from_parts(head, Body::whole(body)));
        }
        let error =
            Error::new(ErrorKind::InvalidRequest, format!("llama-server cannot load local/{name}"));
        Err(server.process.explain(error, lines))
    }
}

impl Transport for LocalTransport {
    fn send<'a>(
        &'a self,
        request: Request<Bytes>,
        _: SendOptions,
    ) -> BoxFuture<'a, Result<Response<Body>>> {
        Box::pin(async move {
            if request.method() == Method::GET && request.uri().path().ends_with("/models") {
                self.list().await
            } else {
                self.forward(request).await
            }
        })
    }
}

agentloop::shown! { LocalTransport: self { } }

/// A body that keeps its server running.
struct Held {
    body: Body,
    _server: Arc<Server>,
}

impl Stream for Held {
    type Item = Result<Bytes>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        Pin::new(&mut self.body).poll_next(context)
    }
}
