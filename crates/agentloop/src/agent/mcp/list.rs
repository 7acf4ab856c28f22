//! Lists the tools of a server.

use std::time::Duration;

use rmcp::model::PaginatedRequestParams;
use rmcp::service::{Peer, RoleClient, ServiceError};
use serde_json::Value;

use super::super::approval::Policy;
use super::super::tool::Tool;
use super::{name, trouble};
use crate::chat::FunctionDefinition;
use crate::error::{Error, ErrorKind, Result};
use crate::limits::{MCP_MAX_LIST_BYTES, MCP_MAX_PAGES, MCP_MAX_TOOLS};

/// The most characters of the name of a tool that is left out.
const MAX_NAME_CHARS: usize = 128;

/// How the tools of a server are made.
#[derive(Clone, Debug)]
pub(super) struct Listing {
    pub(super) server: String,
    /// The program or the URL of the server, which is part of the fingerprint of its tools.
    pub(super) identity: String,
    pub(super) policy: Policy,
    pub(super) timeout: Option<Duration>,
}

/// The tools of a server.
#[derive(Debug, Default)]
pub(super) struct Listed {
    pub(super) tools: Vec<Entry>,
    /// The tools that cannot be used: the name on the server, and the reason.
    pub(super) left_out: Vec<(String, Error)>,
}

/// A tool, without the connection that runs it.
#[derive(Debug)]
pub(super) struct Entry {
    /// The name of the tool on the server.
    pub(super) remote: String,
    pub(super) tool: Tool,
}

impl Listing {
    /// Requests all tools of the server.
    pub(super) async fn list(&self, peer: &Peer<RoleClient>) -> Result<Listed> {
        let mut found = Vec::new();
        let mut left_out: Vec<String> = Vec::new();
        let mut bytes = 0_usize;
        let mut cursor: Option<String> = None;
        for _ in 0..MCP_MAX_PAGES {
            let params = PaginatedRequestParams::default().with_cursor(cursor.take());
            let page =
                peer.list_tools(Some(params)).await.map_err(|error| self.list_error(&error))?;
            for tool in page.tools {
                bytes = bytes.saturating_add(json_bytes(&tool));
                if found.len() < MCP_MAX_TOOLS && bytes <= MCP_MAX_LIST_BYTES {
                    found.push(tool);
                } else {
                    left_out.push(tool.name.chars().take(MAX_NAME_CHARS).collect());
                }
            }
            cursor = page.next_cursor;
            if cursor.is_none() || !left_out.is_empty() {
                break;
            }
        }
        let mut listed = self.make_tools(found);
        let too_much = |name| {
            let message = format!(
                "the MCP server has more than {MCP_MAX_TOOLS} tools, or more than {MCP_MAX_LIST_BYTES} bytes of descriptions and \
                 schemas"
            );
            (name, Error::new(ErrorKind::TooLarge, message))
        };
        listed.left_out.extend(left_out.into_iter().take(MCP_MAX_TOOLS).map(too_much));
        Ok(listed)
    }

    fn make_tools(&self, found: Vec<rmcp::model::Tool>) -> Listed {
        let mut listed = Listed::default();
        let remote: Vec<&str> = found.iter().map(|tool| tool.name.as_ref()).collect();
        let names = name::tool_names(&self.server, &remote);
        for (tool, name) in found.into_iter().zip(names) {
            let remote = tool.name.to_string();
            let made = self.make_tool(&tool, name);
            if listed.tools.iter().any(|entry| entry.remote == remote) {
                let message = "the MCP server has two tools with this name";
                listed.left_out.push((remote, Error::new(ErrorKind::Protocol, message)));
            } else if let Some(problem) = made.problem() {
                // One invalid tool must not make the other tools unusable.
                tracing::warn!(server = %self.server, tool = %remote, error = %problem, "left out a tool of an MCP server");
                listed.left_out.push((remote, problem.clone()));
            } else {
                listed.tools.push(Entry { remote, tool: made });
            }
        }
        listed
    }

    fn make_tool(&self, tool: &rmcp::model::Tool, name: String) -> Tool {
        let mut parameters = (*tool.input_schema).clone();
        // Providers require the type, and some servers omit it.
        parameters.entry("type").or_insert_with(|| "object".into());
        let title = || tool.title.clone().or_else(|| tool.annotations.as_ref()?.title.clone());
        let description = tool.description.as_ref().map(|text| text.to_string());
        let made = Tool::external(FunctionDefinition {
            name,
            description: description.filter(|text| !text.trim().is_empty()).or_else(title),
            parameters: Some(Value::Object(parameters)),
            strict: None,
            client_tool: None,
        })
        .policy(self.policy)
        .origin(&format!("{} {} {}", self.server, self.identity, tool.name));
        match self.timeout {
            Some(timeout) => made.timeout(timeout),
            None => made,
        }
    }

    fn list_error(&self, error: &ServiceError) -> Error {
        let why = trouble::describe_request_error(error);
        let message =
            format!("listing the tools of the MCP server `{}` failed: {why}", self.server);
        Error::new(ErrorKind::Protocol, message)
    }
}

/// Returns the size of a tool as JSON, in bytes.
fn json_bytes(tool: &rmcp::model::Tool) -> usize {
    struct Count(usize);
    impl std::io::Write for Count {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 = self.0.saturating_add(bytes.len());
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut count = Count(0);
    // Serializing cannot fail, because the tool was parsed from JSON.
    serde_json::to_writer(&mut count, tool).map_or(usize::MAX, |()| count.0)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn listing() -> Listing {
        Listing {
            server: "s".to_owned(),
            identity: "pipe".to_owned(),
            policy: Policy::Ask,
            timeout: None,
        }
    }

    fn remote(name: &str, schema: &Value) -> rmcp::model::Tool {
        let mut tool = rmcp::model::Tool::default();
        tool.name = name.to_owned().into();
        tool.input_schema = std::sync::Arc::new(schema.as_object().cloned().unwrap_or_default());
        tool
    }

    #[test]
    fn an_invalid_tool_is_left_out_and_the_others_stay_usable() {
        let listed = listing().make_tools(vec![
            remote("good", &json!({ "type": "object" })),
            remote("broken", &json!({ "type": "objekt" })),
            remote("good", &json!({ "type": "object" })),
        ]);
        let names: Vec<&str> = listed.tools.iter().map(|entry| entry.tool.name()).collect();
        let left_out: Vec<&str> = listed.left_out.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names.len(), 1);
        assert_eq!(left_out, ["broken", "good"]);
    }
}
