//! A response as it is stored: bytes with a version and a checksum.

use agentloop::middleware::CacheKey;
use bytes::{Buf as _, Bytes, BytesMut};
use http::{HeaderMap, HeaderName, HeaderValue};
use ring::digest::{Context, SHA256};

use super::MAX_CACHED_BYTES;
use crate::record::Verdict;

/// What every entry begins with. It changes when entries can no longer be read.
const MAGIC: &[u8] = b"agentloop response 1\n";

/// The headers of a response that are stored. Others, such as those about rate limits, are about one call only.
const KEPT: [&str; 5] =
    ["content-type", "cache-control", "openai-version", "openai-model", "x-agentloop-warnings"];

/// A complete, successful response.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Entry {
    pub(crate) headers: HeaderMap,
    /// Whether it is a stream.
    pub(crate) is_stream: bool,
    /// The events of a stream as they arrived, or the one body of a complete response.
    pub(crate) pieces: Vec<Bytes>,
    pub(crate) provider: Option<String>,
    pub(crate) served: Option<String>,
    pub(crate) is_relayed: bool,
}

/// Returns the headers that are sent with a response that another request made.
pub(crate) fn shared_headers(headers: &HeaderMap) -> HeaderMap {
    let known = headers.iter().filter(|(name, _)| KEPT.contains(&name.as_str()));
    known.map(|(name, value)| (name.clone(), value.clone())).collect()
}

impl Entry {
    /// Returns what is known of the response.
    pub(crate) fn verdict(&self) -> Verdict {
        Verdict {
            provider: self.provider.clone(),
            served: self.served.clone(),
            is_relayed: self.is_relayed,
            is_complete: true,
            error: None,
        }
    }

    /// Writes the entry of a key. `None` if it is too large.
    pub(super) fn write(&self, key: &CacheKey) -> Option<Bytes> {
        let pieces: usize = self.pieces.iter().map(|piece| piece.len() + 4).sum();
        if pieces > MAX_CACHED_BYTES {
            return None;
        }
        let mut bytes = BytesMut::with_capacity(MAGIC.len() + 32 + 512 + pieces);
        bytes.extend_from_slice(MAGIC);
        bytes.extend_from_slice(&[0; 32]);
        bytes.extend_from_slice(&[u8::from(self.is_stream), u8::from(self.is_relayed)]);
        put(&mut bytes, self.provider.as_deref().unwrap_or_default().as_bytes())?;
        put(&mut bytes, self.served.as_deref().unwrap_or_default().as_bytes())?;
        let headers = shared_headers(&self.headers);
        bytes.extend_from_slice(&[u8::try_from(headers.len()).ok()?]);
        for (name, value) in &headers {
            put(&mut bytes, name.as_str().as_bytes())?;
            put(&mut bytes, value.as_bytes())?;
        }
        for piece in &self.pieces {
            put(&mut bytes, piece)?;
        }
        if bytes.len() > MAX_CACHED_BYTES {
            return None;
        }
        let checksum = checksum(key, bytes.get(MAGIC.len() + 32..)?);
        bytes.get_mut(MAGIC.len()..MAGIC.len() + 32)?.copy_from_slice(&checksum);
        Some(bytes.freeze())
    }

    /// Reads the entry of a key. `None` if the bytes are not one, or that of another key: they come from a server that others can
    /// write to.
    pub(super) fn read(key: &CacheKey, mut bytes: Bytes) -> Option<Self> {
        if bytes.len() > MAX_CACHED_BYTES || !bytes.starts_with(MAGIC) {
            return None;
        }
        bytes.advance(MAGIC.len());
        let stated = take(&mut bytes, 32)?;
        if stated != checksum(key, &bytes)[..] {
            return None;
        }
        let flags = take(&mut bytes, 2)?;
        let (is_stream, is_relayed) = match (flags.first()?, flags.get(1)?) {
            (stream @ (0 | 1), relayed @ (0 | 1)) => (*stream == 1, *relayed == 1),
            _ => return None,
        };
        let provider = text(&mut bytes)?;
        let served = text(&mut bytes)?;
        let mut headers = HeaderMap::new();
        for _ in 0..*take(&mut bytes, 1)?.first()? {
            let name = text(&mut bytes)?.filter(|name| KEPT.contains(&name.as_str()))?;
            let value = HeaderValue::from_bytes(&next(&mut bytes)?).ok()?;
            headers.insert(HeaderName::try_from(name).ok()?, value);
        }
        let mut pieces = Vec::new();
        while !bytes.is_empty() {
            pieces.push(next(&mut bytes)?);
        }
        let fits = if is_stream { !pieces.is_empty() } else { pieces.len() == 1 };
        fits.then_some(Self { headers, is_stream, pieces, provider, served, is_relayed })
    }
}

/// The key is in the checksum, so an entry under another key is noticed.
fn checksum(key: &CacheKey, bytes: &[u8]) -> [u8; 32] {
    let mut context = Context::new(&SHA256);
    context.update(key.as_bytes());
    context.update(bytes);
    let mut digest = [0; 32];
    digest.copy_from_slice(context.finish().as_ref());
    digest
}

fn put(bytes: &mut BytesMut, piece: &[u8]) -> Option<()> {
    bytes.extend_from_slice(&u32::try_from(piece.len()).ok()?.to_be_bytes());
    bytes.extend_from_slice(piece);
    Some(())
}

fn take(bytes: &mut Bytes, length: usize) -> Option<Bytes> {
    (length <= bytes.len()).then(|| bytes.split_to(length))
}

fn next(bytes: &mut Bytes) -> Option<Bytes> {
    let length = u32::from_be_bytes(take(bytes, 4)?[..].try_into().ok()?);
    take(bytes, usize::try_from(length).ok()?)
}

/// Reads a text; `Some(None)` if it is empty.
fn text(bytes: &mut Bytes) -> Option<Option<String>> {
    let text = String::from_utf8(next(bytes)?.to_vec()).ok()?;
    Some(Some(text).filter(|text| !text.is_empty()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: [u8; 32] = [3; 32];

    fn key() -> CacheKey {
        CacheKey::new(KEY)
    }

    fn entry() -> Entry {
        let mut headers = HeaderMap::new();
        headers.insert("content-type", HeaderValue::from_static("text/event-stream"));
        headers.insert("x-agentloop-warnings", HeaderValue::from_static("[]"));
        Entry {
            headers,
            is_stream: true,
            pieces: vec![Bytes::from_static(b"data: 1\n\n"), Bytes::from_static(b"data: 2\n\n")],
            provider: Some("lab".to_owned()),
            served: None,
            is_relayed: true,
        }
    }

    /// Returns the entry with a checksum that fits, as one who can write to the server would make it.
    fn forged(mut bytes: Vec<u8>) -> Bytes {
        let sum = checksum(&key(), &bytes[MAGIC.len() + 32..]);
        bytes[MAGIC.len()..MAGIC.len() + 32].copy_from_slice(&sum);
        bytes.into()
    }

    #[test]
    fn an_entry_is_read_as_it_was_written() {
        let bytes = entry().write(&key()).unwrap();
        assert_eq!(Entry::read(&key(), bytes).unwrap(), entry());
    }

    #[test]
    fn headers_about_one_call_are_not_stored() {
        let mut one = entry();
        for name in ["x-ratelimit-remaining-requests", "retry-after", "x-provider-request-id"] {
            one.headers.insert(HeaderName::from_static(name), HeaderValue::from_static("1"));
        }
        let bytes = one.write(&key()).unwrap();
        assert_eq!(Entry::read(&key(), bytes).unwrap().headers, entry().headers);
    }

    #[test]
    fn bytes_that_were_changed_cut_or_moved_are_not_read() {
        let bytes = entry().write(&key()).unwrap();
        for at in 0..bytes.len() {
            let mut changed = bytes.to_vec();
            changed[at] ^= 1;
            assert_eq!(Entry::read(&key(), changed.into()), None, "byte {at}");
            assert_eq!(Entry::read(&key(), bytes.slice(..at)), None, "the first {at} bytes");
        }
        assert_eq!(Entry::read(&CacheKey::new([4; 32]), bytes.clone()), None, "another key");
        assert_eq!(Entry::read(&key(), [&bytes[..], b"x"].concat().into()), None);
    }

    #[test]
    fn forged_bytes_never_panic_and_bring_no_other_headers() {
        let good = entry().write(&key()).unwrap();
        for at in MAGIC.len() + 32..good.len() {
            for value in [0, 1, 0x7f, 0xff] {
                let mut bytes = good.to_vec();
                bytes[at] = value;
                if let Some(read) = Entry::read(&key(), forged(bytes)) {
                    assert!(read.headers.keys().all(|name| KEPT.contains(&name.as_str())));
                    assert!(read.pieces.iter().map(Bytes::len).sum::<usize>() < good.len());
                }
            }
            let _ = Entry::read(&key(), forged(good[..at].to_vec()));
        }
        let cookie = good.to_vec();
        let at = cookie.windows(12).position(|window| window == b"content-type").unwrap();
        let mut bytes = cookie;
        bytes[at..at + 12].copy_from_slice(b"set-cookie-x");
        assert_eq!(Entry::read(&key(), forged(bytes)), None);
    }

    #[test]
    fn a_large_response_is_neither_written_nor_read() {
        let mut large = entry();
        large.pieces = vec![Bytes::from(vec![b'x'; 1 << 20]); 5];
        assert_eq!(large.write(&key()), None);
        let mut bytes = entry().write(&key()).unwrap().to_vec();
        bytes.resize(MAX_CACHED_BYTES + 1, 0);
        assert_eq!(Entry::read(&key(), forged(bytes)), None);
    }
}
