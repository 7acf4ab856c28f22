//! The error type of the library.

mod record;

use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::chat::ChatResponse;
pub use crate::chat::ErrorKind;
use crate::limits::MAX_ERROR_RAW_BYTES;
use crate::secret::echo::Echo;

/// The error of a call: what happened, at which provider, and what to do next.
///
/// - [`kind`](Self::kind) is what programs match on. It determines what can be done about the error.
/// - [`is_retryable`](Self::is_retryable) is whether the same call may succeed later.
/// - [`partial`](Self::partial) is the part of the response that arrived before a stream failed.
/// - [`raw`](Self::raw) is the body that the provider sent, for details that have no field.
/// - The text is for people and may change between versions. `{}` is one line (with the errors of other attempts below
///   it), `{:?}` adds the hint, the request id and the sources, and `{:#?}` shows all fields.
///
/// ```
/// use agentloop::{Error, ErrorKind};
///
/// let error = Error::new(ErrorKind::MissingKey, "no key is set")
///     .with_provider("groq")
///     .with_hint("set GROQ_API_KEY");
/// assert_eq!(format!("{error:?}"), "groq: no key is set\n  hint: set GROQ_API_KEY");
/// assert!(format!("{error:#?}").contains("MissingKey"));
/// ```
#[derive(Clone)]
pub struct Error(Box<Inner>);

#[derive(Clone)]
struct Inner {
    kind: ErrorKind,
    message: String,
    provider: Option<String>,
    model: Option<String>,
    status: Option<u16>,
    code: Option<String>,
    param: Option<String>,
    retryable: bool,
    retry_after: Option<Duration>,
    request_id: Option<String>,
    hint: Option<String>,
    raw: Option<String>,
    /// Shared, because an error is copied on its way, and a response can be large.
    partial: Option<Arc<ChatResponse>>,
    causes: Vec<Error>,
    source: Option<Arc<dyn StdError + Send + Sync>>,
    /// Whether the provider had started to respond, if that is known.
    began: Option<bool>,
}

/// A `Result` whose error is an [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// Creates an error of this kind. The kind decides whether it is retryable, unless [`with_retryable`](Self::with_retryable) is called.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self(Box::new(Inner {
            kind,
            message: message.into(),
            provider: None,
            model: None,
            status: None,
            code: None,
            param: None,
            retryable: kind.is_retryable(),
            retry_after: None,
            request_id: None,
            hint: None,
            raw: None,
            partial: None,
            causes: Vec::new(),
            source: None,
            began: None,
        }))
    }

    /// Returns the kind of the error, for programs to match on.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// Returns what happened, in the words of the provider if it sent any.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// Returns the provider that failed, or `None` if the call did not reach one.
    pub fn provider(&self) -> Option<&str> {
        self.0.provider.as_deref()
    }

    /// Returns the model that was called.
    pub fn model(&self) -> Option<&str> {
        self.0.model.as_deref()
    }

    /// Returns the HTTP status. Some providers report it inside a response of status 200.
    pub fn status(&self) -> Option<u16> {
        self.0.status
    }

    /// Returns the provider's own error code.
    pub fn code(&self) -> Option<&str> {
        self.0.code.as_deref()
    }

    /// Returns the parameter of the request that the provider complains about, by the provider's name for it.
    pub fn param(&self) -> Option<&str> {
        self.0.param.as_deref()
    }

    /// Returns whether the same call may succeed later.
    pub fn is_retryable(&self) -> bool {
        self.0.retryable
    }

    /// Returns how long to wait before the next attempt, as the provider requests.
    pub fn retry_after(&self) -> Option<Duration> {
        self.0.retry_after
    }

    /// Returns the request id, which the provider's support asks for.
    pub fn request_id(&self) -> Option<&str> {
        self.0.request_id.as_deref()
    }

    /// Returns what to do about the error.
    pub fn hint(&self) -> Option<&str> {
        self.0.hint.as_deref()
    }

    /// Returns the body of the response, or the bytes that could not be parsed: at most
    /// [`MAX_ERROR_RAW_BYTES`](crate::limits::MAX_ERROR_RAW_BYTES) of them. Keys are replaced by `***`.
    pub fn raw(&self) -> Option<&str> {
        self.0.raw.as_deref()
    }

    /// Returns the part of the response that arrived before a stream failed, or the complete response if it arrived but
    /// was not acceptable.
    pub fn partial(&self) -> Option<&ChatResponse> {
        self.0.partial.as_deref()
    }

    /// Returns the errors of the other attempts, if there were several: those of all models for
    /// [`AllFailed`](ErrorKind::AllFailed), else those that preceded this one, oldest first.
    pub fn causes(&self) -> &[Error] {
        &self.0.causes
    }

    /// Returns whether the provider may have started to respond, which costs money: not after an error status or a connection that
    /// was never made, but after a timeout, a broken connection or a truncated response.
    pub fn may_have_begun(&self) -> bool {
        let silent = matches!(
            self.kind(),
            ErrorKind::Timeout
                | ErrorKind::Connection
                | ErrorKind::IncompleteStream
                | ErrorKind::Protocol
                | ErrorKind::TooLarge
                | ErrorKind::Cancelled
        );
        // After a broken connection it is not known.
        self.began().unwrap_or(self.status().is_none() && silent)
    }

    /// Returns whether the provider had started to respond, which may cost money. `None` if that is not known.
    pub(crate) fn began(&self) -> Option<bool> {
        self.0.began
    }

    /// Sets whether the provider had started to respond.
    pub(crate) fn with_began(mut self, began: bool) -> Self {
        self.0.began = Some(began);
        self
    }

    setters! {
        /// Sets the provider, unless one is set already.
        with_provider(self, provider: impl Into<String>) =>
            self.0.provider.get_or_insert_with(|| provider.into());

        /// Sets the model, unless one is set already.
        with_model(self, model: impl Into<String>) =>
            self.0.model.get_or_insert_with(|| model.into());
    }

    /// Adds the part of the request that the error is about, before the message.
    #[must_use]
    pub(crate) fn about(mut self, what: &str) -> Self {
        self.0.message = format!("{what}: {}", self.0.message);
        self
    }

    /// Removes a secret from everything that the provider sent.
    pub(crate) fn hide(&mut self, secret: &Echo) {
        let inner = &mut *self.0;
        let said = [
            &mut inner.code,
            &mut inner.param,
            &mut inner.request_id,
            &mut inner.hint,
            &mut inner.raw,
        ];
        let id =
            inner.partial.as_mut().and_then(|partial| Arc::make_mut(partial).request_id.as_mut());
        for text in said.into_iter().flatten().chain([&mut inner.message]).chain(id) {
            secret.remove(text);
        }
        inner.causes.iter_mut().for_each(|cause| cause.hide(secret));
    }

    setters! {
        /// Sets the HTTP status.
        with_status(self, status: u16) => self.0.status = Some(status);

        /// Sets the provider's error code.
        with_code(self, code: impl Into<String>) => self.0.code = Some(code.into());

        /// Sets the parameter of the request that the provider complains about.
        with_param(self, param: impl Into<String>) => self.0.param = Some(param.into());
    }

    /// Sets the kind, and with it whether the error is retryable.
    #[must_use]
    pub(crate) fn with_kind(mut self, kind: ErrorKind) -> Self {
        self.0.kind = kind;
        self.0.retryable = kind.is_retryable();
        self
    }

    setters! {
        /// Sets whether the error is retryable.
        with_retryable(self, retryable: bool) => self.0.retryable = retryable;

        /// Sets the wait that the provider asks for, [`MAX_TIMEOUT`](crate::limits::MAX_TIMEOUT) at most.
        with_retry_after(self, wait: Option<Duration>) =>
            self.0.retry_after = wait.map(|wait| wait.min(crate::limits::MAX_TIMEOUT));
    }

    /// Sets the provider's request id.
    #[must_use]
    pub fn with_request_id(mut self, id: Option<String>) -> Self {
        if id.is_some() {
            self.0.request_id = id;
        }
        self
    }

    setters! {
        /// Sets what to do about the error.
        with_hint(self, hint: impl Into<String>) => self.0.hint = Some(hint.into());
    }

    /// Sets the bytes that caused the error. Only the first [`MAX_ERROR_RAW_BYTES`](crate::limits::MAX_ERROR_RAW_BYTES)
    /// are kept.
    #[must_use]
    pub fn with_raw(mut self, raw: &[u8]) -> Self {
        let mut text = String::from_utf8_lossy(&raw[..raw.len().min(MAX_ERROR_RAW_BYTES)]);
        // The cut may be inside a character, and bytes that are not UTF-8 become longer when they are replaced.
        if text.len() > MAX_ERROR_RAW_BYTES || raw.len() > MAX_ERROR_RAW_BYTES {
            let end = text.floor_char_boundary(MAX_ERROR_RAW_BYTES);
            let kept = text[..end].trim_end_matches('\u{fffd}').len();
            text.to_mut().truncate(kept);
        }
        self.0.raw = Some(text.into_owned());
        self
    }

    setters! {
        /// Sets the part of the response that arrived.
        with_partial(self, partial: ChatResponse) => self.0.partial = Some(Arc::new(partial));

        /// Sets the errors of the other attempts.
        with_causes(self, causes: Vec<Error>) => self.0.causes = causes;

        /// Sets the error that caused this one.
        with_source(self, source: impl StdError + Send + Sync + 'static) =>
            self.0.source = Some(Arc::new(source));
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = |provider: &&str| {
            let rest = self.0.message.strip_prefix(provider);
            rest.is_some_and(|rest| rest.starts_with(' '))
        };
        // Many messages begin with the name already.
        if let Some(provider) = self.provider().filter(|provider| !names(provider)) {
            write!(f, "{provider}: ")?;
        }
        f.write_str(&self.0.message)?;
        match (self.status(), self.code()) {
            (Some(status), Some(code)) => write!(f, " (status {status}, {code})")?,
            (Some(status), None) => write!(f, " (status {status})")?,
            (None, Some(code)) => write!(f, " ({code})")?,
            (None, None) => {}
        }
        for cause in self.causes() {
            write!(f, "\n  - {}", cause.to_string().replace('\n', "\n  "))?;
        }
        Ok(())
    }
}

/// `{:?}` is readable, because a `main` that returns an error prints it so: the text, the hint, the request id and the
/// sources. `{:#?}` shows all fields.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !f.alternate() {
            write!(f, "{self}")?;
            if let Some(hint) = self.hint() {
                write!(f, "\n  hint: {hint}")?;
            }
            if let Some(id) = self.request_id() {
                write!(f, "\n  request id: {id}")?;
            }
            let mut source = self.source();
            while let Some(cause) = source {
                write!(f, "\n  caused by: {}", cause.to_string().replace('\n', "\n  "))?;
                source = cause.source();
            }
            return Ok(());
        }
        let mut debug = f.debug_struct("Error");
        debug.field("kind", &self.0.kind).field("message", &self.0.message);
        let text = [
            ("provider", &self.0.provider),
            ("model", &self.0.model),
            ("code", &self.0.code),
            ("param", &self.0.param),
            ("request_id", &self.0.request_id),
            ("hint", &self.0.hint),
            ("raw", &self.0.raw),
        ];
        for (name, value) in text {
            if let Some(value) = value {
                debug.field(name, value);
            }
        }
        if let Some(status) = self.0.status {
            debug.field("status", &status);
        }
        debug.field("retryable", &self.0.retryable);
        if let Some(wait) = self.0.retry_after {
            debug.field("retry_after", &wait);
        }
        if let Some(partial) = &self.0.partial {
            debug.field("partial", partial);
        }
        if !self.0.causes.is_empty() {
            debug.field("causes", &self.0.causes);
        }
        if let Some(source) = &self.0.source {
            debug.field("source", source);
        }
        debug.finish()
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.0.source.as_deref().map(|source| source as &(dyn StdError + 'static))
    }
}

impl PartialEq for Error {
    /// Compares everything except the sources.
    fn eq(&self, other: &Self) -> bool {
        let (a, b) = (&*self.0, &*other.0);
        a.kind == b.kind
            && a.message == b.message
            && a.provider == b.provider
            && a.model == b.model
            && a.status == b.status
            && a.code == b.code
            && a.param == b.param
            && a.hint == b.hint
            && a.raw == b.raw
            && a.causes == b.causes
            && a.retryable == b.retryable
            && a.retry_after == b.retry_after
            && a.request_id == b.request_id
            && a.partial == b.partial
    }
}
