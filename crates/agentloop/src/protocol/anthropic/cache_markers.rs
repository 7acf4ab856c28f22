//! Limits prompt-cache markers: a request may have four. OpenAI's protocols have no such limit.

use serde::Serialize;
use serde_json::Value;

use super::message::WireMessage;
use super::parts::Block;
use super::tools::WireTool;
use crate::chat::{CacheControl, Warning, WarningKind};

/// The most markers of a request.
const MOST: usize = 4;

/// A marker on the wire.
#[skip_serializing_none]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(super) struct WireCache {
    r#type: &'static str,
    ttl: Option<&'static str>,
}

impl WireCache {
    const SHORT: Self = Self { r#type: "ephemeral", ttl: None };
}

impl From<CacheControl> for WireCache {
    fn from(cache: CacheControl) -> Self {
        match cache {
            CacheControl::EphemeralHour => Self { ttl: Some("1h"), ..Self::SHORT },
            _ => Self::SHORT,
        }
    }
}

/// Leaves at most four markers: those of tools and instructions, which every message shares, then the latest of the
/// conversation, for the earlier ones lie inside what those cover. `automatic` counts the caller's own.
pub(super) fn limit(
    tools: &mut [WireTool<'_>],
    system: &mut [Block<'_>],
    wire_messages: &mut [WireMessage<'_>],
    automatic: usize,
    warnings: &mut Vec<Warning>,
) {
    let own = |tool: &WireTool<'_>| matches!(tool, WireTool::Provider(fields) if fields.get("cache_control").is_some_and(Value::is_object));
    let taken = automatic + tools.iter().filter(|tool| own(tool)).count();
    let mut free = MOST.saturating_sub(taken);
    let mut dropped = 0;
    let mut keep = |place: &mut Option<WireCache>| {
        if place.is_none() {
            return;
        }
        if free == 0 {
            *place = None;
            dropped += 1;
        } else {
            free -= 1;
        }
    };
    for tool in tools.iter_mut() {
        if let WireTool::Function { cache_control, .. } = tool {
            keep(cache_control);
        }
    }
    system.iter_mut().for_each(|block| keep(&mut block.cache_control));
    for message in wire_messages.iter_mut().rev() {
        message.content.0.iter_mut().rev().for_each(|block| keep(&mut block.cache_control));
    }
    if dropped > 0 {
        warnings.push(Warning::new(
            WarningKind::Dropped,
            "cache_control",
            format!(
                "cache_control: at most {MOST} markers are accepted; {dropped} more are left out"
            ),
        ));
    }
    hours_first(tools, system, wire_messages, warnings);
}

/// Checks that markers of an hour come before those of five minutes, as the API requires.
fn hours_first(
    tools: &mut [WireTool<'_>],
    system: &mut [Block<'_>],
    wire_messages: &mut [WireMessage<'_>],
    warnings: &mut Vec<Warning>,
) {
    let mut short = false;
    let mut changed = false;
    let mut order = |place: &mut Option<WireCache>| match place {
        Some(cache) if cache.ttl.is_none() => short = true,
        Some(cache) if short => {
            *cache = WireCache::SHORT;
            changed = true;
        }
        _ => {}
    };
    for tool in tools {
        if let WireTool::Function { cache_control, .. } = tool {
            order(cache_control);
        }
    }
    system.iter_mut().for_each(|block| order(&mut block.cache_control));
    for message in wire_messages {
        message.content.0.iter_mut().for_each(|block| order(&mut block.cache_control));
    }
    if changed {
        warnings.push(Warning::new(
            WarningKind::Clamped,
            "cache_control",
            "cache_control: a marker for an hour after one for five minutes is sent as one for five minutes",
        ));
    }
}
