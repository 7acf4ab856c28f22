//! Stop sequences and token limits.

use agentloop::{ChatStreamEvent, Citation, Fold, PartDelta, PartStart, ResponsePart, Stop};

use super::split::is_token;

/// Truncates the parts before the first stop sequence in their text. Returns `None` if there is no stop sequence.
pub(super) fn cut_at_stop(
    parts: &[ResponsePart],
    stop: Option<&Stop>,
) -> Option<Vec<ResponsePart>> {
    let stops = stop?.as_slice();
    let (at, text, end) = parts.iter().enumerate().find_map(|(at, part)| {
        let ResponsePart::Text(text) = part else {
            return None;
        };
        let found = stops.iter().filter(|stop| !stop.is_empty());
        let end = found.filter_map(|stop| text.text.find(stop)).min()?;
        Some((at, text, end))
    })?;
    let mut kept = parts[..at].to_vec();
    if end > 0 {
        let kept_text = text.text[..end].to_owned();
        let length = kept_text.chars().count() as u64;
        let covered = |citation: &Citation| match citation {
            Citation::Url(url) => url.end_index.is_none_or(|end| end <= length),
            Citation::File(file) => file.end_index.is_none_or(|end| end <= length),
            _ => true,
        };
        let citations = text.citations.iter().filter(|citation| covered(citation));
        kept.push(ResponsePart::Text({
            let mut value = text.clone();
            value.citations = citations.cloned().collect();
            value.text = kept_text;
            value
        }));
    }
    Some(kept)
}

/// Truncates deltas to at most `left` tokens. Returns whether some were removed.
pub(super) fn limit_tokens(deltas: &mut Vec<PartDelta>, left: u64) -> bool {
    let mut tokens = 0;
    let over = deltas.iter().position(|delta| {
        tokens += u64::from(is_token(delta));
        tokens > left
    });
    if let Some(at) = over {
        deltas.truncate(at);
    }
    over.is_some()
}

/// Builds the truncated part that these deltas describe.
pub(super) fn rebuild(part: &ResponsePart, deltas: &[PartDelta]) -> ResponsePart {
    let mut fold = Fold::new();
    let start = ChatStreamEvent::MessageStart {
        id: String::new(),
        model: String::new(),
        provider: String::new(),
        created: None,
        request_id: None,
        output_strategy: None,
        cached: false,
    };
    let open =
        ChatStreamEvent::ContentStart { choice_index: 0, part_index: 0, part: PartStart::of(part) };
    let grow = deltas.iter().map(|delta| ChatStreamEvent::ContentDelta {
        choice_index: 0,
        part_index: 0,
        delta: delta.clone(),
    });
    let events: Vec<ChatStreamEvent> = [start, open].into_iter().chain(grow).collect();
    let folded = events.iter().try_for_each(|event| fold.push(event));
    let partial = fold.partial();
    let made = partial.choices.into_iter().flat_map(|choice| choice.content).next();
    // Deltas that were split from a part always fold.
    match (folded, made) {
        (Ok(()), Some(made)) => made,
        _ => part.clone(),
    }
}
