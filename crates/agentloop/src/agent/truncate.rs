//! Truncates results that are too long.

use super::tool::ToolOutput;
use crate::chat::{ContentPart, MessageContent};

/// Returns the beginning and the end of an output, together about `limit` characters; `None` if the output is not longer.
/// Parts other than text are kept.
pub(super) fn truncate_to_chars(output: &ToolOutput, limit: usize) -> Option<ToolOutput> {
    match &output.content {
        MessageContent::Text(text) => head_and_tail(text, limit).map(ToolOutput::text),
        MessageContent::Parts(parts) => {
            let mut left = limit;
            let mut cut = false;
            let parts: Vec<ContentPart> = parts
                .iter()
                .cloned()
                .map(|mut part| {
                    if let ContentPart::Text(text) = &mut part {
                        if let Some(short) = head_and_tail(&text.text, left) {
                            text.text = short;
                            cut = true;
                        }
                        left = left.saturating_sub(text.text.chars().count());
                    }
                    part
                })
                .collect();
            cut.then(|| ToolOutput::parts(parts))
        }
    }
}

/// Returns the size of an output in bytes: its text, and its other parts as JSON.
pub(super) fn output_bytes(output: &ToolOutput) -> usize {
    match &output.content {
        MessageContent::Text(text) => text.len(),
        MessageContent::Parts(parts) => parts.iter().map(part_bytes).sum(),
    }
}

fn part_bytes(part: &ContentPart) -> usize {
    /// The size of a part without its text.
    const PART: usize = 64;
    /// Counts the bytes that are written.
    struct Count(usize);
    impl std::io::Write for Count {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 = self.0.saturating_add(bytes.len());
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    match part {
        ContentPart::Text(text) if text.provider_state.is_none() && text.citations.is_empty() => {
            text.text.len().saturating_add(PART)
        }
        other => {
            let mut count = Count(PART);
            // A part that cannot be written cannot be sent either, so its size does not matter.
            let _ = serde_json::to_writer(&mut count, other);
            count.0
        }
    }
}

/// Returns the output cut to about `left` bytes, with a note that the results of this `of` (a step or a run) are too large
/// together; `None` if it fits.
pub(super) fn truncate_to_bytes(output: &ToolOutput, left: usize, of: &str) -> Option<ToolOutput> {
    if output_bytes(output) <= left {
        return None;
    }
    let note = |what: String| {
        format!("… [{what} left out: the results of this {of} are too large together] …")
    };
    let cut = |text: &str, left: usize| {
        let tail = text.ceil_char_boundary(text.len() - (left / 3).min(text.len()));
        let head = text.floor_char_boundary((left - left / 3).min(tail));
        let note = note(format!("{} bytes", tail - head));
        format!("{}\n{note}\n{}", &text[..head], &text[tail..])
    };
    let parts = match &output.content {
        MessageContent::Text(text) => return Some(ToolOutput::text(cut(text, left))),
        MessageContent::Parts(parts) => parts,
    };
    let mut left = left;
    let mut kept = Vec::new();
    for (at, part) in parts.iter().enumerate() {
        if left == 0 {
            kept.push(ContentPart::text(note(format!("{} parts", parts.len() - at))));
            break;
        }
        let size = part_bytes(part);
        kept.push(match part {
            part if size <= left => part.clone(),
            ContentPart::Text(text) => ContentPart::text(cut(&text.text, left)),
            other => ContentPart::text(note(format!("a part of the kind `{}`", other.kind()))),
        });
        // A media part that does not fit leaves its room to the text after it.
        let is_text = matches!(part, ContentPart::Text(_));
        left = left.saturating_sub(if size <= left || is_text { size } else { 256 });
    }
    Some(ToolOutput::parts(kept))
}

/// Returns two thirds of the limit from the beginning and one third from the end; `None` if the text is not longer.
fn head_and_tail(text: &str, limit: usize) -> Option<String> {
    // A text has no more characters than bytes.
    if text.len() <= limit {
        return None;
    }
    let count = text.chars().count();
    if count <= limit {
        return None;
    }
    let tail = limit / 3;
    let head = limit - tail;
    let at = |chars: usize| text.char_indices().nth(chars).map_or(text.len(), |(at, _)| at);
    let left_out = count - limit;
    Some(format!(
        "{}\n… [{left_out} characters left out] …\n{}",
        &text[..at(head)],
        &text[at(count - tail)..]
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_keeps_its_beginning_and_its_end() {
        let text = format!("{}{}", "ä".repeat(100), "z".repeat(50));
        let short = head_and_tail(&text, 30).unwrap();
        assert_eq!(
            short,
            format!("{}\n… [120 characters left out] …\n{}", "ä".repeat(20), "z".repeat(10))
        );
        assert_eq!(head_and_tail("short", 5), None);
        assert_eq!(head_and_tail("ää", 2), None);
    }

    #[test]
    fn images_are_kept_and_texts_share_the_limit() {
        let output = ToolOutput::parts([
            ContentPart::text("a".repeat(20)),
            ContentPart::image_url("data:image/png;base64,AAAA"),
            ContentPart::text("b".repeat(20)),
        ]);
        let short = truncate_to_chars(&output, 25).unwrap();
        assert!(short.to_text().starts_with(&"a".repeat(20)));
        assert!(short.to_text().contains("15 characters left out"));
        let MessageContent::Parts(parts) = short.content else { unreachable!() };
        assert_eq!(parts.len(), 3);
    }
}
