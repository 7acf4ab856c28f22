//! Forwards requests to the server.

use std::collections::BTreeMap;
use std::sync::Arc;

use agentloop::transport::{Body, SendOptions, Transport};
use agentloop::{BoxFuture, Error, ErrorKind, Result};
use bytes::Bytes;
use futures_util::StreamExt as _;
use http::{Method, Request, Response};
use serde_json::json;
use serde_json::value::{RawValue, to_raw_value};

use super::servers::Servers;

/// The longest response that reports an error, in bytes.
const MAX_ERROR: usize = 64 << 10;

/// The transport of the provider `local`.
pub(super) struct LocalTransport(pub(super) Arc<Servers>);

impl LocalTransport {
    async fn answer(&self, request: Request<Bytes>) -> Result<Response<Body>> {
        let path = request.uri().path();
        if request.method() == Method::GET && path.ends_with("/models") {
            let names = self.0.list().await?.into_iter();
            let data: Vec<_> = names.map(|id| json!({ "id": id, "object": "model" })).collect();
            let list = json!({ "object": "list", "data": data });
            return Ok(Response::new(Body::whole(list.to_string())));
        }
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
            // The server runs at least as long as the body is read.
            let keep = |body: Body| body.inspect(move |_| _ = &server);
            return Ok(response.map(|body| Body::stream(keep(body))));
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
        Box::pin(self.answer(request))
    }
}

agentloop::shown! { LocalTransport: self { } }
