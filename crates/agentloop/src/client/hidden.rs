//! What a request shows to its provider alone. Some hosts say a wrong key again when they refuse it.

use http::{HeaderValue, Request};

use crate::error::Error;
use crate::secret::echo::Echo;
use crate::secret::mask;

/// The secrets of one request.
#[derive(Clone, Default)]
pub(crate) struct Hidden {
    // Nearly always there is one, which is not worth a list.
    header: Option<HeaderValue>,
    more: Vec<String>,
}

impl Hidden {
    pub(crate) fn of<B>(request: &Request<B>) -> Self {
        let mut hidden = Self::default();
        for value in request.headers().values().filter(|value| value.is_sensitive()) {
            match (&hidden.header, value.to_str()) {
                (None, _) => hidden.header = Some(value.clone()),
                (Some(_), Ok(text)) => hidden.more.push(text.to_owned()),
                (Some(_), Err(_)) => {}
            }
        }
        let uri = request.uri();
        if uri.query().is_some() || uri.authority().is_some_and(|host| host.as_str().contains('@'))
        {
            hidden.more.extend(mask::secrets(&uri.to_string()));
        }
        hidden
    }

    /// The error without them.
    pub(crate) fn hide(&self, mut error: Error) -> Error {
        self.echoes().for_each(|secret| error.hide(&secret));
        error
    }

    /// Returns them in the form that finds them in what the provider sends.
    pub(crate) fn echoes(&self) -> impl Iterator<Item = Echo> {
        let header = self.header.as_ref().and_then(|value| value.to_str().ok());
        let secrets = header.into_iter().chain(self.more.iter().map(String::as_str));
        // The word before a key (`Bearer`) is not a secret, and need not come with it.
        secrets.map(|secret| Echo::of(secret.rsplit(' ').next().unwrap_or(secret)))
    }
}
