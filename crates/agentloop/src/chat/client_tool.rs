//! Tools that a provider defines and the caller runs.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Marks a function as a tool that some providers define themselves and the caller runs: a shell, an editor, a screen.
///
/// A provider that knows the tool is sent its own declaration, for which its models are trained; any other provider
/// is sent the function. Calls come back under the provider's name for the tool and in its form: the tools of
/// [`agent`](crate::agent) read all of them.
///
/// ```
/// use agentloop::{ClientTool, ClientToolKind};
///
/// let tool = ClientTool::new(ClientToolKind::Shell);
/// assert_eq!(tool.kind, Some(ClientToolKind::Shell));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct ClientTool {
    /// Which tool it is; `None` for one that only `forms` declares.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<ClientToolKind>,
    /// The size of the screen, for [`Computer`](ClientToolKind::Computer).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub display: Option<Display>,
    /// By the name of a provider, the declaration that it is sent instead of any other. It is sent where the protocol has
    /// such declarations: Anthropic's and OpenAI's Responses.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub forms: BTreeMap<String, Map<String, Value>>,
}

impl ClientTool {
    /// Returns the marker of a tool of this kind.
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
