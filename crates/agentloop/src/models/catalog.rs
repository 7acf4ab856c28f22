//! The models that are known, and where they are looked up.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::sync::{Arc, LazyLock};

use super::compact;
use super::file::{self, Lines, Providers};
use super::name::{Additions, Form, forms, may_be_profile};
use super::price;
use super::{DataFile, Date, Hints, ModelData, ModelRestrictions, Source};
use crate::error::{Error, ErrorKind, Result};
use crate::limits::MAX_CONFIG_FILE_BYTES;
use crate::memo::{Memo, Pair};
use crate::regular_file::read_regular_text;
#[cfg(feature = "config")]
use crate::settings::Document;

const EMBEDDED: &str = include_str!("data.json");

/// A cache of lookups in the embedded file. Every call needs the data of its model, and searching again would cost a
/// tenth of all the work of a short call.
static RECENT: LazyLock<Memo<(String, String), Hints>> = LazyLock::new(|| {
    Memo::new(MAX_RECENT_BYTES, |(provider, model), _| provider.len() + model.len() + HINTS_BYTES)
});

/// How much memory of it is used. About two thousand models are remembered.
const MAX_RECENT_BYTES: usize = 512 << 10;

/// The memory of an entry, beside the names.
const HINTS_BYTES: usize = 192;

/// A user's own records, by `provider/model` in small letters.
type Overrides = BTreeMap<String, ModelData>;

/// The models that are known. It is cheap to clone.
///
/// A name is looked up unchanged, ignoring case; then, for the providers that have inference profiles, without a geography (`eu.`), in
/// which case the result has the prices of the geography; then without the date of a snapshot at its end (`-2025-08-07`, `-20250807`,
/// `@20250807`); then, for the providers that have them, without a variant (`:free`), in which case the result has no prices. Nothing
/// else is tried.
///
/// ```
/// use agentloop::ModelCatalog;
///
/// let catalog = ModelCatalog::embedded().with_overrides("[\"lab/one\"]\ncontext_window = 32768\n")?;
/// let model = catalog.lookup("lab", "one").unwrap();
/// assert_eq!(model.context_window, Some(32_768));
/// # Ok::<(), agentloop::Error>(())
/// ```
#[derive(Clone, Default)]
pub struct ModelCatalog(Option<Arc<Own>>);

/// The changes to the embedded data.
#[derive(Clone, Default)]
struct Own {
    /// Replaces the embedded file.
    data: Option<String>,
    overrides: Overrides,
}

impl ModelCatalog {
    /// Returns the catalog that this version of the library contains.
    pub fn embedded() -> Self {
        Self(None)
    }

    /// Reads the text of a file that `model-data` wrote.
    ///
    /// # Errors
    ///
    /// When it is not a data file; the error names the line.
    pub fn parse(text: impl Into<String>) -> Result<Self> {
        let text = text.into();
        DataFile::parse(&text)?;
        Ok(Self(Some(Arc::new(Own { data: Some(text), overrides: BTreeMap::new() }))))
    }

    /// Reads a file that `model-data` wrote.
    ///
    /// # Errors
    ///
    /// When it cannot be read, or [`parse`](Self::parse) fails; the error names the file.
    pub fn read(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let named = |error: &dyn fmt::Display| {
            Error::new(ErrorKind::Config, format!("{}: {error}", path.display()))
        };
        let text = read_regular_text(path, MAX_CONFIG_FILE_BYTES).map_err(|error| named(&error))?;
        Self::parse(text).map_err(|error| named(&error.message()))
    }

    /// Adds records: JSON if the text starts with a brace, else TOML, which needs the feature `config`.
    ///
    /// A field of a record replaces the field of the model (all prices are one field); fields that a record does not have
    /// stay. A record of an unknown model adds the model.
    ///
    /// ```
    /// use agentloop::models::ModelCatalog;
    ///
    /// let catalog = ModelCatalog::embedded().with_overrides(r#"
    ///     ["lab/big-one"]
    ///     context_window = 32768
    ///     abilities = { tools = true, reasoning = false }
    ///     prices = [{ per_million = { input = "0.10", output = "0.40" } }]
    /// "#)?;
    /// assert_eq!(catalog.lookup("lab", "big-one").and_then(|model| model.context_window), Some(32_768));
    /// # Ok::<(), agentloop::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// When the text cannot be read, has a field that is not known, or names a model without its provider.
    pub fn with_overrides(self, text: &str) -> Result<Self> {
        let records = if text.trim_start().starts_with('{') {
            serde_json::from_str(text).map_err(|error| wrong(error.line(), &error))?
        } else {
            read_toml(text)?
        };
        Ok(self.overridden(checked(records)?))
    }

    /// Returns the user's own records.
    pub(crate) fn overrides(&self) -> impl Iterator<Item = &ModelData> {
        self.0.iter().flat_map(|own| own.overrides.values())
    }

    pub(crate) fn overridden(self, records: BTreeMap<String, ModelData>) -> Self {
        let mut own = self.0.map(Arc::unwrap_or_clone).unwrap_or_default();
        for (key, record) in records {
            let record = match own.overrides.remove(&key) {
                Some(before) => record.or(before),
                None => record,
            };
            own.overrides.insert(key, record);
        }
        Self(Some(Arc::new(own)))
    }

    /// Returns the data of a model of a provider.
    ///
    /// Prices that apply only in some [regions](super::Price::regions) are part of the record, but no cost is computed with them. Use
    /// [`lookup_in`](Self::lookup_in) if the region is known.
    pub fn lookup(&self, provider: &str, model: &str) -> Option<ModelData> {
        self.find(provider, model, None)
    }

    /// Returns the data of a model of a provider, with its prices in a region of the provider.
    ///
    /// The name of a profile (`eu.…`) and a resource name decide where a model is served, whatever the region.
    ///
    /// ```
    /// use std::time::SystemTime;
    /// use agentloop::{ModelCatalog, Usage};
    ///
    /// let catalog = ModelCatalog::embedded();
    /// let cost = |region| {
    ///     let model = catalog.lookup_in("bedrock", "minimax.minimax-m2.5", region)?;
    ///     Some(model.cost(&Usage::new(1_000, 100), SystemTime::now(), None)?.usd.to_string())
    /// };
    /// assert_eq!(cost("us-east-1").as_deref(), Some("0.00042"));
    /// assert_eq!(cost("eu-west-2").as_deref(), Some("0.000656"));
    /// assert_eq!(cost("eu-west-9"), None);
    /// ```
    pub fn lookup_in(&self, provider: &str, model: &str, region: &str) -> Option<ModelData> {
        self.find(provider, model, Some(region))
    }

    fn find(&self, provider: &str, model: &str, region: Option<&str>) -> Option<ModelData> {
        self.forms(provider, model).find_map(|Form { model, place, same_price }| {
            let mut found = self.exactly(provider, model)?;
            if !same_price {
                found.prices.clear();
            }
            if let Some(place) = place.or(region) {
                price::at(&mut found.prices, place);
            }
            Some(found)
        })
    }

    /// Returns the fields that shape a request, without reading the others.
    pub(crate) fn hints(&self, provider: &str, model: &str) -> Hints {
        if self.0.as_ref().is_some_and(|own| !own.overrides.is_empty()) {
            return self.lookup(provider, model).map_or_else(Hints::default, |model| {
                let efforts = model.efforts.map(|levels| levels.into_iter().collect());
                let (context, output) = (model.context_window, model.max_output_tokens);
                Hints::new(context, output, model.abilities, efforts)
            });
        }
        let find = || {
            let mut forms = self.forms(provider, model);
            let found = forms.find_map(|form| self.lines()?.find(provider, form.model));
            found.and_then(|(_, json)| Hints::read(json)).unwrap_or_default()
        };
        match &self.0 {
            None => RECENT.get(&Pair(provider, model)).unwrap_or_else(|| {
                let found = find();
                RECENT.insert((provider.to_owned(), model.to_owned()), found);
                found
            }),
            Some(_) => find(),
        }
    }

    /// Returns the user's changes to the restrictions of a model.
    pub(crate) fn restrictions(&self, provider: &str, model: &str) -> Option<&ModelRestrictions> {
        let own = self.0.as_ref().filter(|own| !own.overrides.is_empty())?;
        self.forms(provider, model).find_map(|form| {
            let key = format!("{provider}/{}", form.model).to_ascii_lowercase();
            own.overrides.get(&key)?.restrictions.as_ref()
        })
    }

    /// Returns the names under which a model is looked for.
    fn forms<'m>(&self, provider: &str, model: &'m str) -> impl Iterator<Item = Form<'m>> {
        // A file that was written before a list existed gets that of the library.
        let is_listed = |list| {
            file::lists(self.text(), list, provider)
                .or_else(|| file::lists(EMBEDDED, list, provider))
                .unwrap_or_default()
        };
        let adds = Additions {
            variants: model.contains(':') && is_listed(Providers::WithVariants),
            profiles: may_be_profile(model) && is_listed(Providers::WithProfiles),
        };
        forms(model, adds)
    }

    fn exactly(&self, provider: &str, model: &str) -> Option<ModelData> {
        let known = self
            .lines()
            .and_then(|lines| lines.find(provider, model))
            .and_then(|(id, json)| compact::read(id, json).ok());
        let overrides = self.0.as_ref().map(|own| &own.overrides).filter(|all| !all.is_empty());
        let own = overrides
            .and_then(|all| all.get(&format!("{provider}/{model}").to_ascii_lowercase()))
            .cloned();
        match (own, known) {
            (Some(own), Some(known)) => Some(own.or(known)),
            (own, known) => own.or(known),
        }
    }

    /// Returns every model of a provider, sorted by name.
    pub fn of_provider(&self, provider: &str) -> Vec<ModelData> {
        let prefix = format!("{provider}/").to_ascii_lowercase();
        let is_of = |id: &str| {
            id.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(&prefix))
        };
        let mut models = BTreeMap::new();
        for (id, json) in self.lines().into_iter().flat_map(Lines::iter).filter_map(file::split) {
            if is_of(id) {
                models.insert(id.to_ascii_lowercase(), compact::read(id, json).unwrap_or_default());
            }
        }
        for (key, record) in self.0.iter().flat_map(|own| &own.overrides) {
            if is_of(key) {
                let known = models.remove(key).unwrap_or_default();
                models.insert(key.clone(), record.clone().or(known));
            }
        }
        models.into_values().collect()
    }

    /// Returns the day on which the data was generated.
    pub fn date(&self) -> Option<Date> {
        file::head(self.text()).ok().map(|head| head.generated)
    }

    /// Returns the sources of the data, with their terms.
    pub fn sources(&self) -> Vec<Source> {
        file::head(self.text()).map(|head| head.sources).unwrap_or_default()
    }

    fn text(&self) -> &str {
        self.0.as_ref().and_then(|own| own.data.as_deref()).unwrap_or(EMBEDDED)
    }

    fn lines(&self) -> Option<Lines<'_>> {
        Lines::of(self.text())
    }
}

/// Checks records, and returns them by their names in lower case.
pub(crate) fn checked(records: BTreeMap<String, ModelData>) -> Result<BTreeMap<String, ModelData>> {
    let mut overrides = Overrides::new();
    for (id, mut record) in records {
        if id
            .split_once('/')
            .is_none_or(|(provider, model)| provider.is_empty() || model.is_empty())
        {
            return Err(Error::new(
                ErrorKind::Config,
                format!("`{id}` is not the name of a model"),
            )
            .with_hint("write it as \"provider/model\""));
        }
        if let Some(restrictions) = &record.restrictions {
            restrictions.check().map_err(|error| {
                Error::new(ErrorKind::Config, format!("`{id}`: {}", error.message()))
                    .with_hint(error.hint().unwrap_or_default())
            })?;
        }
        let key = id.to_ascii_lowercase();
        record.id = id;
        overrides.insert(key, record);
    }
    Ok(overrides)
}

impl fmt::Debug for ModelCatalog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let own = self.0.as_ref();
        f.debug_struct("ModelCatalog")
            .field("embedded", &own.is_none_or(|own| own.data.is_none()))
            .field("overrides", &own.map_or(0, |own| own.overrides.len()))
            .finish()
    }
}

/// Returns the error of records that cannot be read.
fn wrong(line: usize, message: &dyn fmt::Display) -> Error {
    Error::new(ErrorKind::Config, format!("line {line}: {message}"))
}

#[cfg(feature = "config")]
fn read_toml(text: &str) -> Result<BTreeMap<String, ModelData>> {
    Document::parse(text)?.read()
}

#[cfg(not(feature = "config"))]
fn read_toml(_: &str) -> Result<BTreeMap<String, ModelData>> {
    Err(Error::new(ErrorKind::Config, "the records are TOML, and TOML support is not compiled in")
        .with_hint("enable the feature `config` of agentloop, or write the records as JSON"))
}
