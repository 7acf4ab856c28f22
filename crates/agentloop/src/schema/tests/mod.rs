//! Each dialect by example, then all of them over generated schemas and values.

mod dialects;
pub(crate) mod hostile;
mod laws;
