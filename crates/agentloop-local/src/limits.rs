//! The limits of this crate. Each bounds what a file, a server or a request can make the process hold or do.

use std::time::Duration;

/// The most metadata entries and the most tensors of a GGUF file. Large models have a few thousand tensors.
pub const MAX_GGUF_ENTRIES: u64 = 65_536;

/// The most bytes of a GGUF file's head: metadata and descriptions of tensors. Vocabularies of 300,000 tokens need about 20 MiB.
pub const MAX_GGUF_HEAD_BYTES: u64 = 256 << 20;

/// The most files of a model that is split into several.
pub const MAX_GGUF_SPLITS: u64 = 1_024;

/// The most files and folders that are visited to list models.
pub const MAX_LISTED_ENTRIES: usize = 20_000;

/// The deepest folder below a model folder in which models are found.
pub const MAX_LIST_DEPTH: usize = 4;

/// The largest manifest of Ollama's store that is read, in bytes.
pub const MAX_MANIFEST_BYTES: u64 = 1 << 20;

/// The most bytes of text in one request, counted over all messages and tools.
pub const MAX_PROMPT_BYTES: usize = 16 << 20;

/// The most chats and embeddings that wait for a model. A call beyond that fails with
/// [`ErrorKind::Overloaded`](agentloop::ErrorKind::Overloaded).
pub const MAX_WAITING_JOBS: usize = 64;

/// The most pieces of a response that wait for their reader. A chat whose reader is slower pauses.
pub const MAX_WAITING_PIECES: usize = 64;

/// The most texts in one embeddings request.
pub const MAX_EMBEDDED_TEXTS: usize = 2_048;

/// The most tokens of a text that is embedded. All of them are evaluated at once.
pub const MAX_EMBEDDED_TOKENS: usize = 8_192;

/// How long a model stays loaded after its last call.
pub const UNLOAD_AFTER: Duration = Duration::from_secs(300);

/// How long one step of evaluating a prompt should take. A call that is cancelled ends after the step in progress.
pub const STEP_TIME: Duration = Duration::from_millis(40);

/// The most tokens that are evaluated in one step.
pub const MAX_STEP_TOKENS: usize = 512;

/// The largest chat template of a model file, in bytes. Those of large models have about 20 KiB.
pub const MAX_TEMPLATE_BYTES: usize = 256 << 10;

/// The steps that a chat template may take, without those of messages and tools.
pub const TEMPLATE_STEPS: u64 = 50_000;

/// The steps that a chat template may take for each message and each tool. Templates need a few hundred.
pub const TEMPLATE_STEPS_OF_ITEM: u64 = 5_000;

/// The most steps of a chat template, in conversations of any length.
pub const MAX_TEMPLATE_STEPS: u64 = 5_000_000;

/// How deep the macros of a chat template may call each other.
pub const MAX_TEMPLATE_RECURSION: usize = 100;

/// The longest text that a chat template may make, in bytes, without what [`TEMPLATE_TEXT_FACTOR`] adds.
pub const TEMPLATE_TEXT_BYTES: usize = 1 << 20;

/// How many bytes longer a text of a chat template may be for each byte of the conversation.
pub const TEMPLATE_TEXT_FACTOR: usize = 4;

/// How many texts of the longest kind a chat template may make in all, captured and written ones included.
pub const TEMPLATE_MEMORY_FACTOR: usize = 64;

/// The most bytes of texts and lists that a chat template may make, in conversations of any length.
pub const MAX_TEMPLATE_MEMORY: usize = 1 << 30;

/// The most elements, at all levels, of a value that a chat template compares, sorts or stores, and one more for each byte of the conversation.
pub const TEMPLATE_NODES: usize = 1 << 16;

/// How deep the values of a chat template may be nested.
pub const MAX_TEMPLATE_DEPTH: usize = 160;

/// The most words and signs between the braces of one tag of a chat template.
pub const MAX_TAG_TOKENS: usize = 4_000;

/// The most elements of a list that a chat template makes with an operator.
pub const MAX_TEMPLATE_ITEMS: usize = 65_536;

/// The stack of a model's thread, in bytes. The compiler of chat templates recurses for each operator of a tag, and each level needs some of it.
pub const MODEL_STACK_BYTES: usize = 64 << 20;

/// The most rules of a grammar that is made from a JSON schema, with the counted repetitions, each of which llama.cpp makes a rule.
pub const MAX_GRAMMAR_RULES: usize = 20_000;

/// The most bytes of a grammar.
pub const MAX_GRAMMAR_BYTES: usize = 256 << 10;

/// The deepest nesting of a JSON schema that a grammar expresses. What is deeper becomes any JSON value, with a warning.
pub const MAX_SCHEMA_DEPTH: usize = 32;

/// The largest number of repetitions that a grammar counts: `maxItems`, `maxLength` and the like. Larger ones have no upper bound
/// in the grammar, with a warning.
pub const MAX_COUNTED_REPEATS: u64 = 256;

/// The most tool calls in one response.
pub const MAX_TOOL_CALLS: usize = 8;

/// The most bytes that are pulled, unless the caller sets another limit.
pub const MAX_PULL_BYTES: u64 = 200 << 30;

/// The most bytes of a list of files that a server sends.
pub const MAX_TREE_BYTES: usize = 8 << 20;

/// The most redirects of one request.
pub const MAX_REDIRECTS: usize = 5;

/// The most attempts of one pull. Each continues where the one before was cut off.
pub const MAX_PULL_ATTEMPTS: usize = 5;

/// How long a pull waits for the next bytes.
pub const PULL_STALL_TIME: Duration = Duration::from_secs(60);

/// The longest file name of a model, in bytes.
pub const MAX_FILE_NAME_BYTES: usize = 200;
