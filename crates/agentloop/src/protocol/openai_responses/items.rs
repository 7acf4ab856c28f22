//! The items of an answer: which piece belongs to which.
//!
//! An item is told up to four times: when it begins, as it grows, when it ends, and in the list of all at the end of the
//! answer. Any of these may be left out, and so may the places and the ids that say which item is meant.

use std::collections::HashSet;

use serde_json::value::RawValue;

use super::hosted::word;
use super::item::{Common, Fields, Growth, Item};
use super::sound::Sound;
use crate::error::{Error, ErrorKind, Result};
use crate::limits::MAX_PARTS;
use crate::nesting;
use crate::protocol::Emitter;

/// All items of an answer.
#[derive(Debug, Default)]
pub(super) struct Items {
    list: Vec<Entry>,
    common: Common,
    sound: Sound,
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

/// Where an event says that it belongs.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Place<'a> {
    pub(super) index: Option<i64>,
    pub(super) id: Option<&'a str>,
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
        let known = self.list.iter().any(|entry| {
            let here = match index {
                Some(index) => index == entry.index,
                None => !id.is_empty() && !entry.done,
            };
            here && entry.id == id
        });
        if known {
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
        // Two items may share an id, and an item may end twice.
        let at =
            find(&|entry| by_id(entry) && open(entry)).or_else(|| find(&by_id)).or_else(|| {
                match index.is_some() || id.is_empty() {
                    true => find(&open),
                    false => find(&|entry| open(entry) && entry.id.is_empty()),
                }
            });
        self.end_one(at, index, fields, emitter)
    }

    /// The list of all items.
    pub(super) fn listed<'a>(
        &mut self,
        list: impl Iterator<Item = &'a &'a RawValue>,
        emitter: &mut Emitter,
    ) -> Result<()> {
        let list: Vec<Fields> = list.map(|raw| fields(raw)).collect::<Result<_>>()?;
        let ids: HashSet<String> = list.iter().map(|item| word(item, "id").to_owned()).collect();
        for (index, fields) in (0i64..).zip(list) {
            let (id, kind) = (word(&fields, "id"), word(&fields, "type"));
            let find = |test: &dyn Fn(&Entry) -> bool| {
                let fits = |entry: &Entry| !entry.listed && entry.kind == kind;
                self.list.iter().position(|entry| fits(entry) && test(entry))
            };
            let by_id = |entry: &Entry| !id.is_empty() && entry.id == id;
            // Some hosts give it another id here than they did before, or leave out others.
            let renamed = |entry: &Entry| entry.id.is_empty() || !ids.contains(&entry.id);
            let at = find(&|entry| entry.index == index && by_id(entry))
                .or_else(|| find(&by_id))
                .or_else(|| find(&|entry| entry.index == index && renamed(entry)))
                .or_else(|| find(&renamed));
            self.end_one(at, Some(index), fields, emitter)?;
            let at = at.unwrap_or(self.list.len() - 1);
            self.list[at].listed = true;
        }
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

impl Entry {
    fn finish(
        &mut self,
        fields: Option<Fields>,
        cut: bool,
        common: &mut Common,
        emitter: &mut Emitter,
    ) -> Result<()> {
        if std::mem::replace(&mut self.done, true) {
            return Ok(());
        }
        self.item.finish(fields, cut, common, emitter)
    }
}

fn declares_custom(tools: &str) -> bool {
    let custom = |part: &str| part.trim_start_matches([' ', ':']).starts_with("\"custom\"");
    tools.split("\"type\"").skip(1).any(custom)
}

fn fields(raw: &RawValue) -> Result<Fields> {
    nesting::read_object(raw.get()).map_err(|error| {
        Error::new(ErrorKind::Protocol, "an item of the answer is no object")
            .with_raw(raw.get().as_bytes())
            .with_source(error)
    })
}
