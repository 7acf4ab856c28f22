//! Stop sequences and token limits.

use agentloop::{
    ChatStreamEvent, Citation, Fold, PartDelta, PartStart, ResponsePart, Stop, TextPart,
};

use super::split::is_token;

/// Cuts the parts before the first stop sequence in their text; `None` when there is none.
pub(super) fn stopped(parts: &[ResponsePart], stop: Option<&Stop>) -> Option<Vec<ResponsePart>> {
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
        kept.push(ResponsePart::Text(TextPart {
            citations: citations.cloned().collect(),
            text: kept_text,
            ..text.clone()
        }));
    }
    Some(kept)
}

/// Leaves at most `left` tokens of a part's steps; `true` when some had to go.
pub(super) fn limit(deltas: &mut Vec<PartDelta>, left: u64) -> bool {
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

/// The part that these steps make, which are not all of it.
pub(super) fn rebuilt(part: &ResponsePart, deltas: &[PartDelta]) -> ResponsePart {
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
    // Steps that were split from the part always fold.
    match (folded, made) {
        (Ok(()), Some(made)) => made,
        _ => part.clone(),
    }
}
