//! The beginning and the end of what is too long.

use super::tool::ToolOutput;
use crate::request::{ContentPart, MessageContent};

/// The output with at most about `limit` characters of text: the beginning and the end; `None` when it is not longer.
/// Parts that are no text stay.
pub(super) fn shorten(output: &ToolOutput, limit: usize) -> Option<ToolOutput> {
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

/// Two thirds from the beginning, one from the end.
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
    fn pictures_stay_and_texts_share_the_room() {
        let output = ToolOutput::parts([
            ContentPart::text("a".repeat(20)),
            ContentPart::image_url("data:image/png;base64,AAAA"),
            ContentPart::text("b".repeat(20)),
        ]);
        let short = shorten(&output, 25).unwrap();
        assert!(short.to_text().starts_with(&"a".repeat(20)));
        assert!(short.to_text().contains("15 characters left out"));
        let MessageContent::Parts(parts) = short.content else { unreachable!() };
        assert_eq!(parts.len(), 3);
    }
}
