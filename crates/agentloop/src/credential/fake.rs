//! A service for tests, and a home folder.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::collections::{BTreeMap, VecDeque};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Request, Response};
use tokio::time::sleep;

use super::Environment;
use crate::error::{Error, ErrorKind, Result};
use crate::lock::lock;
use crate::provider::transport::BoxFuture;
use crate::transport::{Body, SendOptions, Transport};

/// What a service was asked.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    /// The method and the URL.
    pub(super) place: String,
    pub(super) headers: HeaderMap,
    pub(super) body: String,
}

type Responses = BTreeMap<String, VecDeque<(u16, Vec<(String, String)>, Vec<u8>)>>;

/// A service that responds by method and URL, and remembers what it was asked.
#[derive(Debug, Default)]
pub(super) struct Fake {
    responses: Mutex<Responses>,
    asked: Mutex<Vec<Asked>>,
    /// How long every response takes.
    delay: Mutex<Duration>,
}

impl Fake {
    pub(super) fn responds(&self, place: &str, status: u16, body: impl Into<Vec<u8>>) {
        self.responds_with(place, status, &[], body);
    }

    pub(super) fn responds_with(
        &self,
        place: &str,
        status: u16,
        headers: &[(&str, &str)],
        body: impl Into<Vec<u8>>,
    ) {
        lock(&self.responses).remove(place);
        self.then_responds(place, status, headers, body);
    }

    /// Responds like this once the responses before have been used, each once. The last one stays.
    pub(super) fn then_responds(
        &self,
        place: &str,
        status: u16,
        headers: &[(&str, &str)],
        body: impl Into<Vec<u8>>,
    ) {
        let headers = headers.iter().map(|(name, value)| ((*name).into(), (*value).into()));
        let response = (status, headers.collect(), body.into());
        lock(&self.responses).entry(place.to_owned()).or_default().push_back(response);
    }

    pub(super) fn is_slow(&self, delay: Duration) {
        *lock(&self.delay) = delay;
    }

    pub(super) fn asked(&self) -> Vec<Asked> {
        lock(&self.asked).clone()
    }

    pub(super) fn places(&self) -> Vec<String> {
        lock(&self.asked).iter().map(|asked| asked.place.clone()).collect()
    }
}

#[derive(Clone, Debug)]
pub(super) struct Shared(pub(super) Arc<Fake>);

impl Transport for Shared {
    fn send<'a>(
        &'a self,
        request: Request<Bytes>,
        options: SendOptions,
    ) -> BoxFuture<'a, Result<Response<Body>>> {
        assert!(options.no_redirects, "a redirect could take a secret elsewhere");
        Box::pin(async move {
            let place = format!("{} {}", request.method(), request.uri());
            let body = String::from_utf8(request.body().to_vec()).unwrap();
            let headers = request.headers().clone();
            lock(&self.0.asked).push(Asked { place: place.clone(), headers, body });
            let delay = *lock(&self.0.delay);
            if !delay.is_zero() {
                sleep(delay).await;
            }
            let next = |responses: &mut VecDeque<_>| match responses.len() {
                1 => responses.front().cloned(),
                _ => responses.pop_front(),
            };
            match lock(&self.0.responses).get_mut(&place).and_then(next) {
                Some((status, headers, body)) => {
                    let mut response = Response::builder().status(status);
                    for (name, value) in headers {
                        response = response.header(name, value);
                    }
                    Ok(response.body(Body::whole(body)).unwrap())
                }
                None => Err(Error::new(ErrorKind::Connection, "connection refused")),
            }
        })
    }
}

/// A home folder that is removed at the end.
pub(super) struct Home(pub(super) PathBuf);

impl Home {
    pub(super) fn new() -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("agentloop-credential-{}-{count}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    /// Writes a file, and returns its path.
    pub(super) fn write(&self, name: &str, text: &str) -> String {
        let path = self.0.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A service, a home folder and an environment.
pub(super) struct World {
    pub(super) fake: Arc<Fake>,
    pub(super) home: Home,
    variables: BTreeMap<String, String>,
}

impl World {
    pub(super) fn new(variables: &[(&str, &str)]) -> Self {
        let home = Home::new();
        let mut world = Self { fake: Arc::default(), variables: BTreeMap::new(), home };
        let path = world.home.0.display().to_string();
        world.set("HOME", &path);
        for (name, value) in variables {
            world.set(name, value);
        }
        world
    }

    pub(super) fn set(&mut self, name: &str, value: &str) {
        self.variables.insert(name.to_owned(), value.to_owned());
    }

    pub(super) fn look_up(&self) -> impl Fn(&str) -> Option<String> + Send + Sync + '_ {
        |name: &str| self.variables.get(name).cloned()
    }

    /// Authorizes a request to `url`.
    pub(super) async fn authorize(
        &self,
        credential: &dyn super::Credential,
        url: &str,
    ) -> Result<Request<Bytes>> {
        let mut request = Request::post(url).body(Bytes::from_static(b"{}")).unwrap();
        let look_up = self.look_up();
        credential.authorize(&mut request, Environment::new(&look_up)).await?;
        assert!(request.headers()["authorization"].is_sensitive());
        Ok(request)
    }

    pub(super) fn check(&self, credential: &dyn super::Credential) -> Result<()> {
        let look_up = self.look_up();
        credential.check(Environment::new(&look_up))
    }

    pub(super) fn variable(
        &self,
        credential: &dyn super::Credential,
        name: &str,
    ) -> Option<String> {
        let look_up = self.look_up();
        credential.variable(name, Environment::new(&look_up))
    }
}
