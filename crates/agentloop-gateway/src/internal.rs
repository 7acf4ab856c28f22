//! What the fuzz targets of the workspace call: requests without a connection, and files. It is outside of the API.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;

use agentloop::Result;
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;

use crate::journal::Journal;
use crate::server::Admin;
use crate::stream::GatewayBody;
use crate::{Gateway, call, sync};

/// Handles a request as the listener for clients does.
pub async fn respond(gateway: &Gateway, request: Request<Bytes>) -> Response<GatewayBody> {
    let (state, recorder) = (gateway.state(), gateway.recorder());
    let accounts = gateway.accounts().clone();
    let request = request.map(Full::new);
    let span = tracing::Span::none();
    match call::handle(state, accounts, recorder, request, &span, &Arc::default()).await {
        Ok(response) => response,
        Err(never) => match never {},
    }
}

/// Handles a request as the listener for operators does on this machine, without a token.
pub async fn respond_to_operator(
    gateway: &Gateway,
    request: Request<Bytes>,
) -> Response<GatewayBody> {
    let admin = Admin::new(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)), None);
    admin.respond(gateway, &Arc::default(), request.map(Full::new)).await
}

/// Reads the journal of a folder, as a gateway does when it starts.
///
/// # Errors
///
/// If its files cannot be read.
pub fn read_journal(folder: &Path) -> Result<()> {
    Journal::open(folder).map(drop)
}

/// Returns whether a file is a copy of the keys that can be used.
pub fn is_copy_of_keys(path: &Path) -> bool {
    sync::load_snapshot(path).is_some()
}
