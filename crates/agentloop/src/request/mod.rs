//! What is asked: the types that a caller fills in.

mod cache;
mod chat;
mod client_tool;
mod content;
mod embed;
mod headers;
mod media;
mod message;
mod output;
mod read;
mod reasoning;
mod server_tool;
mod tool;

pub use cache::CacheMode;
pub use chat::{ChatRequest, Stop, StreamOptions};
pub use client_tool::{ClientTool, ClientToolKind, Display};
pub use content::{
    AudioInput, ContentPart, FileInput, ImageDetail, ImageUrl, MediaUrl, MessageContent,
};
pub use embed::{EmbedInput, EmbedInputType, EmbedRequest, EmbedResponse, EmbedUsage};
pub use headers::ExtraHeaders;
pub use message::{ChatMessage, FunctionCall, Origin, Role, ToolCall};
pub use output::{AudioOutput, ImageOutput, JsonSchemaFormat, OutputStrategy, ResponseFormat};
pub(crate) use read::vendor_state;
pub(crate) use reasoning::Efforts;
pub use reasoning::{Effort, Thinking};
pub use server_tool::{
    CodeExecutionTool, FileSearchTool, ServerTool, UserLocation, WebFetchTool, WebSearchTool,
};
pub use tool::{FunctionDefinition, ToolChoice, ToolDefinition};
