//! Reads the token counts.
//!
//! `inputTokens` does not include what was read from or written to a cache (ai-sdk amazon-bedrock 4.0.186). Where the total is the
//! sum of input and output alone, it does: the total is what is billed.

use serde_json::Value;

use crate::chat::{Reported, Usage, UsageDetails};
use crate::error::{Error, ErrorKind, Result};
use crate::protocol::fill::fill;
use crate::protocol::json::read_value;
use crate::protocol::lenient::{Int, List, Object};
use crate::protocol::rest::{Kept, Rest};
use crate::protocol::{Emitter, ReportedCost, error_body, exceptions};
use crate::provider::Provider;

#[derive(Debug, Default)]
pub(super) struct WireUsage<'a> {
    input: Int,
    output: Int,
    total: Int,
    cache_read: Int,
    cache_write: Int,
    /// The same counts under the names that some models use (recording bedrock-json-citations-pdf-in-d45f14bd).
    cache_read_count: Int,
    cache_write_count: Int,
    cache_details: List<CacheDetail>,
    server_tools: Object<std::collections::BTreeMap<String, Int>>,
    rest: Rest<'a>,
}

fill!(WireUsage {
    "inputTokens" => input,
    "outputTokens" => output,
    "totalTokens" => total,
    "cacheReadInputTokens" => cache_read,
    "cacheWriteInputTokens" => cache_write,
    "cacheReadInputTokenCount" => cache_read_count,
    "cacheWriteInputTokenCount" => cache_write_count,
    "cacheDetails" => cache_details,
    "serverToolUsage" => server_tools;
} rest except);

/// What was written to a cache for a time.
#[derive(Debug, Default, serde::Deserialize)]
#[serde(default)]
struct CacheDetail {
    ttl: Option<Value>,
    #[serde(rename = "inputTokens")]
    input: Int,
}

impl WireUsage<'_> {
    /// Emits the counts, and keeps those that have no unified name.
    pub(super) fn emit(&self, kept: &mut Kept, emitter: &mut Emitter) {
        kept.keep(&self.rest);
        let reported = self.reported();
        if !reported.usage.is_empty() {
            emitter.usage(reported, ReportedCost::Absent);
        }
    }

    fn reported(&self) -> Reported {
        let count = |first: Int, second: Int| first.unsigned().or(second.unsigned());
        let read = count(self.cache_read, self.cache_read_count);
        let written = count(self.cache_write, self.cache_write_count);
        let (mut input, output) = (self.input.unsigned(), self.output.unsigned());
        let mut total = self.total.unsigned();
        let cached = read.unwrap_or(0).saturating_add(written.unwrap_or(0));
        if let Some(tokens) = &mut input
            && cached > 0
        {
            let is_within = cached <= *tokens
                && output.is_some_and(|output| total == Some(tokens.saturating_add(output)));
            if !is_within {
                *tokens = tokens.saturating_add(cached);
                total = None;
            }
        }
        let is_hour = |detail: &&CacheDetail| detail.ttl.as_ref().is_some_and(|ttl| ttl == "1h");
        let hour = self.cache_details.0.iter().filter(is_hour);
        let hour = hour.filter_map(|detail| detail.input.unsigned()).reduce(u64::saturating_add);
        let tools = self.server_tools.0.iter().flatten();
        Reported::from(Usage {
            prompt_tokens: input,
            completion_tokens: output,
            total_tokens: total,
            details: UsageDetails {
                cached_tokens: read,
                cache_write_tokens: written,
                cache_write_hour_tokens: hour,
                server_tool_requests: tools
                    .filter_map(|(name, count)| Some((name.clone(), count.unsigned()?)))
                    .collect(),
                ..UsageDetails::default()
            },
        })
    }
}

/// Reads the response to a call that counts tokens.
pub(super) fn decode_count(provider: &Provider, body: &[u8]) -> Result<u64> {
    let value = read_value(body).unwrap_or_default();
    value.get("inputTokens").and_then(Value::as_u64).ok_or_else(|| {
        if error_body::is_bare_error(body) {
            return exceptions::in_body(&provider.name, body);
        }
        Error::new(ErrorKind::Protocol, "the response has no `inputTokens`")
            .with_provider(provider.name.as_ref())
            .with_raw(body)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::json::fill_json;

    fn usage(json: &str) -> Usage {
        let mut wire = WireUsage::default();
        fill_json(json.as_bytes(), &mut wire).unwrap();
        wire.reported().reconcile().0
    }

    #[test]
    fn the_total_decides_whether_the_input_includes_the_cache() {
        let beside = usage(
            r#"{"inputTokens":9,"outputTokens":5,"totalTokens":114,"cacheReadInputTokens":70,"cacheWriteInputTokens":30,
                "cacheDetails":[{"ttl":"1h","inputTokens":20},{"ttl":"5m","inputTokens":10}]}"#,
        );
        assert_eq!((beside.prompt_tokens, beside.total_tokens), (Some(109), Some(114)));
        let details = &beside.details;
        assert_eq!((details.cached_tokens, details.cache_write_tokens), (Some(70), Some(30)));
        assert_eq!(details.cache_write_hour_tokens, Some(20));
        let within = usage(
            r#"{"inputTokens":100,"outputTokens":5,"totalTokens":105,"cacheReadInputTokens":70}"#,
        );
        assert_eq!((within.prompt_tokens, within.total_tokens), (Some(100), Some(105)));
        // More than the input cannot be within it.
        let more = usage(
            r#"{"inputTokens":9,"outputTokens":5,"totalTokens":14,"cacheReadInputTokenCount":70}"#,
        );
        assert_eq!((more.prompt_tokens, more.total_tokens), (Some(79), Some(84)));
        let absent = usage(r#"{"inputTokens":9,"outputTokens":5,"cacheReadInputTokens":7}"#);
        assert_eq!((absent.prompt_tokens, absent.total_tokens), (Some(16), Some(21)));
    }

    #[test]
    fn numbers_that_cannot_be_are_no_numbers() {
        let odd = usage(r#"{"inputTokens":-1,"outputTokens":"x","totalTokens":1e300}"#);
        assert!(odd.is_empty(), "{odd:?}");
        let huge = usage(
            r#"{"inputTokens":9223372036854775807,"outputTokens":1,"cacheReadInputTokens":9223372036854775807,
                "cacheWriteInputTokens":9223372036854775807}"#,
        );
        assert_eq!(huge.prompt_tokens, Some(u64::MAX));
    }
}
