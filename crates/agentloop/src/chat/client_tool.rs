//! Tools that a provider defines and the caller runs.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Marks a function as a tool that some providers define themselves and the caller runs: a shell, an editor, a screen.
///
/// A provider that defines the tool gets its own declaration, which its models are trained on. Any other provider gets
/// the function. Calls have the provider's name for the tool and its arguments; the tools of [`agent`](crate::agent)
/// read all of them.
///
/// ```
/// use agentloop::{ClientTool, ClientToolKind};
///
/// let tool = ClientTool::new(ClientToolKind::Shell);
/// assert_eq!(tool.kind, Some(ClientToolKind::Shell));
/// ```
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct ClientTool {
    /// The tool. `None` for one that only `forms` declares.
    pub kind: Option<ClientToolKind>,
    /// The size of the screen, for [`Computer`](ClientToolKind::Computer).
    pub display: Option<Display>,
    /// Declarations by provider name, which replace any other. They are sent in protocols that have such declarations:
    /// Anthropic's and OpenAI's Responses.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub forms: BTreeMap<String, Map<String, Value>>,
}

impl ClientTool {
    /// Creates the marker of a tool of this kind.
    pub fn new(kind: ClientToolKind) -> Self {
        Self { kind: Some(kind), ..Self::default() }
    }
}

/// The tools that providers define and the caller runs.
///
/// ```
/// use agentloop::ClientToolKind;
///
/// assert_eq!(serde_json::to_value(ClientToolKind::TextEditor)?, "text_editor");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ClientToolKind {
    /// Runs commands: `bash` of Anthropic, `shell` of OpenAI.
    Shell,
    /// Reads and edits files: `str_replace_based_edit_tool` of Anthropic.
    TextEditor,
    /// Applies patches to files: `apply_patch` of OpenAI.
    ApplyPatch,
    /// Keeps files between conversations: `memory` of Anthropic.
    Memory,
    /// Uses a screen, a mouse and a keyboard: `computer` of Anthropic and OpenAI.
    Computer,
}

/// The size of a screen, in pixels.
///
/// ```
/// use agentloop::Display;
///
/// let value: Display = serde_json::from_str(r#"{"width":1280,"height":800}"#)?;
/// assert_eq!((value.width, value.height), (1280, 800));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Display {
    /// The width.
    pub width: u32,
    /// The height.
    pub height: u32,
}
