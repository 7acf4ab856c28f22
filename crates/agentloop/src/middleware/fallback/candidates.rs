//! The models that a call may be answered by.

use std::sync::Arc;

use crate::chat::{Warning, WarningKind};
use crate::client::Target;
use crate::error::{Error, ErrorKind};
use crate::limits::MAX_FALLBACKS;
use crate::middleware::{Next, Request};

/// A model that may answer.
#[derive(Debug)]
pub(super) struct Candidate {
    /// As the request or the list names it.
    name: String,
    /// Where the name leads; a name that leads nowhere fails by itself when it is asked.
    target: Option<Arc<Target>>,
}

/// The model of the request, then those of the list that are not there yet; and how many are too many.
pub(super) fn candidates(asked: &str, list: &[String], next: &Next) -> (Vec<Candidate>, usize) {
    let mut left_out = 0;
    let mut all: Vec<Candidate> = Vec::with_capacity(1 + list.len().min(MAX_FALLBACKS));
    for name in std::iter::once(asked).chain(list.iter().map(String::as_str)) {
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

    /// As `provider/model`, for people; as it is where it leads nowhere.
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

    /// The request for this model, and what was left out for it.
    pub(super) fn request(&self, request: &Request, all: &[Self]) -> (Request, Vec<Warning>) {
        let mut request = request.clone();
        if request.model() != self.name {
            request.set_model(&self.name);
        }
        let mut warnings = Vec::new();
        // The protocol was chosen from those of the provider that was asked.
        let elsewhere = self.provider() != all.first().and_then(Self::provider);
        if elsewhere
            && let Some(protocol) = request.chat_mut().and_then(|chat| chat.protocol.take())
        {
            warnings.push(Warning::new(
                WarningKind::Dropped,
                "protocol",
                format!(
                    "{} is asked in its own protocol, not in {}",
                    self.full_name(),
                    protocol.name()
                ),
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

    /// An answer that leads on, as an error among those of the others.
    pub(super) fn poor(&self) -> Error {
        self.named(Error::new(ErrorKind::Other, "its answer was not accepted"))
    }
}
