//! Which provider made state in an OpenAI-compatible message that does not name its origin.

/// State that only one provider returns in this form.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum StateForm {
    /// `audio: {"id": …}`, which stands for the audio in later requests.
    AudioId,
    /// `reasoning_details`.
    ReasoningDetails,
    /// A tool call of type `custom`: a tool without a schema.
    CustomCall,
}

/// The name of the provider that a form comes from. It is data of the form, like the name of a vendor in `extra_content`: the state is
/// sent back to the provider of this name and to no other.
const MAKERS: [(StateForm, &str); 3] = [
    (StateForm::AudioId, "openai"),
    (StateForm::ReasoningDetails, "openrouter"),
    (StateForm::CustomCall, "openai"),
];

impl StateForm {
    /// Returns the name of the provider that the form comes from.
    pub(crate) fn maker(self) -> &'static str {
        MAKERS.iter().find(|(form, _)| *form == self).map_or("", |(_, maker)| maker)
    }
}
