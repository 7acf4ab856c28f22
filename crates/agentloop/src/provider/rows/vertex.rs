//! Google's Vertex AI: the models that Google publishes there itself, and the Claude models of Anthropic.
//!
//! Sources, read on 2026-11-15: ai-sdk google-vertex 5.0 and the recordings `vertex-*` (wire `gemini`). Which embedding
//! models take more than one text in a call is not documented in one place, so one text is sent in a call. Claude, read on
//! 2026-11-18: anthropic SDK 2.9 (`lib/vertex`) and ai-sdk google-vertex 5.0 (which tools there
//! are; URLs of images, strict tools and JSON schemas are not supported); there are no recordings of it. Images, read on 2026-11-18: ai-sdk google-vertex 4.0.208
//! (`google-vertex-image-model.ts`: `:generateContent`, and `:predict` for Imagen). Embeddings: google-genai SDK 3.3 (`_transformers.py`). Hosts: google-genai SDK 3.1 (`_api_client.py`).

use super::common::{names, restrict};
use super::families::claude;
use super::google::MAKES;
use crate::chat::{Modality, Protocol};
use crate::models::Action;
use crate::provider::credential::CredentialSource;
use crate::provider::quirks::{
    ClientTools, EmbeddingForm, FileSearchForm, ImageInput, ModelPlace, ServerToolQuirks,
    WebSearchForm,
};
use crate::provider::{Auth, KeySource, NativeSchema, Provider};

const URL: &str = "https://${VERTEX_LOCATION}-aiplatform.googleapis.com/v1/projects/${VERTEX_PROJECT}/locations/${VERTEX_LOCATION}/publishers/google";

/// The locations whose hosts are named in another way.
const HOSTS: [(&str, &str); 3] = [
    ("global-aiplatform.googleapis.com", "aiplatform.googleapis.com"),
    ("us-aiplatform.googleapis.com", "aiplatform.us.rep.googleapis.com"),
    ("eu-aiplatform.googleapis.com", "aiplatform.eu.rep.googleapis.com"),
];

/// The version of Anthropic's protocol, in the body. Google's documentation and ai-sdk name this one, which corresponds to `2023-06-01`
/// elsewhere; anthropic SDK 2.9 sends `2026-10-21`, under which fewer parameters are accepted.
const CLAUDE_VERSION: &str = "vertex-2023-10-16";

impl Provider {
    /// Returns the built-in provider `vertex`: Google's Vertex AI, with models of Google and of Anthropic.
    ///
    /// Without a token in `VERTEX_ACCESS_TOKEN`, the application default credentials of Google Cloud are used (feature
    /// `google-cloud`). They also name the project and the location, if `VERTEX_PROJECT` and `VERTEX_LOCATION` are not set.
    ///
    /// ```
    /// use agentloop::{AgentLoop, ChatRequest, Provider, inspect};
    ///
    /// let ai = AgentLoop::builder()
    ///     .provider(Provider::vertex().key("ya29.example"))
    ///     .env("VERTEX_PROJECT", "example")
    ///     .env("VERTEX_LOCATION", "global")
    ///     .build()?;
    /// let request = ChatRequest::new("vertex/claude-opus-4-8").user("Hello");
    /// let encoded = inspect::encode(&ai, &request, false)?;
    /// assert_eq!(
    ///     encoded.url,
    ///     "https://aiplatform.googleapis.com/v1/projects/example/locations/global/publishers/anthropic/models/claude-opus-4-8:rawPredict"
    /// );
    /// # Ok::<(), agentloop::Error>(())
    /// ```
    pub fn vertex() -> Self {
        let claude = Self::anthropic_compatible("vertex", URL).auth(Auth::Bearer).quirks(|q| {
            q.model_place = ModelPlace::RawPredict;
            q.images = ImageInput::DataOnly;
            q.client_tools = ClientTools::Versioned;
            q.server_tools = ServerToolQuirks {
                web_search: WebSearchForm::Protocol,
                ..ServerToolQuirks::refused()
            };
        });
        let claude = claude.default_field("anthropic_version", CLAUDE_VERSION);
        let row = Self::gemini_compatible("vertex", URL)
            .modalities([Modality::Image])
            .auth(Auth::Bearer)
            .quirks(|q| {
                q.embeddings.batch = Some(1);
                q.embeddings.form = EmbeddingForm::Instances;
                q.server_tools = ServerToolQuirks {
                    file_search: FileSearchForm::Refused,
                    ..ServerToolQuirks::default().without_chat()
                };
            })
            .speaks_for(["claude-*"], claude)
            .without_model_list()
            .makes(MAKES)
            .telemetry_name("gcp.vertex_ai")
            .restriction(
                restrict("vertex-claude", Action::Speak(Protocol::Anthropic))
                    .models(["claude-*"])
                    .reason("the models of Anthropic have a protocol of their own")
                    .source("anthropic SDK 2.9: lib/vertex/_client.py"),
            );
        let rules = claude::models().into_iter();
        let rules = rules.map(|rule| rule.with_json_schema(NativeSchema::No));
        let mut row = rules.fold(row, Self::model);
        row.key = KeySource::EnvIfSet(names(["VERTEX_ACCESS_TOKEN"]));
        row.credential = CredentialSource::Google(Default::default());
        row.hosts = HOSTS.map(|(from, to)| (from.into(), to.into())).into();
        row
    }
}
