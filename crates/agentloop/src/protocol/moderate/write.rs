//! Writes a moderation call.

use serde::Serialize;

use super::conversation;
use crate::chat::{ContentPart, MessageContent, ModerateRequest};
use crate::error::{Error, ErrorKind, Result};
use crate::protocol::Encoded;
use crate::protocol::task::TaskBody;
use crate::provider::Provider;
use crate::provider::quirks::ModerationForm;

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum WirePart<'a> {
    Text { text: &'a str },
    ImageUrl { image_url: WireUrl<'a> },
}

#[derive(Serialize)]
pub(super) struct WireUrl<'a> {
    url: &'a str,
}

pub(in crate::protocol) fn encode(
    provider: &Provider,
    model: &str,
    request: &ModerateRequest,
) -> Result<Encoded> {
    let mut body = TaskBody::json(provider, &request.extra_body);
    body.fixed("model", model)?;
    if !request.messages.is_empty() {
        let path = conversation::write(provider, request, &mut body)?;
        return body.finish(path, "application/json", &request.extra_headers);
    }
    let text = |content: &MessageContent| match content {
        MessageContent::Text(text) => Some(text.clone()),
        MessageContent::Parts(parts) => match parts.as_slice() {
            [ContentPart::Text(part)] => Some(part.text.clone()),
            _ => None,
        },
    };
    let texts: Option<Vec<String>> = request.input.iter().map(text).collect();
    match (texts, request.input.as_slice()) {
        (_, []) => {
            let message = "the request has nothing to moderate";
            return Err(Error::new(ErrorKind::InvalidRequest, message));
        }
        (Some(texts), _) => body.fixed("input", &texts)?,
        (None, [MessageContent::Parts(parts)])
            if provider.quirks.tasks.moderation == ModerationForm::Parts =>
        {
            body.fixed("input", &parts.iter().map(part).collect::<Result<Vec<_>>>()?)?;
        }
        (None, inputs) => {
            let (kind, message) = match provider.quirks.tasks.moderation {
                ModerationForm::TextsAndConversations => {
                    (ErrorKind::Unsupported, format!("{} moderates only texts", provider.name))
                }
                ModerationForm::Parts => (
                    ErrorKind::InvalidRequest,
                    format!(
                        "an input of parts must be the only one, but there are {}",
                        inputs.len()
                    ),
                ),
            };
            return Err(Error::new(kind, message));
        }
    }
    body.finish("/moderations", "application/json", &request.extra_headers)
}

pub(super) fn part(part: &ContentPart) -> Result<WirePart<'_>> {
    match part {
        ContentPart::Text(part) => Ok(WirePart::Text { text: &part.text }),
        ContentPart::ImageUrl { image_url, .. } => {
            Ok(WirePart::ImageUrl { image_url: WireUrl { url: &image_url.url } })
        }
        other => Err(Error::new(
            ErrorKind::Unsupported,
            format!("a `{}` part cannot be moderated", other.kind()),
        )),
    }
}
