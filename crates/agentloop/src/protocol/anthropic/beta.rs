//! Requests features with the header `anthropic-beta`. No other protocol has such a header.

use http::{HeaderMap, HeaderName};

use super::tools::WireTool;
use crate::chat::{ChatMessage, ContentPart};
use crate::media::{Medium, Source};
use crate::protocol::{client_tools, headers};

const HEADER: HeaderName = HeaderName::from_static("anthropic-beta");

/// Files that were uploaded earlier, by id. SDKs send it with every `file_id`; without it the API responds with 400.
const FILES: &str = "files-api-2025-04-14";

/// Adds the values that the messages and the tools need to the header, in addition to those of the provider and the
/// caller.
pub(super) fn add(headers: &mut HeaderMap, messages: &[ChatMessage], tools: &[WireTool<'_>]) {
    let is_uploaded = |part: &ContentPart| {
        let medium = part.is_medium().then(|| Medium::of(part).ok().flatten()).flatten();
        medium.is_some_and(|medium| matches!(medium.source, Source::Id(_)))
    };
    if messages.iter().any(|message| message.parts().iter().any(is_uploaded)) {
        ask(headers, FILES);
    }
    for tool in tools {
        if let WireTool::Provider(form) = tool
            && let Some(beta) = client_tools::beta(form)
        {
            ask(headers, &beta);
        }
    }
}

/// Takes the values out of the headers: InvokeModel has them in the body (anthropic SDK 2.9: `lib/bedrock/_client.py`).
pub(super) fn take(headers: &mut HeaderMap) -> Option<Vec<String>> {
    let list = headers.remove(HEADER)?;
    let betas = list.to_str().ok()?.split(',').map(str::trim).filter(|beta| !beta.is_empty());
    Some(betas.map(str::to_owned).collect())
}

fn ask(headers: &mut HeaderMap, beta: &str) {
    headers::add_to_list(headers, &HEADER, beta);
}
