//! Keys in every place where a key can be, and none of them in anything that is shown.

mod calls;
mod echo;
mod listen;
mod shown;

/// A different secret for each place, which shows where a leak comes from.
pub(crate) fn hush(place: &str) -> String {
    format!("hush-{place}-4711")
}

/// Whether a text shows one of them.
pub(crate) fn leak(text: &str) -> Option<&str> {
    let at = text.find("hush-")?;
    Some(&text[at..text.len().min(at + 40)])
}

#[track_caller]
pub(crate) fn assert_silent(what: &str, text: &str) {
    assert_eq!(leak(text), None, "{what} shows a secret: {text}");
}
