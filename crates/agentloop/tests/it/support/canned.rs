//! A transport that responds at once.

use agentloop::Result;
use agentloop::transport::{Body, BoxFuture, SendOptions, Transport};
use bytes::Bytes;
use http::{Request, Response};

/// Responds with what the function makes of a request.
pub(crate) struct Canned<F>(pub(crate) F);

impl<F> std::fmt::Debug for Canned<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Canned").finish_non_exhaustive()
    }
}

impl<F> Transport for Canned<F>
where
    F: Fn(&Request<Bytes>) -> Response<Body> + Send + Sync + 'static,
{
    fn send<'a>(
        &'a self,
        request: Request<Bytes>,
        _: SendOptions,
    ) -> BoxFuture<'a, Result<Response<Body>>> {
        Box::pin(std::future::ready(Ok((self.0)(&request))))
    }
}

/// Responds to every request with the same JSON.
pub(crate) fn json(body: String) -> impl Transport + 'static {
    Canned(move |_: &Request<Bytes>| response("application/json", Body::whole(body.clone())))
}

/// Creates a response with a body of this type.
pub(crate) fn response(kind: &'static str, body: Body) -> Response<Body> {
    Response::builder().header("content-type", kind).body(body).unwrap()
}
