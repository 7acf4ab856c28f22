//! Writes the methods that requests share.

/// Writes the methods that all requests share; without an argument also that of requests whose responses can be cached.
macro_rules! call_setters {
    () => {
        call_setters!(uncached);

        setters! {
            /// Sets how a [cache](crate::middleware::Cache) treats this request, if the client has one.
            cache(cache: CacheMode);
        }
    };
    (uncached) => {
        /// Adds a field to the request's body, under the provider's own name.
        #[must_use]
        pub fn extra(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
            self.extra_body.insert(name.into(), value.into());
            self
        }

        /// Adds a header. It never replaces a header that authenticates.
        #[must_use]
        pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
            self.extra_headers.insert(name.into(), value.into());
            self
        }

        /// Adds a label that [`Costs`](crate::middleware::Costs) counts the call under. It is not sent.
        #[must_use]
        pub fn tag(mut self, tag: impl Into<String>) -> Self {
            self.tags.push(tag.into());
            self
        }

        /// Sets the models to use when this one fails, for the [`Fallback`](crate::middleware::Fallback) middleware.
        #[must_use]
        pub fn fallbacks<T: Into<String>>(mut self, models: impl IntoIterator<Item = T>) -> Self {
            self.fallbacks = models.into_iter().map(Into::into).collect();
            self
        }

        /// Requests the response as the provider sent it, beside the unified one: see [`include_raw`](Self#structfield.include_raw).
        #[must_use]
        pub fn include_raw(mut self) -> Self {
            self.include_raw = true;
            self
        }

        setters! {
            /// Sets how long to wait, in place of the client's setting.
            timeouts(timeouts: Timeouts);
        }
    };
}

pub(super) use call_setters;
