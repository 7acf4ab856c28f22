//! What several protocols report about messages, in the same words.

use crate::chat::{ChatMessage, ContentPart, Role, TextPart, Warning, WarningKind};

/// Returns a warning whose text begins with its subject.
pub(super) fn warning(kind: WarningKind, subject: String, why: &str) -> Warning {
    let message = format!("{subject}: {why}");
    Warning::new(kind, subject, message)
}

/// What a protocol has no place for in its messages, beside names of authors and cache markers.
pub(super) struct Lacks<F> {
    /// Returns whether a text has citations that are lost.
    pub(super) citations: F,
    /// Why they are.
    pub(super) citations_why: &'static str,
    /// Why the resolution of an image is lost, if it is.
    pub(super) detail_why: Option<&'static str>,
}

impl<F: Fn(&TextPart) -> bool> Lacks<F> {
    /// Warns of what message number `at` has and the protocol has no place for.
    pub(super) fn check(&self, message: &ChatMessage, at: usize, warnings: &mut Vec<Warning>) {
        let mut lost = |name: &str, why| {
            let subject = format!("messages[{at}].{name}");
            warnings.push(warning(WarningKind::Dropped, subject, why));
        };
        let has = |is_lost: &dyn Fn(&ContentPart) -> bool| message.parts().iter().any(is_lost);
        if message.name.is_some() && message.role != Role::Tool {
            lost("name", "the protocol has no names of authors");
        }
        let is_marked = |part: &ContentPart| match part {
            ContentPart::Text(text) => text.cache_control.is_some(),
            ContentPart::ImageUrl { cache_control, .. }
            | ContentPart::File { cache_control, .. } => cache_control.is_some(),
            _ => false,
        };
        if message.cache_control.is_some() || has(&is_marked) {
            lost("cache_control", "the protocol has no cache markers");
        }
        if has(&|part| matches!(part, ContentPart::Text(text) if (self.citations)(text))) {
            lost("content", self.citations_why);
        }
        if let Some(why) = self.detail_why
            && has(
                &|part| matches!(part, ContentPart::ImageUrl { image_url, .. } if image_url.detail.is_some()),
            )
        {
            lost("image_url.detail", why);
        }
    }
}

/// Returns why a part of an earlier response is not sent back. Of audio the caller sends the transcript, if there is one.
pub(super) fn not_in_response(provider: &str, part: &ContentPart) -> String {
    let (what, instead) = match part {
        ContentPart::Audio(audio) if audio.transcript.is_some() => {
            ("audio".to_owned(), ": its transcript is sent")
        }
        ContentPart::Audio(_) => ("audio".to_owned(), ""),
        other => (format!("`{}`", other.kind()), ""),
    };
    format!("{provider} does not accept {what} in messages of the assistant{instead}")
}
