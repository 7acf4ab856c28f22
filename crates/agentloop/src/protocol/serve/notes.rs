//! The warnings of a reader.

use std::borrow::Cow;

use crate::chat::{Warning, WarningKind};

/// The most warnings about one request. A client that needs more has one mistake in many places.
const MAX_NOTES: usize = 40;

/// What a reader changed or left out. A reason is reported once, with the first place that it applies to: a client
/// that sends a field in one tool usually sends it in all of them.
#[derive(Debug, Default)]
pub(in crate::protocol) struct Notes {
    warnings: Vec<Warning>,
    reasons: Vec<Cow<'static, str>>,
}

impl Notes {
    pub(in crate::protocol) fn dropped(&mut self, place: &str, why: impl Into<Cow<'static, str>>) {
        self.add(WarningKind::Dropped, place, why.into());
    }

    pub(in crate::protocol) fn converted(
        &mut self,
        place: &str,
        why: impl Into<Cow<'static, str>>,
    ) {
        self.add(WarningKind::Converted, place, why.into());
    }

    fn add(&mut self, kind: WarningKind, place: &str, why: Cow<'static, str>) {
        if self.warnings.len() >= MAX_NOTES || self.reasons.contains(&why) {
            return;
        }
        self.warnings.push(Warning::new(kind, place, format!("{place}: {why}")));
        self.reasons.push(why);
    }

    pub(in crate::protocol) fn into_warnings(self) -> Vec<Warning> {
        self.warnings
    }
}
