//! Cache points: blocks of their own, behind what is cached. Other protocols have markers on blocks, or none.

use serde::ser::SerializeSeq as _;
use serde::{Serialize, Serializer};

use super::message::WireMessage;
use super::parts::{Block, BlockBody};
use super::tools::WireTool;
use crate::chat::{CacheControl, Warning, WarningKind};

/// The most cache points of a request, of Claude and of Nova models.
const MOST: usize = 4;

/// A cache point on the wire.
#[skip_serializing_none]
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct CachePoint {
    r#type: &'static str,
    ttl: Option<&'static str>,
}

impl From<CacheControl> for CachePoint {
    fn from(cache: CacheControl) -> Self {
        let ttl = (cache == CacheControl::EphemeralHour).then_some("1h");
        Self { r#type: "default", ttl }
    }
}

/// Blocks, with the cache points behind them.
#[derive(Debug)]
pub(super) struct Blocks<'b, 'a>(pub(super) &'b [Block<'a>]);

impl Serialize for Blocks<'_, '_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(None)?;
        for block in self.0 {
            list.serialize_element(&block.body)?;
            if let Some(cache) = block.cache {
                list.serialize_element(&BlockBody::CachePoint(cache.into()))?;
            }
        }
        list.end()
    }
}

/// Leaves at most four cache points: those of tools and instructions, which every message shares, then the latest of the
/// conversation, for the earlier ones lie inside what those cover. Those of an hour come before those of five minutes, as the models
/// require it.
pub(super) fn limit(
    tools: &mut [WireTool<'_>],
    system: &mut [Block<'_>],
    wire_messages: &mut [WireMessage<'_>],
    warnings: &mut Vec<Warning>,
) {
    let mut shared: Vec<&mut Option<CacheControl>> = Vec::new();
    shared.extend(tools.iter_mut().map(|tool| &mut tool.cache));
    shared.extend(system.iter_mut().map(|block| &mut block.cache));
    let blocks = wire_messages.iter_mut().flat_map(|message| message.content.iter_mut());
    let mut places: Vec<&mut Option<CacheControl>> = blocks.map(|block| &mut block.cache).collect();
    let (mut free, mut dropped) = (MOST, 0);
    for place in shared.iter_mut().chain(places.iter_mut().rev()).filter(|it| it.is_some()) {
        match free {
            0 => {
                **place = None;
                dropped += 1;
            }
            _ => free -= 1,
        }
    }
    let mut warn = |kind, why: String| {
        warnings.push(Warning::new(kind, "cache_control", format!("cache_control: {why}")));
    };
    if dropped > 0 {
        let why = format!("at most {MOST} markers are accepted; {dropped} more are left out");
        warn(WarningKind::Dropped, why);
    }
    let (mut is_short, mut is_changed) = (false, false);
    for place in shared.into_iter().chain(places) {
        match place {
            Some(CacheControl::EphemeralHour) if is_short => {
                *place = Some(CacheControl::Ephemeral);
                is_changed = true;
            }
            Some(CacheControl::EphemeralHour) | None => {}
            Some(_) => is_short = true,
        }
    }
    if is_changed {
        let why = "a marker for an hour after one for five minutes is sent as one for five minutes";
        warn(WarningKind::Clamped, why.to_owned());
    }
}
