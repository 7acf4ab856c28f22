//! What is known of models: limits, abilities, prices.
//!
//! The library carries one dated file of it, [`ModelCatalog::embedded`], which is made from public data by the tool in
//! `tools/model-data`. A lookup never guesses: a model that is not in it is unknown, and is asked for whatever the user
//! asks. What a user knows better goes over it, from `agentloop.toml` or with [`ModelCatalog::with_overrides`].
//!
//! ```
//! use agentloop::models::ModelCatalog;
//!
//! let catalog = ModelCatalog::embedded();
//! let model = catalog.lookup("openai", "gpt-4o").expect("it is well known");
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
mod price;
mod pricing;
mod record;

pub use ability::Abilities;
pub use catalog::ModelCatalog;
pub use date::{Date, ParseDateError};
pub use file::{DataFile, Source};
pub use hours::Hours;
pub use info::ModelInfo;
pub use price::{Price, UnitPrices};
pub use record::{ModelData, ModelKind};

pub(crate) use catalog::checked;
pub(crate) use compact::Hints;
pub(crate) use pricing::{PriceBook, Pricing, served_tier};
