//! What a model can do.

use serde::{Deserialize, Serialize};

macro_rules! abilities {
    ($($(#[$doc:meta])* $field:ident = $letter:literal,)*) => {
        /// What a model can do: yes, no, or absent where nobody says.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(default, deny_unknown_fields)]
        #[non_exhaustive]
        pub struct Abilities {
            $($(#[$doc])* #[serde(skip_serializing_if = "Option::is_none")] pub $field: Option<bool>,)*
        }

        impl Abilities {
            /// Whether nothing is known.
            pub fn is_empty(&self) -> bool {
                *self == Self::default()
            }

            /// What is said here, and elsewhere what `self` says.
            #[must_use]
            pub fn or(self, other: Self) -> Self {
                Self { $($field: self.$field.or(other.$field),)* }
            }

            /// By letters, as a data file holds them: a capital is a yes, a small letter a no.
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

            pub(super) fn letters(&self) -> String {
                let mut letters = String::new();
                $(match self.$field {
                    Some(true) => letters.push($letter),
                    Some(false) => letters.push($letter.to_ascii_lowercase()),
                    None => {}
                })*
                letters
            }
        }
    };
}

abilities! {
    /// Calls tools.
    tools = 'T',
    /// Calls several tools at once.
    parallel_tools = 'P',
    /// Can be made to call a tool.
    forced_tools = 'F',
    /// Sees images.
    image_input = 'I',
    /// Hears sound.
    audio_input = 'A',
    /// Watches videos.
    video_input = 'V',
    /// Reads PDF files.
    pdf_input = 'D',
    /// Makes images.
    image_output = 'G',
    /// Makes sound.
    audio_output = 'S',
    /// Thinks before it answers.
    reasoning = 'R',
    /// Keeps to a JSON schema by itself.
    structured_output = 'J',
    /// Takes a temperature.
    temperature = 'H',
    /// Its host caches prompts.
    prompt_caching = 'C',
    /// Its host searches the web for it.
    web_search = 'W',
}
