//! The items of an answer: which piece belongs to which.
//!
//! An item is told up to four times: when it begins, as it grows, when it ends, and in the list of all at the end of the
//! answer. Any of these may be left out, and so may the places and the ids that say which item is meant.

use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::calls::{self, Growing, Kind};
use super::hosted::word;
use super::passages::Passages;
use super::sound::Sound;
use super::thoughts::{Source, Thoughts};
use super::whole;
use crate::error::{Error, ErrorKind, Result};
use crate::limits::MAX_PARTS;
use crate::protocol::Emitter;
use crate::response::ResponsePart;

type Fields = Map<String, Value>;

/// All items of an answer.
#[derive(Debug, Default)]
pub(super) struct Items {
    list: Vec<Entry>,
    common: Common,
    sound: Sound,
}

/// What the items share.
#[derive(Debug, Default)]
struct Common {
    /// The ids of the calls of the caller's tools.
    calls: Vec<String>,
    /// The id of the latest call of a tool of the host's.
    latest: String,
    /// How many items of the host's had no id.
    unnamed: usize,
    refused: bool,
    host_runs_custom: bool,
    /// For ids that the host should have made.
    seed: u64,
    audio_format: Option<String>,
}

#[derive(Debug)]
struct Entry {
    /// The place in the answer: as the host says, else as they come.
    index: i64,
    id: String,
    kind: String,
    item: Item,
    done: bool,
    /// Whether the list at the end has named it.
    listed: bool,
}

#[derive(Debug)]
enum Item {
    Message(Passages),
    Reasoning(Thoughts),
    Call(Growing),
    /// One that is handed on when it ends.
    Whole(Fields),
}

/// Where an event says that it belongs.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Place<'a> {
    pub(super) index: Option<i64>,
    pub(super) id: Option<&'a str>,
}

/// What an event adds to an item.
#[derive(Clone, Copy, Debug)]
pub(super) enum Growth<'a> {
    Text { at: Option<i64>, delta: &'a str, logprobs: Option<&'a RawValue> },
    TextDone { at: Option<i64>, whole: &'a str },
    Refusal { at: Option<i64>, delta: &'a str },
    RefusalDone { at: Option<i64>, whole: &'a str },
    Annotation { at: Option<i64>, annotation: &'a RawValue },
    Part { at: Option<i64>, part: &'a RawValue, done: bool },
    Thought { source: Source, at: Option<i64>, delta: &'a str },
    ThoughtDone { source: Source, at: Option<i64>, whole: &'a str },
    Input { delta: &'a str },
    InputDone { whole: &'a str },
    Audio { delta: &'a str },
    Transcript { delta: &'a str },
}

impl Growth<'_> {
    /// The kind of the items that grow so, if there is only one.
    fn kind(&self) -> Option<&'static str> {
        match self {
            Self::Thought { .. } | Self::ThoughtDone { .. } => Some("reasoning"),
            Self::Input { .. } | Self::InputDone { .. } | Self::Part { .. } => None,
            _ => Some("message"),
        }
    }
}

impl Items {
    pub(super) fn new(audio_format: Option<String>) -> Self {
        let seed = std::hash::BuildHasher::hash_one(&std::hash::RandomState::new(), 0u8);
        Self { common: Common { audio_format, seed, ..Common::default() }, ..Self::default() }
    }

    /// Says of which answer the items are, and which tools were declared for it.
    pub(super) fn of_answer(&mut self, id: &str, tools: Option<&RawValue>) {
        if !id.is_empty() {
            // FNV-1a, because it is short and the same everywhere.
            self.common.seed = id.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
                (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
            });
        }
        // Some hosts show the steps of their own tools as calls of custom tools, which nobody declared.
        self.common.host_runs_custom = tools
            .is_some_and(|tools| tools.get().contains("\"type\"") && !declares_custom(tools.get()));
    }

    pub(super) fn has_calls(&self) -> bool {
        !self.common.calls.is_empty()
    }

    pub(super) fn refused(&self) -> bool {
        self.common.refused
    }

    /// An item begins.
    pub(super) fn added(
        &mut self,
        index: Option<i64>,
        raw: &RawValue,
        emitter: &mut Emitter,
    ) -> Result<()> {
        let fields = fields(raw)?;
        let id = word(&fields, "id");
        // One that grew before it began, or begins again.
        let known = self.list.iter().rposition(|entry| {
            entry.id == id && index.map_or(!id.is_empty(), |index| index == entry.index)
        });
        if known.is_some() {
            return Ok(());
        }
        self.begin(index, fields, emitter).map(drop)
    }

    /// An item ends.
    pub(super) fn done(
        &mut self,
        index: Option<i64>,
        raw: &RawValue,
        emitter: &mut Emitter,
    ) -> Result<()> {
        let fields = fields(raw)?;
        let (id, kind) = (word(&fields, "id"), word(&fields, "type"));
        let same = |entry: &Entry| entry.kind == kind && index.is_none_or(|at| at == entry.index);
        let by_id = |entry: &Entry| same(entry) && !id.is_empty() && entry.id == id;
        let find = |test: &dyn Fn(&Entry) -> bool| self.list.iter().position(test);
        let open = |entry: &Entry| same(entry) && !entry.done;
        let at = find(&by_id).or_else(|| match index.is_some() || id.is_empty() {
            true => find(&open),
            false => find(&|entry| open(entry) && entry.id.is_empty()),
        });
        self.end_one(at, index, fields, emitter)
    }

    /// An item stands in the list of all.
    pub(super) fn listed(
        &mut self,
        index: i64,
        raw: &RawValue,
        emitter: &mut Emitter,
    ) -> Result<()> {
        let fields = fields(raw)?;
        let (id, kind) = (word(&fields, "id"), word(&fields, "type"));
        let find = |test: &dyn Fn(&Entry) -> bool| {
            self.list.iter().position(|entry| !entry.listed && entry.kind == kind && test(entry))
        };
        let by_id = |entry: &Entry| !id.is_empty() && entry.id == id;
        // Some hosts give it another id here than they did before, or leave out others.
        let at = find(&|entry| entry.index == index && by_id(entry))
            .or_else(|| find(&by_id))
            .or_else(|| find(&|entry| entry.index == index))
            .or_else(|| find(&|_| true));
        self.end_one(at, Some(index), fields, emitter)?;
        let at = at.unwrap_or(self.list.len() - 1);
        self.list[at].listed = true;
        Ok(())
    }

    fn end_one(
        &mut self,
        at: Option<usize>,
        index: Option<i64>,
        fields: Fields,
        emitter: &mut Emitter,
    ) -> Result<()> {
        let at = match at {
            Some(at) => at,
            None => self.begin(index, fields.clone(), emitter)?,
        };
        let cut = word(&fields, "status") == "incomplete";
        self.list[at].finish(Some(fields), cut, &mut self.common, emitter)
    }

    fn begin(
        &mut self,
        index: Option<i64>,
        fields: Fields,
        emitter: &mut Emitter,
    ) -> Result<usize> {
        if self.list.len() >= MAX_PARTS {
            let message = format!("the answer has more than {MAX_PARTS} items");
            return Err(Error::new(ErrorKind::TooLarge, message));
        }
        let next = i64::try_from(self.list.len()).unwrap_or(i64::MAX);
        self.list.push(Entry {
            index: index.unwrap_or(next),
            id: word(&fields, "id").to_owned(),
            kind: word(&fields, "type").to_owned(),
            item: self.common.open(fields, emitter)?,
            done: false,
            listed: false,
        });
        Ok(self.list.len() - 1)
    }

    /// An item grows. One that never began begins here, if the event says of which kind it is.
    pub(super) fn grow(
        &mut self,
        place: &Place<'_>,
        growth: Growth<'_>,
        emitter: &mut Emitter,
    ) -> Result<()> {
        match growth {
            Growth::Audio { delta } => {
                let format = self.common.audio_format.as_deref();
                return self.sound.grow(delta, format, emitter);
            }
            Growth::Transcript { delta } => {
                let format = self.common.audio_format.as_deref();
                return self.sound.transcript(delta, format, emitter);
            }
            _ => {}
        }
        let kind = growth.kind();
        let at = match self.find(place, kind) {
            Some(at) => at,
            None => {
                let Some(kind) = kind else { return Ok(()) };
                let mut fields = Fields::new();
                fields.insert("type".to_owned(), kind.into());
                fields.insert("id".to_owned(), place.id.unwrap_or_default().into());
                self.begin(place.index, fields, emitter)?
            }
        };
        let entry = &mut self.list[at];
        if entry.done {
            return Ok(());
        }
        entry.item.grow(growth, emitter)
    }

    /// The item that is meant: by place and id, else by id, else by place, else the latest.
    fn find(&self, place: &Place<'_>, kind: Option<&str>) -> Option<usize> {
        let find = |test: &dyn Fn(&Entry) -> bool| {
            let fits = |entry: &Entry| kind.is_none_or(|kind| kind == entry.kind);
            self.list.iter().rposition(|entry| test(entry) && fits(entry))
        };
        let by_id = |entry: &Entry, id: &str| entry.id == id;
        match (place.index, place.id) {
            (Some(index), Some(id)) => find(&|entry| entry.index == index && by_id(entry, id))
                .or_else(|| find(&|entry| by_id(entry, id)))
                .or_else(|| find(&|entry| entry.index == index)),
            (Some(index), None) => find(&|entry| entry.index == index),
            (None, Some(id)) => find(&|entry| by_id(entry, id))
                .or_else(|| find(&|entry| entry.id.is_empty() && !entry.done)),
            (None, None) => find(&|entry| !entry.done),
        }
    }

    /// The answer ends, and with it whatever did not.
    pub(super) fn end(&mut self, cut: bool, emitter: &mut Emitter) -> Result<()> {
        for entry in self.list.iter_mut().filter(|entry| !entry.done) {
            entry.finish(None, cut, &mut self.common, emitter)?;
        }
        self.sound.end(emitter)
    }
}

impl Item {
    fn grow(&mut self, growth: Growth<'_>, emitter: &mut Emitter) -> Result<()> {
        match (self, growth) {
            (Self::Message(message), growth) => match growth {
                Growth::Text { at, delta, logprobs } => {
                    message.grow(at, false, delta, emitter)?;
                    message.logprobs(at, logprobs, emitter)
                }
                Growth::TextDone { at, whole } => message.text(at, false, whole, emitter),
                Growth::Refusal { at, delta } => message.grow(at, true, delta, emitter),
                Growth::RefusalDone { at, whole } => message.text(at, true, whole, emitter),
                Growth::Annotation { at, annotation } => {
                    message.annotation(at, annotation, emitter)
                }
                Growth::Part { at, part, done } => {
                    let part: Value = serde_json::from_str(part.get()).unwrap_or_default();
                    message.content(at, &part, done, emitter)
                }
                _ => Ok(()),
            },
            (Self::Reasoning(thoughts), Growth::Thought { source, at, delta }) => {
                thoughts.grow(source, at, delta, emitter)
            }
            (Self::Reasoning(thoughts), Growth::ThoughtDone { source, at, whole }) => {
                thoughts.section(source, at, whole, emitter)
            }
            (Self::Call(call), Growth::Input { delta }) => call.grow(delta, emitter),
            (Self::Call(call), Growth::InputDone { whole }) => call.complete(whole, emitter),
            _ => Ok(()),
        }
    }
}

impl Entry {
    /// The item ends; `fields` is all of it, if that was told.
    fn finish(
        &mut self,
        fields: Option<Fields>,
        cut: bool,
        common: &mut Common,
        emitter: &mut Emitter,
    ) -> Result<()> {
        if self.done {
            return Ok(());
        }
        self.done = true;
        // A call may have had no name when it began.
        if let (Item::Whole(_), Some(fields)) = (&self.item, &fields) {
            self.item = common.open(fields.clone(), emitter)?;
        }
        match &mut self.item {
            Item::Message(message) => {
                message.close(fields.as_ref(), common.audio_format.as_deref(), emitter)?;
                common.refused |= message.refused();
                Ok(())
            }
            Item::Reasoning(thoughts) => thoughts.close(fields, emitter),
            Item::Call(call) => call.close(fields.as_ref(), cut, emitter),
            Item::Whole(fields) => common.hand_on(std::mem::take(fields), emitter),
        }
    }
}

impl Common {
    fn open(&mut self, fields: Fields, emitter: &mut Emitter) -> Result<Item> {
        match word(&fields, "type") {
            "message" => return Ok(Item::Message(Passages::default())),
            "reasoning" => return Thoughts::open(emitter).map(Item::Reasoning),
            _ => {}
        }
        let Some((kind, name)) = calls::kind(&fields, self.host_runs_custom) else {
            return Ok(Item::Whole(fields));
        };
        let id = match kind {
            Kind::Call | Kind::Custom => self.call_id(&fields),
            Kind::Server | Kind::Code => {
                self.latest = self.host_id(&fields);
                self.latest.clone()
            }
        };
        Growing::open(kind, id, name, emitter).map(Item::Call)
    }

    /// Two calls of one answer never share an id, or their results could not be told apart.
    fn call_id(&mut self, fields: &Fields) -> String {
        let id = match first(fields, &["call_id", "id"]) {
            Some(id) if !self.calls.iter().any(|known| known == id) => id.to_owned(),
            _ => format!("call_{:016x}_{}", self.seed, self.calls.len()),
        };
        self.calls.push(id.clone());
        id
    }

    fn host_id(&mut self, fields: &Fields) -> String {
        first(fields, &["call_id", "id"]).map(str::to_owned).unwrap_or_else(|| {
            self.unnamed += 1;
            format!("host_{:016x}_{}", self.seed, self.unnamed)
        })
    }

    /// An item that comes whole.
    fn hand_on(&mut self, fields: Fields, emitter: &mut Emitter) -> Result<()> {
        let kind = word(&fields, "type");
        if matches!(kind, "function_call" | "custom_tool_call") {
            return Err(Error::new(ErrorKind::Protocol, "a tool call has no name")
                .with_raw(Value::Object(fields).to_string().as_bytes()));
        }
        let id = if whole::client_tool(&fields).is_some() {
            self.call_id(&fields)
        } else if kind.ends_with("_output") {
            // What the host ran itself is no call that waits for the caller.
            let id = first(&fields, &["call_id"]).unwrap_or(&self.latest).to_owned();
            self.calls.retain(|call| *call != id);
            id
        } else {
            self.host_id(&fields)
        };
        let parts: Vec<ResponsePart> = whole::parts(fields, &id, emitter.provider());
        parts.into_iter().try_for_each(|part| emitter.whole(0, part))
    }
}

fn first<'a>(fields: &'a Fields, names: &[&str]) -> Option<&'a str> {
    names.iter().map(|name| word(fields, name)).find(|id| !id.is_empty())
}

fn declares_custom(tools: &str) -> bool {
    let custom = |part: &str| part.trim_start_matches([' ', ':']).starts_with("\"custom\"");
    tools.split("\"type\"").skip(1).any(custom)
}

fn fields(raw: &RawValue) -> Result<Fields> {
    serde_json::from_str(raw.get()).map_err(|error| {
        Error::new(ErrorKind::Protocol, "an item of the answer is no object")
            .with_raw(raw.get().as_bytes())
            .with_source(error)
    })
}
