//! How a host bends OpenAI's responses.

use serde::{Deserialize, Serialize};

quirk! {
    /// Whether a host of responses is told not to keep them.
    StoreForm {
        /// `store: false`, unless the request says otherwise.
        #[default]
        Said,
        /// Nothing is said: the host keeps nothing, or does not know the word.
        Unsaid,
    }
}

quirk! {
    /// What a host of responses can be asked to include in them.
    IncludeForm {
        /// Encrypted reasoning, log probabilities, and what its own tools found and printed.
        #[default]
        All,
        /// Encrypted reasoning only.
        Reasoning,
        /// Nothing: it shows its reasoning openly, or not at all.
        Refused,
    }
}

quirk! {
    /// The kinds of items that a host of responses takes back.
    ItemForm {
        /// Every kind, as it came.
        #[default]
        Any,
        /// Messages, calls of functions and their results.
        Plain,
    }
}

quirk! {
    /// Where a host of responses looks for the form of the text.
    TextFormat {
        /// In `text: {format}`.
        #[default]
        Text,
        /// In `response_format`, as in chat.
        ResponseFormat,
    }
}

quirk! {
    /// Under which name a host of responses takes the user.
    UserLabel {
        /// `user`.
        #[default]
        User,
        /// `safety_identifier`.
        SafetyIdentifier,
    }
}

quirk! {
    /// Whether tokens can be counted before a call.
    TokenCount {
        /// They cannot.
        #[default]
        Refused,
        /// At `/responses/input_tokens`.
        InputTokens,
    }
}
