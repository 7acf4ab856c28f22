//! Each dialect by example, then all of them over generated schemas and values.

mod dialects;
mod hostile;
mod laws;
