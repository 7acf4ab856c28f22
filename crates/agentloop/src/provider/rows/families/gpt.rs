//! GPT and the o-series, at OpenAI and at Azure, where most deployments have the name of their model.
//!
//! Sources, read on 2026-11-15: ai-sdk openai 4.0 (`openai-model-catalog.ts`), openai SDK 3.49 for Python, OpenAI's API
//! description, community.openai.com, and the recordings `openai-*` and `openai-responses-*`.

use crate::chat::Effort::{High, Low, Max, Medium, Minimal, None as NoEffort, Xhigh};
use crate::chat::Protocol;
use crate::models::{Action, Condition, Restriction};
use crate::provider::model::{InstructionsRole, ModelRule};
use crate::provider::quirks::{EmbeddingEncoding, EmbeddingQuirks};
use crate::provider::rows::common::{clamp, efforts, json_word, metadata, restrict};
use crate::provider::{Param, Provider};

/// OpenAI's reasoning models.
const REASONS: [&str; 5] = ["gpt-5*", "gpt-6*", "o1*", "o3*", "o4*"];

/// Those of them that can be asked not to think, and then sample.
const SAMPLES: [&str; 8] = [
    "gpt-5.1*",
    "gpt-5.2*",
    "gpt-5.3*",
    "gpt-5.4*",
    "gpt-5.5*",
    "gpt-6-sol*",
    "gpt-6-luna*",
    "gpt-6.1-terra*",
];

const SAMPLING: [Param; 4] = [Param::Temperature, Param::TopP, Param::Logprobs, Param::TopLogprobs];

/// Adds what is known of the models, and what they refuse.
///
/// Chat takes tools from reasoning models only while they do not think, and loses what they thought between two calls, so
/// they are called in the Responses protocol. Their instructions have the role `developer` (ai-sdk openai 4.0, o-series and
/// gpt-5 and later).
pub(in crate::provider::rows) fn extend(row: Provider) -> Provider {
    let thinks = |pattern: &'static str| {
        ModelRule::new(pattern)
            .with_tools_in(Protocol::OpenAiResponses)
            .with_instructions(InstructionsRole::Developer)
    };
    let rules = [
        ModelRule::new("gpt-5-chat*"),
        thinks("gpt-5*"),
        thinks("gpt-6*"),
        thinks("o1*"),
        thinks("o3*"),
        thinks("o4*"),
    ];
    let mut row = rules.into_iter().fold(row, Provider::model);
    row.restrictions.extend(restrictions());
    row
}

/// At most 2,048 texts and 300,000 tokens in one call (openai SDK 3.49: `embedding_create_params.py`).
pub(in crate::provider::rows) fn embeddings() -> EmbeddingQuirks {
    EmbeddingQuirks {
        batch: Some(2048),
        batch_bytes: Some(300_000),
        encoding: EmbeddingEncoding::Base64,
        ..EmbeddingQuirks::default()
    }
}

fn restrictions() -> Vec<Restriction> {
    const PARAMS: &str = "openai SDK 3.49: completion_create_params.py";
    const CATALOG: &str = "ai-sdk openai 4.0: openai-model-catalog.ts";
    let chat = Protocol::OpenAiChat;
    vec![
        // The effort `max` exists in one protocol only: it is spoken where the request leaves the choice.
        restrict("openai-max-effort", Action::Speak(Protocol::OpenAiResponses))
            .models(["gpt-5.6*", "gpt-6*"])
            .protocol(chat)
            .when([Condition::Effort(vec![Max])])
            .source(CATALOG),
        restrict("openai-max-effort-in-chat", Action::Effort(Xhigh))
            .models(["gpt-5.6*", "gpt-6*"])
            .protocol(chat)
            .when([Condition::Effort(vec![Max])])
            .reason("`max` is known in the Responses protocol only")
            .source(CATALOG),
        restrict("openai-modalities", Action::Modalities(vec!["text".into(), "audio".into()]))
            .protocol(chat)
            .reason("the Chat protocol makes text and audio only")
            .source("OpenAI's API description: ResponseModalities"),
        efforts("openai-gpt-5-effort", &["gpt-5", "gpt-5-*"], [Minimal, Low, Medium, High])
            .except(["gpt-5-chat*", "gpt-5-pro*", "gpt-5-search*"])
            .source(CATALOG),
        efforts("openai-gpt-5.1-effort", &["gpt-5.1*"], [NoEffort, Low, Medium, High])
            .source(CATALOG),
        efforts(
            "openai-gpt-5.2-effort",
            &["gpt-5.2*", "gpt-5.3*", "gpt-5.4*", "gpt-5.5*"],
            [NoEffort, Low, Medium, High, Xhigh],
        )
        .source(CATALOG),
        efforts(
            "openai-gpt-5.6-effort",
            &["gpt-5.6*", "gpt-6-sol*", "gpt-6-luna*", "gpt-6.1-terra*"],
            [NoEffort, Low, Medium, High, Xhigh, Max],
        )
        .source(CATALOG),
        efforts(
            "openai-gpt-6-effort",
            &["gpt-6-astra*", "gpt-6.1-sol*"],
            [Low, Medium, High, Xhigh, Max],
        )
        .source(CATALOG),
        restrict("openai-no-effort", Action::Drop(vec![Param::ReasoningEffort, Param::Thinking]))
            .models(["gpt-5-chat*"])
            .reason("the model takes no effort")
            .source("recording openai-responses-err-error-4xx-e5bb1fe8"),
        // ai-sdk forces the same; the API's own words are "use /v1/responses or set reasoning_effort to 'none'".
        restrict("openai-tools-in-chat", Action::Effort(NoEffort))
            .models(["gpt-5.6*"])
            .protocol(chat)
            .when([Condition::Functions, Condition::EffortOtherThan(NoEffort)])
            .reason("the Chat protocol takes functions only without effort for this model")
            .source("ai-sdk openai 4.0: openai-model-catalog.ts; community.openai.com 1386454"),
        // Recorded: openai-err-error-4xx-aaf07062 (gpt-5.6-luna, logprobs), openai-err-error-4xx-28e1d53c (gpt-5-mini, stop).
        restrict("openai-sampling-without-effort", Action::Drop(SAMPLING.to_vec()))
            .models(SAMPLES)
            .when([Condition::EffortOtherThan(NoEffort)])
            .reason("the model takes it only with the effort `none`")
            .source(CATALOG),
        restrict("openai-no-sampling", Action::Drop(SAMPLING.to_vec()))
            .models(REASONS)
            .except(SAMPLES.into_iter().chain(["gpt-5-chat*"]))
            .reason("the model does not accept it")
            .source("ai-sdk openai 4.0; recording openai-err-error-4xx-aaf07062"),
        restrict(
            "openai-no-penalties",
            Action::Drop(vec![
                Param::FrequencyPenalty,
                Param::PresencePenalty,
                Param::LogitBias,
                Param::Stop,
            ]),
        )
        .models(REASONS)
        .except(["gpt-5-chat*"])
        .reason("the model does not accept it")
        .source("ai-sdk openai 4.0; recording openai-err-error-4xx-28e1d53c"),
        restrict("openai-deep-research-functions", Action::DropFunctions)
            .models(["o3-deep-research*", "o4-mini-deep-research*"])
            .when([Condition::Functions])
            .reason("deep research models take the provider's own tools only")
            .source("recording openai-responses-err-error-4xx-f214f1ce"),
        restrict("openai-audio-format", Action::FormatInWords)
            .models(["gpt-audio*", "gpt-4o-audio*", "gpt-4o-mini-audio*"])
            .when([Condition::Format])
            .reason("the model has no JSON mode")
            .source("recording openai-err-error-4xx-structured-output-65ea8ac9"),
        json_word("openai-json-word")
            .source("OpenAI's API description: response_format json_object"),
        restrict("openai-call-ids", Action::ShortenIds(64))
            .protocol(Protocol::OpenAiResponses)
            .reason("ids of calls have at most 64 characters")
            .source("OpenAI's API description: call_id"),
        clamp("openai-temperature", Param::Temperature, 0.0, 2.0)
            .source("recording openai-responses-err-error-4xx-10558b47"),
        clamp("openai-top-p", Param::TopP, 0.0, 1.0).source(PARAMS),
        clamp("openai-frequency-penalty", Param::FrequencyPenalty, -2.0, 2.0).source(PARAMS),
        clamp("openai-presence-penalty", Param::PresencePenalty, -2.0, 2.0).source(PARAMS),
        clamp("openai-top-logprobs", Param::TopLogprobs, 0.0, 20.0).source(PARAMS),
        metadata("openai-metadata").source(PARAMS),
        restrict("openai-user", Action::Longest { param: Param::User, bytes: 128 })
            .protocol(Protocol::OpenAiResponses)
            .reason("it has at most 128 characters")
            .source(PARAMS),
    ]
}
