//! A provider and one of its models, with what calls need to know about the two.

use std::borrow::Cow;
use std::sync::{Arc, Mutex, OnceLock};

use http::{HeaderMap, HeaderName, HeaderValue};

use super::Provider;
use super::credential::CredentialSource;
use super::model::ModelTraits;
use super::region::region_of_url;
use crate::error::Result;
use crate::lock::lock;
use crate::models::{ModelData, PriceBook, Restriction};
use crate::secret::Secret;

/// A provider and one of its models.
///
/// ```
/// use agentloop::AgentLoop;
///
/// let target = AgentLoop::from_env().resolve("groq/openai/gpt-oss-20b")?;
/// assert_eq!((target.provider.name.as_ref(), target.model.as_str()), ("groq", "openai/gpt-oss-20b"));
/// # Ok::<(), agentloop::Error>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Target {
    /// The provider.
    pub provider: Arc<Provider>,
    /// The model, as the provider names it.
    pub model: String,
    known: Known,
}

/// What is the same for every call to a target. Each field is set when it is first needed, so a further call does not
/// work it out again.
#[derive(Default)]
struct Known {
    traits: OnceLock<ModelTraits>,
    /// The model in another protocol of the provider.
    by_protocol: OnceLock<Arc<Target>>,
    restrictions: OnceLock<Vec<Restriction>>,
    /// The prices of the model; `None` if they are not known.
    price: OnceLock<Option<Arc<ModelData>>>,
    base_url: OnceLock<String>,
    headers: KnownHeaders,
    /// How chats are relayed: for complete responses, and for streams.
    #[cfg(feature = "serve")]
    relayed: [OnceLock<RelayShape>; 2],
    /// The provider's own key, and the header that has it.
    key: OnceLock<(Secret, HeaderValue)>,
}

/// Where relayed chats of a target are sent, and with which headers.
#[cfg(feature = "serve")]
#[derive(Clone)]
pub(crate) struct RelayShape {
    pub(crate) method: http::Method,
    pub(crate) path: Cow<'static, str>,
    pub(crate) headers: HeaderMap,
}

/// How many headers are added to those of a relayed chat: the key, the host, the length of the body, and one of a protocol.
#[cfg(feature = "serve")]
const ADDED_HEADERS: usize = 4;

/// How many headers a request has room for: its own, the key, and those of the transport. hyper reads the head of the response into the
/// same map.
const ROOM_FOR_HEADERS: usize = 12;

/// The largest map of headers that is kept for another request.
const MAX_SPARE_HEADERS: usize = 48;

/// The headers that every chat to a target has: of complete responses, and of streams.
#[derive(Default)]
pub(crate) struct KnownHeaders {
    known: [OnceLock<Vec<(HeaderName, HeaderValue)>>; 2],
    /// The map of an earlier response, empty. A map for a dozen headers is a large allocation.
    spare: Mutex<Option<HeaderMap>>,
}

impl KnownHeaders {
    /// Returns a copy of the headers. `build` creates them for the first call.
    ///
    /// # Errors
    ///
    /// When `build` fails.
    pub(crate) fn get(
        &self,
        stream: bool,
        build: impl FnOnce() -> Result<HeaderMap>,
    ) -> Result<HeaderMap> {
        let place = &self.known[usize::from(stream)];
        let known = match place.get() {
            Some(known) => known,
            None => {
                let headers = build()?;
                let each = headers.iter().map(|(name, value)| (name.clone(), value.clone()));
                place.get_or_init(|| each.collect())
            }
        };
        let spare = lock(&self.spare).take();
        let mut headers = spare.unwrap_or_else(|| HeaderMap::with_capacity(ROOM_FOR_HEADERS));
        for (name, value) in known {
            headers.insert(name.clone(), value.clone());
        }
        Ok(headers)
    }

    /// Takes the headers of a response that are no longer needed. Their map is the next request's.
    pub(crate) fn recycle(&self, mut headers: HeaderMap) {
        if headers.capacity() <= MAX_SPARE_HEADERS {
            headers.clear();
            *lock(&self.spare) = Some(headers);
        }
    }
}

/// Copies headers. A clone would have no room for the key and for the headers of the transport.
#[cfg(feature = "serve")]
fn copy_with_room(known: &HeaderMap) -> HeaderMap {
    let mut headers = HeaderMap::with_capacity(known.len() + ADDED_HEADERS);
    headers.extend(known.iter().map(|(name, value)| (name.clone(), value.clone())));
    headers
}

/// A copy of a target may be changed by its owner, so nothing is known about it.
impl Clone for Known {
    fn clone(&self) -> Self {
        Self::default()
    }
}

// Shows nothing: it has keys.
shown! { Known: self { } }

shown! { KnownHeaders: self { } }

impl Target {
    pub(crate) fn new(provider: Arc<Provider>, model: impl Into<String>) -> Self {
        Self { provider, model: model.into(), known: Known::default() }
    }

    /// Returns what is known of the model.
    pub(crate) fn traits(&self) -> &ModelTraits {
        self.known.traits.get_or_init(|| self.provider.model_traits(&self.model))
    }

    /// Returns the headers of chats.
    #[inline]
    pub(crate) fn headers(&self) -> &KnownHeaders {
        &self.known.headers
    }

    /// Returns how chats are relayed. `build` works it out for the first one.
    ///
    /// # Errors
    ///
    /// When `build` fails.
    #[cfg(feature = "serve")]
    pub(crate) fn relay_shape(
        &self,
        stream: bool,
        build: impl FnOnce() -> Result<RelayShape>,
    ) -> Result<RelayShape> {
        let place = &self.known.relayed[usize::from(stream)];
        let known = match place.get() {
            Some(known) => known,
            None => {
                let shape = build()?;
                place.get_or_init(|| shape)
            }
        };
        let RelayShape { method, path, headers } = known;
        let (method, path) = (method.clone(), path.clone());
        Ok(RelayShape { method, path, headers: copy_with_room(headers) })
    }

    /// Returns the restrictions of the model, in the provider's own protocol.
    pub(crate) fn restrictions(&self) -> &[Restriction] {
        self.known.restrictions.get_or_init(|| {
            let mut rows = Vec::new();
            let visited = self.provider.each_restriction(&self.model, |row| {
                if row.is_about(&self.model) {
                    rows.push(row.clone());
                }
                Ok(())
            });
            debug_assert!(visited.is_ok(), "nothing in it fails");
            rows
        })
    }

    /// Returns the model if it has prices. `base_url` is the target's own.
    pub(crate) fn priced<'u>(
        &self,
        prices: &PriceBook,
        base_url: impl FnOnce() -> Option<Cow<'u, str>>,
    ) -> Option<Arc<ModelData>> {
        let found = || self.priced_in(prices, self.price_region(base_url).as_deref());
        self.known.price.get_or_init(found).clone()
    }

    /// Returns the model if it has prices in a region.
    pub(crate) fn priced_in(
        &self,
        prices: &PriceBook,
        region: Option<&str>,
    ) -> Option<Arc<ModelData>> {
        prices.model(&self.provider.catalog, &self.provider.name, &self.model, region)
    }

    /// Returns the region of calls to a base URL, if the provider's prices depend on it.
    pub(crate) fn price_region<'u>(
        &self,
        base_url: impl FnOnce() -> Option<Cow<'u, str>>,
    ) -> Option<String> {
        // Regions have prices of their own only at Amazon.
        match self.provider.credential {
            CredentialSource::Aws(_) | CredentialSource::Custom(_) => region_of_url(&base_url()?),
            _ => None,
        }
    }

    /// Returns the base URL, which `resolve` determines for the first call.
    pub(super) fn base_url<'t>(
        &'t self,
        resolve: impl FnOnce(&'t Provider) -> Result<Cow<'t, str>>,
    ) -> Result<&'t str> {
        if let Some(known) = self.known.base_url.get() {
            return Ok(known);
        }
        let url = resolve(&self.provider)?;
        Ok(self.known.base_url.get_or_init(|| url.into_owned()))
    }

    /// Returns the target in another protocol, from `derive` if it is the first one that is wanted.
    pub(super) fn by_protocol(&self, derive: impl FnOnce() -> Arc<Self>) -> &Arc<Self> {
        self.known.by_protocol.get_or_init(derive)
    }

    /// Returns whether `key` is the provider's own and its header is known, so it need not be checked again.
    pub(crate) fn has_known_key(&self, key: &Secret) -> bool {
        self.known.key.get().is_some_and(|(known, _)| known == key)
    }

    /// Returns the value of the header that has `key`, which is the provider's own. Keys of requests and of derived
    /// clients are not kept, because they are not this client's.
    ///
    /// # Errors
    ///
    /// When the key cannot be sent in a header.
    pub(crate) fn key_header(&self, key: &Secret) -> Result<HeaderValue> {
        if let Some((known, value)) = self.known.key.get()
            && known == key
        {
            return Ok(value.clone());
        }
        let value = self.provider.auth.header_value(key)?;
        // If the key changes, for example in its file, the first one stays known and the new header is made at every call.
        self.known.key.get_or_init(|| (key.clone(), value.clone()));
        Ok(value)
    }
}

#[cfg(test)]
mod tests {
    use http::header::ACCEPT;

    use super::*;
    use crate::error::{Error, ErrorKind};

    fn target() -> Target {
        let lab = Provider::openai_compatible("lab", "http://lab.invalid/v1");
        Target::new(Arc::new(lab), "m")
    }

    #[test]
    fn every_key_gets_its_own_header() {
        let target = target();
        for key in ["sk-first", "sk-other", "sk-first"] {
            let value = target.key_header(&Secret::new(key)).unwrap();
            assert_eq!(value.to_str().unwrap(), format!("Bearer {key}"));
            assert!(value.is_sensitive());
        }
        assert!(target.key_header(&Secret::new("sk-\n")).is_err());
        assert!(!format!("{target:?}").contains("sk-first"));
    }

    #[test]
    fn the_map_of_a_response_is_used_again_without_its_headers() {
        let known = KnownHeaders::default();
        let build = || Ok(HeaderMap::from_iter([(ACCEPT, HeaderValue::from_static("a"))]));
        assert!(known.get(false, || Err(Error::new(ErrorKind::Config, "no"))).is_err());
        let mut first = known.get(false, build).unwrap();
        assert!(first.capacity() >= ROOM_FOR_HEADERS && first.len() == 1);
        first.append("set-cookie", HeaderValue::from_static("1"));
        first.append("set-cookie", HeaderValue::from_static("2"));
        known.recycle(first);
        for _ in 0..2 {
            let again = known.get(false, build).unwrap();
            assert_eq!((again.len(), &again[ACCEPT]), (1, &HeaderValue::from_static("a")));
        }
        known.recycle(HeaderMap::with_capacity(1000));
        assert!(known.get(false, build).unwrap().capacity() <= MAX_SPARE_HEADERS);
    }

    #[test]
    fn a_copy_of_a_target_can_be_changed() {
        let target = target();
        assert_eq!(
            target.base_url(|row| Ok(Cow::Borrowed(&row.base_url))).unwrap(),
            "http://lab.invalid/v1"
        );
        let mut copy = target.clone();
        copy.provider = Arc::new(Provider::anthropic_compatible("lab", "http://other.invalid"));
        assert_eq!(
            copy.base_url(|row| Ok(Cow::Borrowed(&row.base_url))).unwrap(),
            "http://other.invalid"
        );
        let key = Secret::new("sk-key");
        assert_eq!(target.key_header(&key).unwrap(), "Bearer sk-key");
        assert_eq!(copy.key_header(&key).unwrap(), "sk-key");
    }

    #[test]
    fn a_base_url_that_failed_is_tried_again() {
        let target = target();
        let failed = |_: &Provider| Err(Error::new(ErrorKind::Config, "incomplete"));
        assert!(target.base_url(failed).is_err());
        assert!(target.base_url(|row| Ok(Cow::Borrowed(&row.base_url))).is_ok());
        assert!(target.base_url(failed).is_ok(), "it is known");
    }
}
