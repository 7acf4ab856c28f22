//! The text of a capsule.

use std::io::{Read, Write};

use base64::Engine as _;
use base64::alphabet::URL_SAFE;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use serde::{Deserialize, Serialize};

use super::{MAX_CAPSULE_BYTES, MAX_RESTORED_BYTES};
use crate::chat::ContentPart;
use crate::hash::{FNV64, fnv64};

/// What every capsule begins with. It is base64 of six bytes, so a client that decodes a capsule and encodes it again
/// keeps it.
pub(super) const MARK: &str = "agentlp1";

/// What is between the id of a tool call and its capsule.
const SEPARATOR: &str = "-";

/// How many characters hold the checksum.
const CHECK_BYTES: usize = 6;

/// Some SDKs decode a signature and encode it again, with padding.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &URL_SAFE,
    GeneralPurposeConfig::new()
        .with_encode_padding(false)
        .with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// A part of a response that travels in a capsule.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Entry {
    #[serde(flatten)]
    pub(super) place: Place,
    /// Whether the client sees the part itself. Then `part` has only what the client's API cannot hold.
    #[serde(rename = "s", default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) is_shown: bool,
    #[serde(rename = "p")]
    pub(super) part: ContentPart,
}

/// Where a part is among the parts that the client sees.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Place {
    /// How many parts the client sees before it, apart from thinking.
    #[serde(rename = "n", default, skip_serializing_if = "is_zero")]
    pub(super) shown: u32,
    /// How many of these are tool calls. Clients may merge or leave out texts, but keep the calls.
    #[serde(rename = "c", default, skip_serializing_if = "is_zero")]
    pub(super) calls: u32,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

impl Entry {
    /// A part that the client does not see.
    pub(super) fn hidden(place: Place, part: impl Into<ContentPart>) -> Self {
        Self { place, is_shown: false, part: part.into() }
    }

    /// What belongs to a part that the client sees.
    pub(super) fn shown(place: Place, part: impl Into<ContentPart>) -> Self {
        Self { place, is_shown: true, part: part.into() }
    }
}

/// Returns whether bytes may contain a capsule. A gateway that relays a request checks it first.
///
/// ```
/// assert!(!agentloop::carry::has_capsule(b"{}"));
/// ```
pub fn has_capsule(bytes: &[u8]) -> bool {
    memchr::memmem::find(bytes, MARK.as_bytes()).is_some()
}

/// Writes a capsule. Returns `None` if it would be too long.
pub(super) fn seal(entries: &[Entry]) -> Option<String> {
    let json = serde_json::to_vec(entries).ok()?;
    let mut packed = BASE64.decode(MARK).ok()?;
    packed.extend_from_slice(&checksum(&json));
    let mut encoder = DeflateEncoder::new(packed, Compression::default());
    encoder.write_all(&json).ok()?;
    let text = BASE64.encode(encoder.finish().ok()?);
    (text.len() <= MAX_CAPSULE_BYTES).then_some(text)
}

/// Reads a capsule, and subtracts its size from `budget`. Returns `None` if the text is not a capsule, is damaged, or is
/// larger than the budget.
pub(super) fn open(text: &str, budget: &mut usize) -> Option<Vec<Entry>> {
    if !text.starts_with(MARK) || text.len() > 2 * MAX_CAPSULE_BYTES {
        return None;
    }
    // The other alphabet of base64 differs in two characters.
    let plain = text.replace('+', "-").replace('/', "_");
    let packed = BASE64.decode(plain).ok()?;
    let (check, deflated) = packed.get(CHECK_BYTES..)?.split_at_checked(CHECK_BYTES)?;
    let most = (*budget).min(MAX_RESTORED_BYTES);
    let mut json = Vec::new();
    let mut reader = DeflateDecoder::new(deflated).take(most as u64 + 1);
    reader.read_to_end(&mut json).ok()?;
    if json.len() > most || checksum(&json) != check {
        return None;
    }
    *budget -= json.len();
    serde_json::from_slice(&json).ok()
}

/// Appends a capsule to the id of a tool call.
pub(super) fn with_capsule(id: &str, capsule: &str) -> String {
    format!("{id}{SEPARATOR}{capsule}")
}

/// Splits the id of a tool call into the provider's id and the capsule.
pub(super) fn split_id(id: &str) -> Option<(&str, &str)> {
    let at = id.find(MARK)?;
    let own = id[..at].strip_suffix(SEPARATOR)?;
    Some((own, &id[at..]))
}

fn checksum(json: &[u8]) -> [u8; CHECK_BYTES] {
    let mut check = [0; CHECK_BYTES];
    check.copy_from_slice(&fnv64(FNV64, json).to_le_bytes()[..CHECK_BYTES]);
    check
}
