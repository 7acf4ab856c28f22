//! The server's side of the protocols: requests of real clients are read, and responses are written so that clients read
//! the same.

mod anthropic;
mod anthropic_laws;
mod anthropic_stream;
mod carried;
mod described;
mod gemini;
mod gemini_hostile;
mod gemini_stream;
mod openai_calls;
mod openai_chat;
mod openai_errors;
mod openai_hostile;
mod openai_laws;
mod openai_responses;
mod own_laws;
mod recorded;
