//! Data about models: limits, abilities, prices, and restrictions.
//!
//! The library contains one dated data file, [`ModelCatalog::embedded`], which `tools/model-data` generates from public data.
//! A lookup never guesses: a model that is not in the file is unknown, and requests for it are sent unchanged. A user's own
//! records replace fields of it, from `agentloop.toml` or with [`ModelCatalog::with_overrides`].
//!
//! ```
//! use agentloop::models::ModelCatalog;
//!
//! let catalog = ModelCatalog::embedded();
//! let model = catalog.lookup("openai", "gpt-4o").expect("the catalog has it");
//! assert_eq!(model.context_window, Some(128_000));
//! assert!(catalog.lookup("openai", "gpt-of-tomorrow").is_none());
//! ```

mod ability;
mod catalog;
mod compact;
mod cost;
mod date;
mod file;
mod hours;
mod info;
mod name;
pub(crate) mod pattern;
mod price;
mod pricing;
mod record;
pub(crate) mod restriction;

pub use ability::Abilities;
pub use catalog::ModelCatalog;
pub use date::{Date, ParseDateError};
pub use file::{DataFile, Source};
pub use hours::Hours;
pub use info::ModelInfo;
pub use price::{Price, UnitPrices};
pub use record::{ModelData, ModelKind};
pub use restriction::{Action, Condition, ModelRestrictions, Restriction};

pub(crate) use catalog::checked;
pub(crate) use compact::Hints;
pub(crate) use pricing::{PriceBook, Pricing, served_tier};
