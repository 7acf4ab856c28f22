//! What operators see and change: metrics, the admin API and the dashboard.

mod body;
mod guard;
mod keys;
mod ledger;
mod overview;
mod page;
mod query;
mod reply;
mod rows;
mod teams;
mod token;
mod usage;

use std::net::SocketAddr;
use std::sync::Arc;

use agentloop::Secret;
use bytes::Bytes;
use http::header::{ALLOW, CONTENT_TYPE};
use http::request::Parts;
use http::{HeaderValue, Method, Request, Response, StatusCode};
use http_body::Body;
use tokio::sync::Semaphore;

use self::ledger::Ledger;
use self::reply::{Problem, harden, problem};
use self::token::Gate;
pub use self::token::{MIN_ADMIN_TOKEN_BYTES, check_admin_token};
use crate::Gateway;
use crate::connections::Usage;
use crate::head;
use crate::store::Store;
use crate::stream::GatewayBody;

/// The most exports of rows at the same time. Each keeps a page of rows in memory.
const MAX_EXPORTS: usize = 2;

/// An admin listener.
#[derive(Debug)]
pub(crate) struct Admin {
    gate: Gate,
    /// Whether only programs of this machine can reach it.
    is_loopback: bool,
    ledger: Ledger,
    exports: Arc<Semaphore>,
}

impl Admin {
    pub(crate) fn new(address: SocketAddr, token: Option<Secret>) -> Self {
        let is_loopback = address.ip().is_loopback();
        let exports = Arc::new(Semaphore::new(MAX_EXPORTS));
        Self { gate: Gate::new(token), is_loopback, ledger: Ledger::default(), exports }
    }

    /// Responds to an operator.
    pub(crate) async fn respond<B>(
        &self,
        gateway: &Gateway,
        usage: &Arc<Usage>,
        request: Request<B>,
    ) -> Response<GatewayBody>
    where
        B: Body<Data = Bytes>,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let (head, body) = request.into_parts();
        let mut response = match self.route(gateway, usage, &head, body).await {
            Ok(response) => response,
            Err(problem) => problem.into_response(),
        };
        harden(response.headers_mut());
        response
    }

    async fn route<B>(
        &self,
        gateway: &Gateway,
        usage: &Arc<Usage>,
        head: &Parts,
        body: B,
    ) -> Result<Response<GatewayBody>, Problem>
    where
        B: Body<Data = Bytes>,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        head::check(head)
            .map_err(|message| problem(StatusCode::BAD_REQUEST, head::AMBIGUOUS, message))?;
        let path = head.uri.path();
        if let Some(response) = health(gateway, &head.method, path) {
            return Ok(response);
        }
        guard::check_host(self.is_loopback, head)?;
        // The page has no data of its own, and asks for the token.
        if let Some(response) = page::find(&head.method, path) {
            return Ok(response);
        }
        guard::check_site(head)?;
        self.gate.check(&head.headers).await?;
        let in_use = usage.begin();
        let response = self.pass(gateway, head, body).await?;
        Ok(response.map(|body| body.held(in_use)))
    }

    /// Responds to a request that has shown the token.
    async fn pass<B>(
        &self,
        gateway: &Gateway,
        head: &Parts,
        body: B,
    ) -> Result<Response<GatewayBody>, Problem>
    where
        B: Body<Data = Bytes>,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let path = head.uri.path();
        if head.method == Method::GET && path == "/metrics" {
            return Ok(metrics(gateway));
        }
        let Some(rest) = path.strip_prefix("/api/") else {
            return Err(problem(
                StatusCode::NOT_FOUND,
                "unknown_url",
                "this listener has the dashboard at /, /api/…, /metrics, /health/live and /health/ready",
            ));
        };
        if !self.is_loopback && self.gate.is_open() {
            let message = "other machines can reach this listener, so its API needs a token: set `admin_token_env`";
            return Err(problem(StatusCode::FORBIDDEN, "token_required", message));
        }
        self.api(gateway, head, rest, body).await
    }

    async fn api<B>(
        &self,
        gateway: &Gateway,
        head: &Parts,
        path: &str,
        body: B,
    ) -> Result<Response<GatewayBody>, Problem>
    where
        B: Body<Data = Bytes>,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let (kind, name) = path.split_once('/').unwrap_or((path, ""));
        let is_single = path.contains('/');
        let query = head.uri.query().unwrap_or_default();
        match (kind, &head.method, is_single) {
            ("overview", &Method::GET, false) => {
                overview::respond(gateway, &self.ledger, query).await
            }
            ("usage", &Method::GET, false) => usage::respond(&*store(gateway)?, query).await,
            ("rows", &Method::GET, false) => {
                rows::respond(store(gateway)?, Arc::clone(&self.exports), query).await
            }
            ("keys", &Method::GET, false) => keys::list(&*store(gateway)?, query).await,
            ("keys", &Method::POST, false) => {
                let body = body::read(gateway, head, body).await?;
                keys::create(gateway, &*store(gateway)?, body).await
            }
            ("keys", &Method::PATCH, true) => {
                let body = body::read(gateway, head, body).await?;
                keys::update(gateway, &*store(gateway)?, &query::name(name)?, body).await
            }
            ("keys", &Method::DELETE, true) => {
                keys::revoke(&*store(gateway)?, &query::name(name)?).await
            }
            ("teams", &Method::GET, false) => teams::list(&*store(gateway)?).await,
            ("teams", &Method::GET, true) => {
                teams::show(&*store(gateway)?, &query::name(name)?).await
            }
            ("teams", &Method::PUT, true) => {
                let body = body::read(gateway, head, body).await?;
                teams::put(&*store(gateway)?, &query::name(name)?, body).await
            }
            ("teams", &Method::DELETE, true) => {
                teams::remove(&*store(gateway)?, &query::name(name)?).await
            }
            ("overview" | "usage" | "rows", _, false) => Err(not_allowed("GET")),
            ("keys", _, false) => Err(not_allowed("GET, POST")),
            ("keys", _, true) => Err(not_allowed("PATCH, DELETE")),
            ("teams", _, false) => Err(not_allowed("GET")),
            ("teams", _, true) => Err(not_allowed("GET, PUT, DELETE")),
            _ => Err(problem(
                StatusCode::NOT_FOUND,
                "unknown_url",
                "the API has /api/overview, /api/usage, /api/rows, /api/keys and /api/teams",
            )),
        }
    }
}

/// Returns the store, or why there is none.
fn store(gateway: &Gateway) -> Result<Arc<dyn Store>, Problem> {
    gateway.store().ok_or_else(|| {
        problem(
            StatusCode::SERVICE_UNAVAILABLE,
            "no_store",
            "this gateway has no database, so there are no stored keys and no ledger",
        )
    })
}

fn not_allowed(methods: &'static str) -> Problem {
    let message = format!("the method is not allowed here; use {methods}");
    problem(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", message)
        .with_header(ALLOW, methods)
}

fn health(gateway: &Gateway, method: &Method, path: &str) -> Option<Response<GatewayBody>> {
    let text = match (method, path) {
        (&Method::GET | &Method::HEAD, "/health/live") => "ok\n".to_owned(),
        (&Method::GET | &Method::HEAD, "/health/ready") => gateway.accounts().readiness(),
        _ => return None,
    };
    let mut response = Response::new(GatewayBody::whole(text));
    let kind = HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(CONTENT_TYPE, kind);
    Some(response)
}

fn metrics(gateway: &Gateway) -> Response<GatewayBody> {
    let mut text = gateway.metrics().write();
    gateway.accounts().write_metrics(&mut text);
    let mut response = Response::new(GatewayBody::whole(text));
    let kind = HeaderValue::from_static("text/plain; version=0.0.4");
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}
