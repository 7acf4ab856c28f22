//! Which files and batches a provider stores.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

/// What a provider keeps beside chats: files, and requests that it processes later.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "snake_case")]
#[non_exhaustive]
pub struct StorageQuirks {
    /// How files are uploaded, listed and deleted.
    pub files: FileApi,
    /// The purpose of a file that is uploaded without one, where the form of the upload has a purpose.
    pub purpose: Option<Cow<'static, str>>,
    /// How batches of requests are created and read.
    pub batches: BatchApi,
}

quirk! {
    /// How files are uploaded, listed and deleted.
    FileApi {
        /// Files are not stored.
        #[default]
        None,
        /// A form with `purpose` and `file`, to `/files`. A page of the list names the last id. OpenAI (its API description) and Groq (SDK 1.7).
        PurposeForm,
        /// A form with `purpose` and `file`, to `/files`. The pages of the list have numbers. Mistral (its API description).
        NumberedForm,
        /// A form with `file`, to `/files`, with a beta header. Anthropic (its API description; SDK 2.9).
        BetaForm,
        /// A resumable upload (`X-Goog-Upload-…`), to `/upload/VERSION/files`. Gemini (its API description; google-genai 3.3).
        Resumable,
    }
}

quirk! {
    /// How batches of requests are created and read.
    BatchApi {
        /// There are none.
        #[default]
        None,
        /// The requests are a file with JSON lines, and so are the results: `/batches`. OpenAI (its API description) and Groq (SDK 1.7).
        InputFile,
        /// The requests are in the body, the results are JSON lines: `/messages/batches`. Anthropic (its API description).
        Messages,
        /// The requests and the results are in the bodies: `/models/MODEL:batchGenerateContent` and `/batches`. Requests that are too large for
        /// a body are a file, and then so are the results. Gemini (its API description; google-genai 3.3).
        Operation,
        /// The requests are a file with JSON lines without the model, which the batch names: `/batch/jobs`. Mistral (its API description).
        Job,
    }
}
