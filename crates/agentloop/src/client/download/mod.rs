//! Downloads remote media for providers that need their bytes. The encoders stay pure: the bytes are put into the
//! request before it is encoded.

mod fetch;
mod find;

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use futures_util::future::join_all;

use self::fetch::Fetched;
use self::find::Wanted;
use crate::chat::{ChatRequest, Download, MediaOptions, Warning, WarningKind};
use crate::error::{Error, ErrorKind, Result};
use crate::limits::{MAX_MEDIA_AT_ONCE, MAX_MEDIA_PER_REQUEST, MAX_MEDIA_TOTAL_BYTES};
use crate::media::DataUrl;
use crate::provider::Provider;
use crate::secret::mask;
use crate::transport::{HttpTransport, Transport};

/// Downloads media, through transports of its own that have no keys.
#[derive(Debug, Default)]
pub(crate) struct Fetcher {
    pub(crate) options: MediaOptions,
    /// The transport that the caller set.
    pub(crate) transport: Option<Arc<dyn Transport>>,
    public: OnceLock<HttpTransport>,
    any: OnceLock<HttpTransport>,
}

impl Fetcher {
    pub(crate) fn new(options: MediaOptions, transport: Option<Arc<dyn Transport>>) -> Self {
        Self { options, transport, ..Self::default() }
    }

    /// Returns whether nothing is ever downloaded for this request.
    pub(crate) fn is_off(&self, request: &ChatRequest) -> bool {
        request.media.unwrap_or(self.options).download == Download::Never
    }

    /// Returns the request with the bytes of the media that `provider` cannot fetch itself, and a warning for each of
    /// them.
    pub(crate) async fn fetch<'r>(
        &self,
        request: &'r ChatRequest,
        provider: &Provider,
    ) -> Result<(Cow<'r, ChatRequest>, Vec<Warning>)> {
        let options = request.media.unwrap_or(self.options);
        if options.download == Download::Never {
            return Ok((Cow::Borrowed(request), Vec::new()));
        }
        let wanted = find::wanted(request, provider, options.download);
        if wanted.is_empty() {
            return Ok((Cow::Borrowed(request), Vec::new()));
        }
        if wanted.len() > MAX_MEDIA_PER_REQUEST {
            let count = wanted.len();
            return Err(Error::new(
                ErrorKind::TooLarge,
                format!(
                    "the request has {count} media to download, at most {MAX_MEDIA_PER_REQUEST} are allowed"
                ),
            ));
        }
        let mut fetched = self.all(&wanted, &options).await;
        let mut request = request.clone();
        let mut warnings = Vec::new();
        for (index, wanted) in wanted.iter().enumerate() {
            let subject = wanted.subject();
            // Duplicates are downloaded once.
            let first = wanted.same_as.unwrap_or(index);
            let result = match fetched.get_mut(&first) {
                Some(Ok(medium)) => Ok(medium.clone()),
                Some(Err(error)) => Err(error.clone()),
                None => continue,
            };
            match result {
                Ok(medium) => {
                    let place = mask::media_url(&wanted.url);
                    let text = format!(
                        "{subject}: {place} was downloaded, and its {} bytes are sent ({})",
                        medium.size, medium.mime
                    );
                    warnings.push(Warning::new(WarningKind::Converted, subject, text));
                    let data = DataUrl::of_base64(medium.mime, medium.base64);
                    find::put(&mut request, wanted, data);
                }
                Err(error) if request.lenient || wanted.is_generated => {
                    let text = error.message().to_owned();
                    warnings.push(Warning::new(WarningKind::Dropped, subject, text));
                }
                Err(error) => return Err(error),
            }
        }
        Ok((Cow::Owned(request), warnings))
    }

    /// Downloads each distinct medium, a few at a time. The keys are indices of `wanted`.
    async fn all(
        &self,
        wanted: &[Wanted],
        options: &MediaOptions,
    ) -> HashMap<usize, Result<Fetched>> {
        let transport = self.transport(options);
        let distinct: Vec<(usize, &Wanted)> =
            wanted.iter().enumerate().filter(|(_, wanted)| wanted.same_as.is_none()).collect();
        // Each medium is downloaded once, but counts as often as it is in the request.
        let mut uses: HashMap<usize, usize> = HashMap::new();
        for (index, wanted) in wanted.iter().enumerate() {
            *uses.entry(wanted.same_as.unwrap_or(index)).or_default() += 1;
        }
        let mut left = MAX_MEDIA_TOTAL_BYTES;
        let mut all = HashMap::new();
        for group in distinct.chunks(MAX_MEDIA_AT_ONCE) {
            let limit = options.max_bytes.min(left);
            let calls =
                group.iter().map(|(_, wanted)| fetch::one(transport, wanted, options, limit));
            for ((index, wanted), result) in group.iter().zip(join_all(calls).await) {
                let result = result.and_then(|medium| {
                    let uses = uses.get(index).copied().unwrap_or(1);
                    left = left.checked_sub(medium.size.saturating_mul(uses)).ok_or_else(|| {
                        let message = format!(
                            "the media together are larger than {MAX_MEDIA_TOTAL_BYTES} bytes"
                        );
                        fetch::about(wanted, &Error::new(ErrorKind::TooLarge, message))
                    })?;
                    Ok(medium)
                });
                all.insert(*index, result);
            }
        }
        all
    }

    fn transport(&self, options: &MediaOptions) -> &dyn Transport {
        match &self.transport {
            Some(transport) => transport.as_ref(),
            None if options.allow_private => self.any.get_or_init(HttpTransport::new),
            None => self.public.get_or_init(HttpTransport::public),
        }
    }
}
