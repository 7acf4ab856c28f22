#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

use super::*;

#[test]
fn vectors_of_one_model_with_one_length_are_kept_together() {
    let mut space = Space::new("openai/text-embedding-3-small", None);
    assert_eq!(space.add("openai/text-embedding-3-small", 3), Ok(()));
    assert_eq!(space.add("openrouter/openai/Text-Embedding-3-small", 3), Ok(()));
    let other = space.add("openai/text-embedding-3-large", 3).unwrap_err();
    assert!(other.contains("cannot be compared"), "{other}");
    let longer = space.add("openai/text-embedding-3-small", 4).unwrap_err();
    assert!(longer.contains("4 numbers, but the earlier ones have 3"), "{longer}");
}

#[test]
fn an_output_of_another_model_or_length_is_not_continued() {
    let path = Path::new("out.jsonl");
    let mut space = Space::new("openai/a", Some(8));
    assert!(space.continue_from("openai/a", "openai/a-2026", 8, path).is_ok());
    assert!(space.continue_from("openai/b", "openai/b", 8, path).is_err());
    assert!(space.continue_from("openai/a", "openai/a-2026", 9, path).is_err());
    assert!(space.continue_from("openai/a", "openai/c", 8, path).is_err());
}
