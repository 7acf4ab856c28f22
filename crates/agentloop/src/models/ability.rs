//! The abilities of a model.

use serde::{Deserialize, Serialize};

macro_rules! abilities {
    ($($(#[$doc:meta])* $field:ident = $letter:literal,)*) => {
        /// The abilities of a model: yes, no, or `None` if it is not known.
        #[skip_serializing_none]
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(default, deny_unknown_fields)]
        #[non_exhaustive]
        pub struct Abilities {
            $($(#[$doc])* #[serde(skip_serializing_if = "Option::is_none")] pub $field: Option<bool>,)*
        }

        impl Abilities {
            /// Returns whether nothing is known.
            pub fn is_empty(&self) -> bool {
                *self == Self::default()
            }

            /// Fills in absent values from `other`.
            #[must_use]
            pub fn or(self, other: Self) -> Self {
                Self { $($field: self.$field.or(other.$field),)* }
            }

            /// Reads the letters of a data file: upper case means yes, lower case no.
            pub(super) fn from_letters(letters: &str) -> Option<Self> {
                let mut abilities = Self::default();
                for letter in letters.chars() {
                    let field = match letter.to_ascii_uppercase() {
                        $($letter => &mut abilities.$field,)*
                        _ => return None,
                    };
                    *field = Some(letter.is_ascii_uppercase());
                }
                Some(abilities)
            }

        }
    };
}

abilities! {
    /// Calls tools.
    tools = 'T',
    /// Calls several tools at once.
    parallel_tools = 'P',
    /// Can be forced to call a tool.
    forced_tools = 'F',
    /// Accepts images.
    image_input = 'I',
    /// Accepts audio.
    audio_input = 'A',
    /// Accepts videos.
    video_input = 'V',
    /// Accepts PDF files.
    pdf_input = 'D',
    /// Generates images.
    image_output = 'G',
    /// Generates audio.
    audio_output = 'S',
    /// Thinks before it responds.
    reasoning = 'R',
    /// Follows a JSON schema natively.
    structured_output = 'J',
    /// Accepts `temperature`.
    temperature = 'H',
    /// Its provider caches prompts.
    prompt_caching = 'C',
    /// Its provider searches the web for it.
    web_search = 'W',
}
