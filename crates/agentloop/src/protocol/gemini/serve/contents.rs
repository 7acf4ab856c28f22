//! Reads the conversation.

use std::collections::{HashMap, HashSet, VecDeque};

use serde_json::{Map, Value};

use super::names::camel_case;
use super::parts;
use crate::chat::{ChatMessage, ContentPart, MessageContent, Role};
use crate::protocol::serve::known::{Read, Take as _, Wrong, object_of};
use crate::protocol::serve::notes::Notes;

type Fields = Map<String, Value>;

/// Returns the parts of a content, which may be a list, one part, or the text of one.
fn parts_of(fields: &mut Fields) -> Read<Vec<Value>> {
    match fields.any("parts") {
        None => Ok(Vec::new()),
        Some(Value::Array(list)) => Ok(list),
        Some(one @ (Value::Object(_) | Value::String(_))) => Ok(vec![one]),
        Some(_) => Err(Wrong::new("parts", "must be a list")),
    }
}

/// Returns a part as an object with names in camel case. A string is a text.
fn part_of(part: Value) -> Read<Fields> {
    match part {
        Value::String(text) => Ok(Map::from_iter([("text".to_owned(), Value::String(text))])),
        part => object_of(part).map(camel_case),
    }
}

/// Reads instructions: a text, or a content. Several texts are paragraphs of one.
pub(super) fn instructions(system: Value, notes: &mut Notes) -> Read<Option<String>> {
    let mut fields = match system {
        Value::String(text) => return Ok(Some(text)),
        // Some clients send the parts alone.
        Value::Array(parts) => Map::from_iter([("parts".to_owned(), Value::Array(parts))]),
        other => match object_of(other)? {
            bare if bare.contains_key("text") => {
                Map::from_iter([("parts".to_owned(), Value::Object(bare))])
            }
            fields => fields,
        },
    };
    let mut texts = Vec::new();
    for (at, part) in parts_of(&mut fields)?.into_iter().enumerate() {
        let mut part = part_of(part).map_err(|wrong| wrong.at("parts", at))?;
        match part.text("text").map_err(|wrong| wrong.at("parts", at))? {
            Some(text) => texts.push(text),
            None => notes.dropped("systemInstruction", "instructions must be text"),
        }
    }
    Ok(Some(texts.join("\n\n")).filter(|text| !text.is_empty()))
}

/// Returns the text of a content, joined.
pub(super) fn plain_text(content: Value) -> Read<String> {
    let mut fields = match content {
        Value::String(text) => return Ok(text),
        other => object_of(other)?,
    };
    let mut joined = String::new();
    for (at, part) in parts_of(&mut fields)?.into_iter().enumerate() {
        let text = part_of(part).and_then(|mut part| part.text("text"));
        joined.extend(text.map_err(|wrong| wrong.at("parts", at))?);
    }
    Ok(joined)
}

/// Reads contents one after the other. What is read of one depends only on those before it.
pub(super) struct Contents<'a> {
    messages: &'a mut Vec<ChatMessage>,
    notes: &'a mut Notes,
    calls: Calls,
    /// Whether the content before was the model's.
    follows_model: bool,
}

impl<'a> Contents<'a> {
    pub(super) fn new(messages: &'a mut Vec<ChatMessage>, notes: &'a mut Notes) -> Self {
        Self { messages, notes, calls: Calls::default(), follows_model: false }
    }

    /// Reads content number `at`. The results of tools become messages of their own, before the rest of it.
    pub(super) fn read(&mut self, content: Value, at: usize) -> Read<()> {
        let mut fields = match content {
            Value::String(text) => {
                self.messages.push(ChatMessage::user(text));
                self.follows_model = false;
                return Ok(());
            }
            other => camel_case(object_of(other)?),
        };
        let role = fields.text("role")?;
        let list = parts_of(&mut fields)?;
        let mut read = Vec::with_capacity(list.len());
        for (index, part) in list.into_iter().enumerate() {
            read.push(part_of(part).map_err(|wrong| wrong.at("parts", index))?);
        }
        let has_calls = || read.iter().any(|part| part.contains_key("functionCall"));
        let role = match role.as_deref() {
            Some("model" | "assistant") => Role::Assistant,
            Some("system") => Role::System,
            // A call can only be the model's.
            None | Some("" | "user" | "function" | "tool") if has_calls() => Role::Assistant,
            None | Some("" | "user" | "function" | "tool") => Role::User,
            Some(_) => return Err(Wrong::new("role", "must be `user` or `model`")),
        };
        let (mut parts, mut results) = (Vec::new(), Vec::new());
        for (index, part) in read.into_iter().enumerate() {
            let place = format!("contents[{at}].parts[{index}]");
            let part = self.part(part, role, &place, &mut results);
            let part = part.map_err(|wrong| wrong.at("parts", index))?;
            match role {
                Role::Assistant => part.into_iter().for_each(|part| append(&mut parts, part)),
                _ => parts.extend(part),
            }
        }
        let has_results = !results.is_empty();
        let follows_model = std::mem::replace(&mut self.follows_model, role == Role::Assistant);
        if role == Role::Assistant {
            match self.messages.last_mut().and_then(|last| last.content.as_mut()) {
                Some(MessageContent::Parts(before)) if follows_model => {
                    parts.into_iter().for_each(|part| append(before, part));
                }
                _ => self.messages.push(ChatMessage::assistant(MessageContent::Parts(parts))),
            }
            self.messages.extend(results);
            return Ok(());
        }
        self.messages.extend(results);
        if !parts.is_empty() || !has_results {
            self.messages.push(ChatMessage::new(role, MessageContent::Parts(parts)));
        }
        Ok(())
    }

    fn part(
        &mut self,
        mut fields: Fields,
        role: Role,
        place: &str,
        results: &mut Vec<ChatMessage>,
    ) -> Read<Option<ContentPart>> {
        if let Some(result) = fields.object("functionResponse")? {
            let result = camel_case(result);
            let result =
                self.result(result, place).map_err(|wrong| wrong.within("functionResponse"))?;
            results.push(result);
            return Ok(None);
        }
        if let Some(call) = fields.object("functionCall")? {
            let signature = parts::signature(&mut fields)?;
            let mut call = camel_case(call);
            let within = |wrong: Wrong| wrong.within("functionCall");
            let name = call.required_text("name").map_err(within)?;
            let given = call.text("id").map_err(within)?.filter(|id| !id.is_empty());
            let id = self.calls.add(given.as_deref(), &name);
            return parts::call(call, id, name, given, signature).map(Some).map_err(within);
        }
        match role {
            Role::Assistant => parts::generated(fields),
            _ => parts::input(fields, place, self.notes),
        }
    }

    /// Reads the result of a call, which it names by id or by name.
    fn result(&mut self, mut fields: Fields, place: &str) -> Read<ChatMessage> {
        let given = fields.text("id")?.filter(|id| !id.is_empty());
        let name = fields.text("name")?.unwrap_or_default();
        let id = self.calls.answer(given.as_deref(), &name);
        let (text, is_error) = outcome(fields.any("response"));
        let mut parts = Vec::new();
        for (at, part) in parts_of(&mut fields)?.into_iter().enumerate() {
            let part = part_of(part).and_then(|part| parts::input(part, place, self.notes));
            parts.extend(part.map_err(|wrong| wrong.at("parts", at))?);
        }
        if fields.flag("willContinue")? == Some(true) {
            self.notes.dropped(place, "`willContinue` has a meaning only for Google");
        }
        let content = if parts.is_empty() {
            MessageContent::Text(text)
        } else {
            parts.insert(0, ContentPart::text(text));
            MessageContent::Parts(parts)
        };
        let mut message = ChatMessage::tool(id, content);
        message.name = Some(name).filter(|name| !name.is_empty());
        message.is_error = is_error;
        Ok(message)
    }
}

/// Adds a part of the model's. Some clients keep each chunk of a stream as a part or a content of its own (google-genai 3.1
/// for Python): the pieces of a text are one text again, as they were in the response.
fn append(parts: &mut Vec<ContentPart>, part: ContentPart) {
    match (parts.last_mut(), part) {
        (Some(ContentPart::Text(text)), ContentPart::Text(more))
            if text.provider_state.is_none() && more.provider_state.is_none() =>
        {
            text.text.push_str(&more.text);
        }
        (Some(ContentPart::Thinking(thinking)), ContentPart::Thinking(more))
            if thinking.provider_state.is_none() && more.provider_state.is_none() =>
        {
            thinking.thinking.push_str(&more.thinking);
        }
        // The last chunk of a stream has an empty text.
        (_, ContentPart::Text(text)) if text.text.is_empty() && text.provider_state.is_none() => {}
        (_, part) => parts.push(part),
    }
}

/// Returns the text of a result, and whether the tool failed. `output`, `result` and `error` are the names that clients wrap
/// a text in.
fn outcome(response: Option<Value>) -> (String, bool) {
    let text = |value: Value| match value {
        Value::String(text) => text,
        other => other.to_string(),
    };
    let Some(response) = response else { return (String::new(), false) };
    let Value::Object(mut fields) = response else { return (text(response), false) };
    fields.retain(|_, value| !value.is_null());
    let is_error = fields.contains_key("error");
    let is_wrapped = |name: &str| matches!(name, "error" | "output" | "result");
    match fields.keys().next().cloned() {
        Some(name) if fields.len() == 1 && is_wrapped(&name) => {
            (text(fields.remove(&name).unwrap_or_default()), is_error)
        }
        _ => (Value::Object(fields).to_string(), is_error),
    }
}

/// The calls so far. Calls without an id get one by their number in the conversation, so that it is the same in every
/// later request. No two calls share an id.
#[derive(Debug, Default)]
struct Calls {
    ids: Vec<String>,
    is_answered: Vec<bool>,
    used: HashSet<String>,
    /// The calls without a result, by the id that the client gave them.
    by_id: HashMap<String, VecDeque<usize>>,
    /// The calls without a result, by name: those with an id, and those without one.
    by_name: HashMap<(String, bool), VecDeque<usize>>,
}

impl Calls {
    fn add(&mut self, given: Option<&str>, name: &str) -> String {
        let number = self.ids.len();
        let mut id = given.map_or_else(|| format!("call_{number}"), str::to_owned);
        while !self.used.insert(id.clone()) {
            id = format!("{id}_{number}");
        }
        if let Some(given) = given {
            self.by_id.entry(given.to_owned()).or_default().push_back(number);
        }
        self.by_name.entry((name.to_owned(), given.is_some())).or_default().push_back(number);
        self.ids.push(id.clone());
        self.is_answered.push(false);
        id
    }

    /// Returns the id of the call that a result belongs to.
    fn answer(&mut self, given: Option<&str>, name: &str) -> String {
        let Self { by_id, by_name, is_answered, .. } = self;
        let mut first = |queue: Option<&mut VecDeque<usize>>| {
            let queue = queue?;
            while let Some(number) = queue.pop_front() {
                if !std::mem::replace(&mut is_answered[number], true) {
                    return Some(number);
                }
            }
            None
        };
        let number = match given {
            // A client may name results but not calls.
            Some(id) => first(by_id.get_mut(id))
                .or_else(|| first(by_name.get_mut(&(name.to_owned(), false)))),
            None => first(by_name.get_mut(&(name.to_owned(), false)))
                .or_else(|| first(by_name.get_mut(&(name.to_owned(), true)))),
        };
        match number {
            Some(number) => self.ids[number].clone(),
            None => given.unwrap_or_default().to_owned(),
        }
    }
}
