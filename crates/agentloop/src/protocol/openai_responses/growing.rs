//! Finds the item that an event belongs to.
//!
//! An item is reported up to four times: when it starts, as it grows, when it ends, and in the list of all items at the
//! end of the response. Any of these may be missing, and so may the indices and ids that identify the item.

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
use index::{Index, PLACE_BYTES, Wanted};
pub(super) use item::Growth;
use item::{Common, Item};
pub(super) use thinking::Source;

use super::wire_item::WireItem;
use crate::error::{Error, ErrorKind, Result};
use crate::limits::MAX_PARTS;
use crate::protocol::Emitter;
use crate::protocol::lenient::Few;

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
    item: Item,
    done: bool,
    /// Whether the list at the end has named it.
    listed: bool,
}

/// The item that an event names.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Place<'a> {
    pub(super) index: Option<i64>,
    pub(super) id: Option<&'a str>,
}

impl Items {
    pub(super) fn new(audio_format: Option<String>) -> Self {
        Self { common: Common { audio_format, ..Common::default() }, ..Self::default() }
    }

    /// Sets the tools that were declared for the response.
    pub(super) fn set_tools(&mut self, tools: Option<&RawValue>) {
        // xAI reports the steps of its own tools as calls of custom tools that the request does not declare (recording
        // xai-stream-citations-search-results-98ebabf3, 2026).
        self.common.provider_runs_custom = tools
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
        let wire = WireItem::read(raw)?;
        let id = wire.word("id");
        // An item that grew before it started, or that starts again.
        let Self { places, list, .. } = self;
        let wanted = Wanted { kind: None, id: Some(&id), index };
        let known = match index {
            Some(_) => places.first(wanted).is_some(),
            None => !id.is_empty() && places.first_open(wanted, |at| list[at].done).is_some(),
        };
        if known {
            return Ok(());
        }
        let at = self.begin(index, wire.kind(), &id, emitter)?;
        drop(id);
        self.list[at].item = self.common.open(wire, emitter)?;
        Ok(())
    }

    /// Ends an item.
    pub(super) fn done(
        &mut self,
        index: Option<i64>,
        raw: &RawValue,
        emitter: &mut Emitter,
    ) -> Result<()> {
        let wire = WireItem::read(raw)?;
        let (id, kind) = (wire.word("id"), wire.kind());
        let Self { places, list, .. } = self;
        let has_ended = |at: usize| list[at].done;
        let own = Wanted { kind: Some(kind), id: Some(&id), index };
        // Two items may share an id, and an item may end twice.
        let mut at = None;
        if !id.is_empty() {
            at = places.first_open(own, has_ended).or_else(|| places.first(own));
        }
        if at.is_none() {
            let nameless = (index.is_none() && !id.is_empty()).then_some("");
            at = places.first_open(Wanted { id: nameless, ..own }, has_ended);
        }
        drop(id);
        self.end_one(at, index, wire, emitter)
    }

    /// Reads the list of all items.
    pub(super) fn listed(&mut self, list: Few<WireItem<'_>>, emitter: &mut Emitter) -> Result<()> {
        // Before a complete body nothing was reported: no item has to be found, and none is looked for later.
        if self.list.is_empty() {
            for (at, wire) in list.into_iter().enumerate() {
                check_count(at)?;
                Item::default().finish(Some(wire), false, &mut self.common, emitter)?;
            }
            return Ok(());
        }
        let renamed = self.renamed(&list);
        for (index, wire) in (0i64..).zip(list) {
            let (id, kind) = (wire.word("id"), wire.kind());
            let Self { places, list, .. } = self;
            let is_listed = |at: usize| list[at].listed;
            let mut by_id = |index: Option<i64>| {
                let wanted = Wanted { kind: Some(kind), id: Some(&id), index };
                places.first_unnamed(wanted, is_listed).filter(|_| !id.is_empty())
            };
            let at = by_id(Some(index))
                .or_else(|| by_id(None))
                .or_else(|| renamed.first(kind, Some(index), is_listed))
                .or_else(|| renamed.first(kind, None, is_listed));
            drop(id);
            self.end_one(at, Some(index), wire, emitter)?;
            let at = at.unwrap_or(self.list.len() - 1);
            self.list[at].listed = true;
        }
        Ok(())
    }

    /// Returns the items to which the list gives another id than they had before, or none: some providers do, or leave
    /// out others.
    fn renamed(&self, list: &Few<WireItem<'_>>) -> Renamed {
        let ids: HashSet<Cow<'_, str>> = list.iter().map(|wire| wire.word("id")).collect();
        let renamed = Renamed::default();
        for (at, place) in self.places.places().iter().enumerate() {
            if place.id.is_empty() || !ids.contains(place.id.as_str()) {
                for index in [None, Some(place.index)] {
                    let key = (place.kind.clone(), index);
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
        wire: WireItem<'_>,
        emitter: &mut Emitter,
    ) -> Result<()> {
        let at = match at {
            Some(at) => at,
            None => self.begin(index, wire.kind(), &wire.word("id"), emitter)?,
        };
        self.list[at].finish(Some(wire), false, &mut self.common, emitter)
    }

    fn begin(
        &mut self,
        index: Option<i64>,
        kind: &str,
        id: &str,
        emitter: &mut Emitter,
    ) -> Result<usize> {
        let at = self.list.len();
        check_count(at)?;
        let index = index.unwrap_or(i64::try_from(at).unwrap_or(i64::MAX));
        emitter.charge(size_of::<Entry>() + PLACE_BYTES + 2 * (id.len() + kind.len()))?;
        self.places.add(kind, id, index);
        self.recent = None;
        self.list.push(Entry { item: Item::default(), done: false, listed: false });
        Ok(at)
    }

    /// Adds to an item. An item without a start is started here, if the event determines its kind.
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
                let at = self.begin(place.index, kind, place.id.unwrap_or_default(), emitter)?;
                self.list[at].item = Item::grown(kind, emitter)?;
                at
            }
        };
        self.recent = Some(at);
        self.grow_again(growth, emitter)
    }

    /// Adds to the item that grew last.
    pub(super) fn grow_again(&mut self, growth: Growth<'_>, emitter: &mut Emitter) -> Result<()> {
        match self.recent.and_then(|at| self.list.get_mut(at)) {
            Some(entry) if !entry.done => entry.item.grow(growth, emitter),
            _ => Ok(()),
        }
    }

    /// Returns the item that is meant: by place and id, else by id, else by place, else the latest.
    fn find(&mut self, place: &Place<'_>, kind: Option<&str>) -> Option<usize> {
        let Self { places, list, .. } = self;
        let fits = |known: &index::Place| {
            kind.is_none_or(|kind| kind == known.kind)
                && Some(known.index) == place.index
                && Some(known.id.as_str()) == place.id
        };
        // No item has started since, so it is still the latest of its index and id.
        if let Some(recent) = self.recent.filter(|at| fits(&places.places()[*at])) {
            return Some(recent);
        }
        let find = |id: Option<&str>, index: Option<i64>| places.last(Wanted { kind, id, index });
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
        if items.is_empty() {
            return None;
        }
        let items = items.get_mut(&(kind.to_owned(), index))?;
        while items.front().is_some_and(|at| is_listed(*at)) {
            items.pop_front();
        }
        items.front().copied()
    }
}

impl Entry {
    fn finish(
        &mut self,
        wire: Option<WireItem<'_>>,
        cut: bool,
        common: &mut Common,
        emitter: &mut Emitter,
    ) -> Result<()> {
        if std::mem::replace(&mut self.done, true) {
            return Ok(());
        }
        self.item.finish(wire, cut, common, emitter)
    }
}

/// Checks that a response may have one more item than `count`.
fn check_count(count: usize) -> Result<()> {
    if count < MAX_PARTS {
        return Ok(());
    }
    let message = format!("the response has more than {MAX_PARTS} items");
    Err(Error::new(ErrorKind::TooLarge, message))
}

fn declares_custom(tools: &str) -> bool {
    let custom = |part: &str| part.trim_start_matches([' ', ':']).starts_with("\"custom\"");
    tools.split("\"type\"").skip(1).any(custom)
}
