//! The conditions of a query.

use rusqlite::ToSql;

use crate::store::RowFilter;

/// The conditions that rows must fulfil. Values are bound, never written into the text.
pub(super) struct Conditions {
    texts: Vec<&'static str>,
    values: Vec<Box<dyn ToSql>>,
}

impl Conditions {
    /// Returns the conditions of a filter, for the table `ledger AS l`.
    pub(super) fn new(filter: RowFilter) -> Self {
        let mut conditions = Self { texts: Vec::new(), values: Vec::new() };
        let RowFilter { since_ms, until_ms, key, team, model, provider, tag } = filter;
        conditions.add_some("l.time_ms >= ?", since_ms);
        conditions.add_some("l.time_ms < ?", until_ms);
        conditions.add_some("l.key = ?", key);
        conditions.add_some("l.team = ?", team);
        conditions.add_some("l.provider || '/' || l.served = ?", model);
        conditions.add_some("l.provider = ?", provider);
        conditions.add_some("EXISTS (SELECT 1 FROM json_each(l.tags) WHERE value = ?)", tag);
        conditions
    }

    pub(super) fn add(
        &mut self,
        text: &'static str,
        values: impl IntoIterator<Item = Box<dyn ToSql>>,
    ) {
        self.texts.push(text);
        self.values.extend(values);
    }

    fn add_some<T: ToSql + 'static>(&mut self, text: &'static str, value: Option<T>) {
        if let Some(value) = value {
            self.add(text, [Box::new(value) as Box<dyn ToSql>]);
        }
    }

    /// Returns the clause, or nothing if there is no condition.
    pub(super) fn sql(&self) -> String {
        if self.texts.is_empty() {
            String::new()
        } else {
            format!(" WHERE {}", self.texts.join(" AND "))
        }
    }

    pub(super) fn values(&self) -> impl Iterator<Item = &dyn ToSql> {
        self.values.iter().map(AsRef::as_ref)
    }
}
