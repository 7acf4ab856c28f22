//! The models that a call may try.

use std::sync::Arc;

use crate::chat::{Warning, WarningKind};
use crate::error::{Error, ErrorKind};
use crate::limits::MAX_FALLBACKS;
use crate::middleware::{Next, Request};
use crate::provider::Target;

/// A model that a call may try.
#[derive(Debug)]
pub(super) struct Candidate {
    /// The name in the request or the list.
    name: String,
    /// The model that the name resolves to. Calling a name that does not resolve fails.
    target: Option<Arc<Target>>,
}

/// Returns the model of the request and the distinct ones of the list, and how many were left out because there are too many.
pub(super) fn candidates(requested: &str, list: &[String], next: &Next) -> (Vec<Candidate>, usize) {
    let mut left_out = 0;
    let mut all: Vec<Candidate> = Vec::with_capacity(1 + list.len().min(MAX_FALLBACKS));
    for name in std::iter::once(requested).chain(list.iter().map(String::as_str)) {
        let candidate = Candidate::new(name, next);
        if all.iter().any(|known| known.is(&candidate)) {
            continue;
        }
        if all.len() < MAX_FALLBACKS {
            all.push(candidate);
        } else {
            left_out += 1;
        }
    }
    (all, left_out)
}

impl Candidate {
    fn new(name: &str, next: &Next) -> Self {
        Self { name: name.to_owned(), target: next.target(name).ok() }
    }

    /// Returns the name as `provider/model`, or unchanged if it does not resolve.
    pub(super) fn full_name(&self) -> String {
        match &self.target {
            Some(target) => format!("{}/{}", target.provider.name, target.model),
            None => self.name.clone(),
        }
    }

    pub(super) fn target(&self) -> Option<&Target> {
        self.target.as_deref()
    }

    fn provider(&self) -> Option<&str> {
        self.target.as_ref().map(|target| target.provider.name.as_ref())
    }

    fn is(&self, other: &Self) -> bool {
        match (&self.target, &other.target) {
            (Some(a), Some(b)) => a.provider.name == b.provider.name && a.model == b.model,
            _ => self.name == other.name,
        }
    }

    /// Returns the request for this model, with warnings about what it leaves out.
    pub(super) fn request(&self, request: &Request, all: &[Self]) -> (Request, Vec<Warning>) {
        let mut request = request.clone();
        if request.model() != self.name {
            request.set_model(&self.name);
        }
        let mut warnings = Vec::new();
        // The protocol was chosen for the provider of the request.
        let elsewhere = self.provider() != all.first().and_then(Self::provider);
        if elsewhere
            && let Some(protocol) = request.chat_mut().and_then(|chat| chat.protocol.take())
        {
            warnings.push(Warning::new(
                WarningKind::Dropped,
                "protocol",
                format!("{} uses its own protocol, not {}", self.full_name(), protocol.name()),
            ));
        }
        (request, warnings)
    }

    pub(super) fn named(&self, error: Error) -> Error {
        match &self.target {
            Some(target) => {
                error.with_provider(target.provider.name.as_ref()).with_model(&target.model)
            }
            None => error,
        }
    }

    /// Returns the error that represents a response that was not accepted.
    pub(super) fn poor(&self) -> Error {
        self.named(Error::new(ErrorKind::Other, "its response was not accepted"))
    }
}
