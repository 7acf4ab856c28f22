//! `agentloop run --mcp` with a small MCP server.

#![cfg(all(unix, feature = "mcp"))]

use crate::common;

use common::agentloop;
use common::folder::Folder;

/// A shell script that implements the part of MCP that one tool needs.
pub(crate) const SERVER: &str = r#"
say() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case "$line" in
    *'"initialize"'*) say '{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"shelf","version":"1"}}' ;;
    *'"tools/list"'*) say '{"tools":[{"name":"look","description":"Looks","inputSchema":{"type":"object"}}]}' ;;
    *'"tools/call"'*) say '{"content":[{"type":"text","text":"three books"}]}' ;;
  esac
done
"#;

#[test]
fn tools_of_an_mcp_server_run_if_they_are_allowed() {
    let folder = Folder::with([("server.sh", SERVER)]);
    let args = ["run", "-m", "sim/tools", "--mcp", "sh server.sh", "--allow", "shelf__look", "Go"];
    agentloop(args).within(folder.path()).run().exits(0).shows("shelf__look says: three books");
}

#[test]
fn tools_of_an_mcp_server_need_approval() {
    let folder = Folder::with([("server.sh", SERVER)]);
    let args = ["run", "-m", "sim/tools", "--mcp", "sh server.sh", "--save", "run.json", "Go"];
    agentloop(args).within(folder.path()).run().fails(3, "waits for approval of `shelf__look`");
    let args = ["run", "--mcp", "sh server.sh", "--resume", "run.json", "--deny", "shelf__look"];
    agentloop(args).within(folder.path()).run().exits(0).shows("denied");
}
