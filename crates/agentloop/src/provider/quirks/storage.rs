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
    /// The account that the files and batches belong to, where their URLs name it. `${VARIABLE}` is replaced from the environment; if the
    /// variable is not set, the provider is asked which account the key belongs to.
    pub account: Option<Cow<'static, str>>,
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
        /// A form with `purpose`, `file_name`, `file_type` and `file`, to `/files/upload`. The list has one page. Together (its API description:
        /// docs.together.ai/reference/upload-file; SDK 3.0).
        TypedForm,
        /// A form with `file`, to `/files`, with a beta header. Anthropic (its API description; SDK 2.9).
        BetaForm,
        /// A form with `purpose` and `file`, to `/files`. A page of the list has the token of the next one. xAI (litellm 1.109:
        /// `llms/xai/files/transformation.py`; xai-sdk 1.21: `files.py`).
        TokenForm,
        /// A resumable upload (`X-Goog-Upload-…`), to `/upload/VERSION/files`. Gemini (its API description; google-genai 3.3).
        Resumable,
        /// A dataset of an account, which is created and then gets its content as a form with `file`: `/v1/accounts/ACCOUNT/datasets`. Its
        /// content is at signed URLs. Fireworks (fireworks-ai 1.2.30: `resources/datasets.py`, `lib/dataset_upload.py`).
        Dataset,
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
        /// Like [`InputFile`](Self::InputFile), but the lines have no method and no URL, and the batch stores no label and counts no requests.
        /// It is found by the name of its input file. Together (SDK 3.0: `batch_create_params.py`, `batch_job.py`; docs.together.ai, batch
        /// inference).
        UnlabelledFile,
        /// The requests are a file with JSON lines: `/batches`. The batch has a name, and counts of requests instead of a state; its results
        /// are pages, `/batches/ID/results`. xAI (docs.x.ai, batch API; litellm 1.109: `llms/xai/batches/transformation.py`).
        CountedFile,
        /// The requests are in the body, the results are JSON lines: `/messages/batches`. Anthropic (its API description).
        Messages,
        /// The requests and the results are in the bodies: `/models/MODEL:batchGenerateContent` and `/batches`. Requests that are too large for
        /// a body are a file, and then so are the results. Gemini (its API description; google-genai 3.3).
        Operation,
        /// The requests are a file with JSON lines without the model, which the batch names: `/batch/jobs`. Mistral (its API description).
        Job,
        /// The requests are a dataset with JSON lines without the model, which the job names, and so are the results:
        /// `/v1/accounts/ACCOUNT/batchInferenceJobs`. Jobs cannot be cancelled. Fireworks (fireworks-ai 1.2.30:
        /// `resources/batch_inference_jobs.py`; docs.fireworks.ai/guides/batch-inference).
        DatasetJob,
    }
}
