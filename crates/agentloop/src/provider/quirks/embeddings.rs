//! How a provider takes texts for embeddings.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

/// How embeddings are requested. Vectors are read in every known form, whatever this says.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "snake_case")]
#[non_exhaustive]
pub struct EmbeddingQuirks {
    /// The form of the request.
    pub form: EmbeddingForm,
    /// The path behind the provider's URL; each leading `../` removes one segment of it. Absent means the form's own path.
    pub path: Option<Cow<'static, str>>,
    /// The largest number of texts in one call; more are split into several calls. Absent means
    /// [`EMBED_BATCH`](crate::limits::EMBED_BATCH).
    pub batch: Option<usize>,
    /// The largest number of bytes of text in one call. A limit of tokens is kept by it too, because no token is shorter than
    /// a byte. A longer text is sent by itself. Absent means [`EMBED_BATCH_BYTES`](crate::limits::EMBED_BATCH_BYTES).
    pub batch_bytes: Option<usize>,
    /// The field that sets the length of the vectors.
    pub dimensions: DimensionsName,
    /// The encoding of the vectors.
    pub encoding: EmbeddingEncoding,
    /// The values of `input_type`.
    pub input_type: InputTypeWords,
}

quirk! {
    /// The form of a request for embeddings.
    EmbeddingForm {
        /// `input`, to `/embeddings`.
        #[default]
        Input,
        /// `texts`, to `/embed`, with `embedding_types`. Cohere's native call (recording `cohere-json-embeddings-cec7a413`).
        TextsByType,
        /// `input`, to `/embed`, with the model and the length only. Ollama's native call (`ollama-json-embeddings-*`).
        BareInput,
        /// `instances`, to `:predict`, and `content` with its settings in `embedContentConfig`, to `:embedContent`, for Gemini models except
        /// `gemini-embedding-001`. Vertex (google-genai 3.3: `t_is_vertex_embed_content_model`, `_EmbedContentConfig_to_vertex`).
        Instances,
    }
}

quirk! {
    /// The field that sets the length of the vectors.
    DimensionsName {
        /// `dimensions`.
        #[default]
        Dimensions,
        /// `output_dimension`. Mistral (SDK 3.7) and Cohere (SDK 7.3).
        OutputDimension,
        /// The length cannot be set. Groq (SDK 1.7) and Together (SDK 3.0: `types/embedding.py`).
        Refused,
    }
}

quirk! {
    /// The encoding of the vectors.
    EmbeddingEncoding {
        /// The provider chooses: numbers, or base64 of 32-bit floats.
        #[default]
        Unasked,
        /// Base64 of 32-bit floats, requested with `base64`: exact, and fewer bytes than digits. OpenAI (SDK 3.49) and Azure.
        Base64,
        /// Base64 of signed bytes, requested with `base64_int8`. Each byte is read as one number, packed bits too. Perplexity
        /// (SDK 0.46).
        Int8,
    }
}

quirk! {
    /// The values of `input_type`, which states what the vectors are for.
    InputTypeWords {
        /// The field is not sent.
        #[default]
        Refused,
        /// `search_query`, `search_document`, `classification`, `clustering`. One is required; it is `search_document` unless
        /// the request sets another. Cohere (recording `cohere-json-embeddings-cec7a413`).
        Search,
        /// `query`, `passage`. One is required; it is `passage` unless the request sets another. NVIDIA (its API reference).
        Passage,
    }
}
