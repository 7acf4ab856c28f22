//! The items of a response: which piece belongs to which.
//!
//! An item is reported up to four times: when it begins, as it grows, when it ends, and in the list of all at the end
//! of the answer. Any of these may be left out, and so may the places and the ids that say which item is meant.

mod audio;
mod complete;
mod index;
mod item;
mod message;
mod received;
mod server_tools;
mod thinking;
mod tool_calls;

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::{HashMap, HashSet, VecDeque};
use std::mem::size_of;

use serde_json::value::RawValue;

use audio::Audio;
use index::{Index, PLACE_BYTES};
pub(super) use item::Growth;
use item::{Common, Fields, Item};
use server_tools::word;
pub(super) use thinking::Source;

use crate::chat::Weight as _;
use crate::error::{Error, ErrorKind, Result};
use crate::hash;
use crate::limits::MAX_PARTS;
use crate::nesting;
use crate::protocol::Emitter;
use crate::protocol::lenient::Text;

/// All items of a response.
#[derive(Debug, Default)]
pub(super) struct Items {
    list: Vec<Entry>,
    places: Index,
    /// The item that grew last, which mostly grows on.
    recent: Option<usize>,
    common: Common,
    audio: Audio,
}

#[derive(Debug)]
struct Entry {
    /// The place in the response: as the provider says, else as they come.
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
        let seed = hash::random();
        Self { common: Common { audio_format, seed, ..Common::default() }, ..Self::default() }
    }

    /// Says of which answer the items are, and which tools were declared for it.
    pub(super) fn of_answer(&mut self, id: &str, tools: Option<&RawValue>) {
        if !id.is_empty() {
            self.common.seed = hash::fnv64(hash::FNV64, id.as_bytes());
        }
        // xAI reports the steps of its own tools as calls of custom tools that the request does not declare (recording
        // xai-stream-citations-search-results-98ebabf3, 2026).
        self.common.host_runs_custom = tools
            .is_some_and(|tools| tools.get().contains("\"type\"") && !declares_custom(tools.get()));
    }

    pub(super) fn has_calls(&self) -> bool {
        !self.common.calls.is_empty()
    }

    pub(super) fn refused(&self) -> bool {
        self.common.refused
    }

    /// Begins an item.
    pub(super) fn added(
        &mut self,
        index: Option<i64>,
        raw: &RawValue,
        emitter: &mut Emitter,
    ) -> Result<()> {
        let fields = fields(raw)?;
        let id = word(&fields, "id");
        // One that grew before it began, or begins again.
        let Self { places, list, .. } = self;
        let known = places.key(None, Some(id), index).is_some_and(|key| match index {
            Some(_) => places.first(key).is_some(),
            None => !id.is_empty() && places.first_open(key, |at| list[at].done).is_some(),
        });
        if known {
            return Ok(());
        }
        let at = self.begin(index, &fields, emitter)?;
        if let Item::Whole(place) = &mut self.list[at].item {
            emitter.charge(fields.weight())?;
            *place = fields;
        }
        Ok(())
    }

    /// Ends an item.
    pub(super) fn done(
        &mut self,
        index: Option<i64>,
        raw: &RawValue,
        emitter: &mut Emitter,
    ) -> Result<()> {
        let fields = fields(raw)?;
        let (id, kind) = (word(&fields, "id"), word(&fields, "type"));
        let Self { places, list, .. } = self;
        let has_ended = |at: usize| list[at].done;
        let own = places.key(Some(kind), Some(id), index).filter(|_| !id.is_empty());
        // Two items may share an id, and an item may end twice.
        let mut at =
            own.and_then(|own| places.first_open(own, has_ended).or_else(|| places.first(own)));
        if at.is_none() {
            let nameless = (index.is_none() && !id.is_empty()).then_some("");
            let key = places.key(Some(kind), nameless, index);
            at = key.and_then(|key| places.first_open(key, has_ended));
        }
        self.end_one(at, index, fields, emitter)
    }

    /// Reads the list of all items.
    pub(super) fn listed<'a>(
        &mut self,
        list: impl Iterator<Item = &'a &'a RawValue>,
        emitter: &mut Emitter,
    ) -> Result<()> {
        let list: Vec<&RawValue> = list.copied().collect();
        let renamed = self.renamed(&list);
        for (index, raw) in (0i64..).zip(list) {
            let fields = fields(raw)?;
            let (id, kind) = (word(&fields, "id"), word(&fields, "type"));
            let Self { places, list, .. } = self;
            let is_listed = |at: usize| list[at].listed;
            let mut by_id = |index: Option<i64>| {
                let key = places.key(Some(kind), Some(id), index).filter(|_| !id.is_empty())?;
                places.first_unnamed(key, is_listed)
            };
            let at = by_id(Some(index))
                .or_else(|| by_id(None))
                .or_else(|| renamed.first(kind, Some(index), is_listed))
                .or_else(|| renamed.first(kind, None, is_listed));
            self.end_one(at, Some(index), fields, emitter)?;
            let at = at.unwrap_or(self.list.len() - 1);
            self.list[at].listed = true;
        }
        Ok(())
    }

    /// Returns the items to which the list gives another id than they had before, or none: some providers do, or leave
    /// out others.
    fn renamed(&self, list: &[&RawValue]) -> Renamed {
        if self.list.is_empty() {
            return Renamed::default();
        }
        let ids: HashSet<Cow<'_, str>> = list.iter().filter_map(|raw| id_of(raw)).collect();
        let renamed = Renamed::default();
        for (at, entry) in self.list.iter().enumerate() {
            if entry.id.is_empty() || !ids.contains(entry.id.as_str()) {
                for index in [None, Some(entry.index)] {
                    let key = (entry.kind.clone(), index);
                    renamed.0.borrow_mut().entry(key).or_default().push_back(at);
                }
            }
        }
        renamed
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
            None => self.begin(index, &fields, emitter)?,
        };
        let cut = word(&fields, "status") == "incomplete";
        self.list[at].finish(Some(fields), cut, &mut self.common, emitter)
    }

    fn begin(
        &mut self,
        index: Option<i64>,
        fields: &Fields,
        emitter: &mut Emitter,
    ) -> Result<usize> {
        let at = self.list.len();
        if at >= MAX_PARTS {
            let message = format!("the response has more than {MAX_PARTS} items");
            return Err(Error::new(ErrorKind::TooLarge, message));
        }
        let (id, kind) = (word(fields, "id"), word(fields, "type"));
        let index = index.unwrap_or(i64::try_from(at).unwrap_or(i64::MAX));
        let words = self.places.add(at, kind, id, index);
        emitter.charge(size_of::<Entry>() + PLACE_BYTES + words + 2 * (id.len() + kind.len()))?;
        self.recent = None;
        self.list.push(Entry {
            index,
            id: id.to_owned(),
            kind: kind.to_owned(),
            item: self.common.open(fields, emitter)?,
            done: false,
            listed: false,
        });
        Ok(at)
    }

    /// Adds to an item. One that never began begins here, if the event says of which kind it is.
    pub(super) fn grow(
        &mut self,
        place: &Place<'_>,
        growth: Growth<'_>,
        emitter: &mut Emitter,
    ) -> Result<()> {
        match growth {
            Growth::Audio { delta } => {
                let format = self.common.audio_format.as_deref();
                return self.audio.grow(delta, format, emitter);
            }
            Growth::Transcript { delta } => {
                let format = self.common.audio_format.as_deref();
                return self.audio.transcript(delta, format, emitter);
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
                self.begin(place.index, &fields, emitter)?
            }
        };
        self.recent = Some(at);
        let entry = &mut self.list[at];
        if entry.done {
            return Ok(());
        }
        entry.item.grow(growth, emitter)
    }

    /// Returns the item that is meant: by place and id, else by id, else by place, else the latest.
    fn find(&mut self, place: &Place<'_>, kind: Option<&str>) -> Option<usize> {
        let Self { places, list, .. } = self;
        let fits = |entry: &Entry| {
            kind.is_none_or(|kind| kind == entry.kind)
                && Some(entry.index) == place.index
                && Some(entry.id.as_str()) == place.id
        };
        // Nothing has begun since, so it is still the latest of its place and id.
        if let Some(recent) = self.recent.filter(|at| fits(&list[*at])) {
            return Some(recent);
        }
        let find = |id: Option<&str>, index: Option<i64>| places.last(places.key(kind, id, index)?);
        match (place.index, place.id) {
            (Some(_), Some(_)) => find(place.id, place.index)
                .or_else(|| find(place.id, None))
                .or_else(|| find(None, place.index)),
            (Some(_), None) => find(None, place.index),
            (None, Some(_)) => {
                find(place.id, None).or_else(|| places.last_open(kind, true, |at| list[at].done))
            }
            (None, None) => places.last_open(kind, false, |at| list[at].done),
        }
    }

    /// Ends the response, and with it every open item.
    pub(super) fn end(&mut self, cut: bool, emitter: &mut Emitter) -> Result<()> {
        for entry in self.list.iter_mut().filter(|entry| !entry.done) {
            entry.finish(None, cut, &mut self.common, emitter)?;
        }
        self.audio.end(emitter)
    }
}

/// Items by kind and index, and by kind alone.
#[derive(Debug, Default)]
struct Renamed(RefCell<Queues>);

type Queues = HashMap<(String, Option<i64>), VecDeque<usize>>;

impl Renamed {
    /// Returns the first that the list has not named. One that it has named once is not looked at again.
    fn first(
        &self,
        kind: &str,
        index: Option<i64>,
        is_listed: impl Fn(usize) -> bool,
    ) -> Option<usize> {
        let mut items = self.0.borrow_mut();
        let items = items.get_mut(&(kind.to_owned(), index))?;
        while items.front().is_some_and(|at| is_listed(*at)) {
            items.pop_front();
        }
        items.front().copied()
    }
}

/// Returns the id of an item that has not been read yet; `None` if it has none, or is not an object.
fn id_of(raw: &RawValue) -> Option<Cow<'_, str>> {
    #[derive(Default, serde::Deserialize)]
    #[serde(default)]
    struct Id<'a> {
        #[serde(borrow)]
        id: Text<'a>,
    }
    serde_json::from_str::<Id<'_>>(raw.get()).ok()?.id.0
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
        let kind = match nesting::is_too_large(&error) {
            true => ErrorKind::TooLarge,
            false => ErrorKind::Protocol,
        };
        Error::new(kind, "an item of the response cannot be read as an object")
            .with_raw(raw.get().as_bytes())
            .with_source(error)
    })
}
