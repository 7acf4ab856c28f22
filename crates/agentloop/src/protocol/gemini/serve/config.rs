//! Reads the settings of a request.

use serde_json::{Map, Value, json};

use super::names::camel_case;
use super::schema;
use crate::chat::{
    AudioOutput, ChatRequest, Effort, ImageOutput, JsonSchemaFormat, ResponseFormat, Stop, Thinking,
};
use crate::protocol::serve::known::{Read, Take as _, Wrong};
use crate::protocol::serve::notes::Notes;

type Fields = Map<String, Value>;

/// Reads the settings that have a unified name. Returns the others, without those that have no effect.
pub(super) fn read(
    mut fields: Fields,
    request: &mut ChatRequest,
    notes: &mut Notes,
) -> Read<Fields> {
    request.temperature = fields.number("temperature")?;
    request.top_p = fields.number("topP")?;
    request.top_k = fields.small_count("topK")?;
    request.max_tokens = fields.count("maxOutputTokens")?;
    let stops = fields.texts("stopSequences")?;
    request.stop = stops.filter(|stops| !stops.is_empty()).map(Stop::Many);
    // One is the default.
    request.n = fields.small_count("candidateCount")?.filter(|count| *count != 1);
    request.seed = fields.read("seed", "a whole number", |value| value.as_i64())?;
    request.frequency_penalty = fields.number("frequencyPenalty")?;
    request.presence_penalty = fields.number("presencePenalty")?;
    request.logprobs = fields.flag("responseLogprobs")?;
    request.top_logprobs = fields.small_count("logprobs")?;
    let kinds = fields.texts("responseModalities")?.unwrap_or_default();
    let kinds: Vec<String> = kinds.iter().map(|kind| kind.to_ascii_lowercase()).collect();
    // Text is the default.
    request.modalities = if kinds == ["text"] { Vec::new() } else { kinds };
    if let Some(speech) = fields.object("speechConfig")? {
        let speech = camel_case(speech);
        let name = "/voiceConfig/prebuiltVoiceConfig/voiceName";
        let speech = Value::Object(speech);
        let voice = speech.pointer(name).cloned().filter(Value::is_string);
        let voice = voice.unwrap_or(speech);
        request.audio = Some(AudioOutput { voice, format: "pcm".to_owned() });
    }
    if let Some(image) = fields.object("imageConfig")? {
        let mut image = camel_case(image);
        let within = |wrong: Wrong| wrong.within("imageConfig");
        request.image = Some(ImageOutput {
            aspect_ratio: image.text("aspectRatio").map_err(within)?,
            size: image.text("imageSize").map_err(within)?,
        });
    }
    read_format(&mut fields, request, notes)?;
    if let Some(thinking) = fields.object("thinkingConfig")? {
        read_thinking(camel_case(thinking), request, notes)
            .map_err(|wrong| wrong.within("thinkingConfig"))?;
    }
    fields.retain(|name, value| {
        let is_idle = value.is_null()
            || *value == false
            || (name == "mediaResolution" && *value == "MEDIA_RESOLUTION_UNSPECIFIED");
        !is_idle
    });
    Ok(fields)
}

fn read_format(fields: &mut Fields, request: &mut ChatRequest, notes: &mut Notes) -> Read<()> {
    let plain = match fields.object("responseJsonSchema")? {
        Some(schema) => Some(schema),
        // The name that the Python SDK has for it.
        None => fields.object("_responseJsonSchema")?,
    };
    let own = fields.object("responseSchema")?.map(schema::to_json_schema);
    let schema = plain.map(schema::with_lower_case_types).or(own);
    let mime = fields.text("responseMimeType")?;
    request.response_format = match (schema, mime.as_deref()) {
        (Some(schema), mime) => {
            if mime == Some("text/x.enum") {
                let place = "generationConfig.responseMimeType";
                notes.converted(place, "`text/x.enum` is sent as JSON of the schema");
            }
            Some(ResponseFormat::JsonSchema {
                json_schema: JsonSchemaFormat {
                    name: "response".to_owned(),
                    description: None,
                    strict: None,
                    schema: Value::Object(schema),
                },
            })
        }
        (None, Some("application/json")) => Some(ResponseFormat::json()),
        (None, None | Some("" | "text/plain")) => None,
        (None, Some(other)) => {
            fields.insert("responseMimeType".to_owned(), json!(other));
            None
        }
    };
    Ok(())
}

/// Reads the budget (0 is off, -1 is as much as the model wants) and the level.
fn read_thinking(mut fields: Fields, request: &mut ChatRequest, notes: &mut Notes) -> Read<()> {
    let include = fields.flag("includeThoughts")?;
    let mut thinking = Thinking { include, ..Thinking::default() };
    let budget = fields.read("thinkingBudget", "a whole number", |value| value.as_i64())?;
    if let Some(tokens) = budget {
        thinking.enabled = Some(tokens != 0);
        thinking.budget_tokens = u64::try_from(tokens).ok().filter(|tokens| *tokens > 0);
    }
    if let Some(level) = fields.text("thinkingLevel")? {
        let word = level.to_ascii_lowercase();
        let known = Effort::ALL.into_iter().find(|effort| effort.as_str() == word);
        if known.is_none() && word != "thinking_level_unspecified" {
            let place = "generationConfig.thinkingConfig.thinkingLevel";
            notes.dropped(place, format!("the level `{level}` is unknown"));
        }
        request.reasoning_effort = known;
    }
    if thinking != Thinking::default() {
        request.thinking = Some(thinking);
    }
    Ok(())
}
