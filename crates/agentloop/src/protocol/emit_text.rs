//! Queries about what a decoder has emitted.

use super::Emitter;
use crate::chat::ResponsePart;

impl Emitter {
    /// Returns the id of the response.
    pub(crate) fn id(&self) -> &str {
        &self.fold.response().id
    }

    /// Returns whether the text of the response is the text that was sent: nothing of it has to be undone.
    pub(crate) fn keeps_text(&self) -> bool {
        self.output.is_none()
    }

    /// Returns what has arrived of a part that is a text.
    pub(crate) fn text(&self, choice_index: u32, part_index: u32) -> Option<&str> {
        let mut choices = self.fold.response().choices.iter();
        let choice = choices.find(|choice| choice.index == choice_index)?;
        match choice.content.get(part_index as usize)? {
            ResponsePart::Text(part) => Some(&part.text),
            _ => None,
        }
    }
}
