//! The restrictions of a provider: which ones apply to a model, and which ids exist.

use std::collections::BTreeSet;

use super::rows::families;
use super::{Provider, Rule};
use crate::chat::ChatRequest;
use crate::error::{Error, ErrorKind, Result};
use crate::models::{ModelData, Restriction};

/// Checks that every id which users remove from their models is the id of a restriction.
///
/// # Errors
///
/// When neither a family nor one of the providers has a restriction with such an id.
pub(crate) fn check_removed<'a>(
    models: impl Iterator<Item = &'a ModelData>,
    providers: impl Iterator<Item = &'a Provider>,
) -> Result<()> {
    let rows = families::restrictions()
        .iter()
        .chain(providers.flat_map(|provider| &provider.restrictions));
    let known: BTreeSet<&str> = rows.map(|row| row.id.as_ref()).chain(["*"]).collect();
    for model in models {
        let mut removed = model.restrictions.iter().flat_map(|changes| &changes.remove);
        if let Some(id) = removed.find(|id| !known.contains(id.as_str())) {
            let name = &model.id;
            let message = format!("`{name}`: restrictions.remove: there is no restriction `{id}`");
            return Err(Error::new(ErrorKind::Config, message)
                .with_hint("docs/restrictions.md lists the ids; `*` removes all"));
        }
    }
    Ok(())
}

impl Provider {
    setters! {
        /// Adds a restriction.
        restriction(self, row: Restriction) => self.restrictions.push(row);
    }

    /// Returns whether all conditions of a restriction hold for a request.
    pub(crate) fn meets(&self, row: &Restriction, request: &ChatRequest) -> bool {
        let has_field = |name: &str| {
            let of_provider = request.provider_options.get(self.name.as_ref());
            let is_default = |rule: &Rule| match rule {
                Rule::Default(path, _) => path.split('.').next() == Some(name),
                _ => false,
            };
            request.extra_body.contains_key(name)
                || of_provider.is_some_and(|options| options.contains_key(name))
                || self.rules.iter().any(is_default)
        };
        row.when.iter().all(|when| when.holds(request, &self.base_url, has_field))
    }

    /// Calls `visit` with every restriction that may apply to `model` in the provider's protocol, in the order of the
    /// table. Whether a restriction [is about](Restriction::is_about) the model is left to the visitor, which asks it
    /// last: a pattern costs more than most conditions.
    ///
    /// # Errors
    ///
    /// The first that `visit` returns.
    pub(crate) fn each_restriction(
        &self,
        model: &str,
        mut visit: impl FnMut(&Restriction) -> Result<()>,
    ) -> Result<()> {
        let own = self.catalog.restrictions(&self.name, model);
        let applies = |row: &&Restriction| {
            row.protocol.is_none_or(|protocol| protocol == self.protocol)
                && own.as_ref().is_none_or(|own| !own.replaces(&row.id))
        };
        let table = families::restrictions().iter().chain(&self.restrictions);
        table.filter(applies).try_for_each(&mut visit)?;
        let spoken =
            |row: &&Restriction| row.protocol.is_none_or(|protocol| protocol == self.protocol);
        own.iter().flat_map(|own| &own.add).filter(spoken).try_for_each(visit)
    }
}

#[cfg(test)]
mod tests;
