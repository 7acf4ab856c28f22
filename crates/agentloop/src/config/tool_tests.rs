//! Settings of tools: what is accepted, and how two files are combined.

use super::*;

fn error_of(text: &str) -> Error {
    Config::parse(text).unwrap_err()
}

#[test]
fn servers_are_programs_or_urls() {
    let config = Config::parse(
        r#"
        [mcp.files]
        command = "npx -y 'a b'"
        args = ["."]
        env = { TOKEN = "hush" }
        timeout = 20
        [mcp.web]
        url = "https://me:hush@mcp.example/x?key=hush"
        headers = { authorization = "Bearer hush" }
        tools = ["get_*"]
        allow = ["get_one"]
        [mcp.off]
        enabled = false
        "#,
    )
    .unwrap();
    let files = &config.tools.servers["files"];
    assert_eq!(files.command, ["npx", "-y", "a b", "."]);
    assert_eq!((files.timeout, files.enabled), (Some(Duration::from_secs(20)), true));
    assert_eq!(config.tools.servers["web"].tools.as_deref(), Some(&["get_*".to_owned()][..]));
    assert!(!config.tools.servers["off"].enabled);
    assert!(!format!("{config:?}").contains("hush"), "{config:?}");
}

#[test]
fn mistakes_name_the_table() {
    for (text, words) in [
        ("[mcp.a]\n", "mcp.a: `command` or `url` is missing"),
        ("[mcp.a]\ncommand = 'x'\nurl = 'https://x'\n", "exclude each other"),
        ("[mcp.a]\nurl = 'file:///x'\n", "does not start with https:// or http://"),
        ("[mcp.a]\nurl = 'https://x'\nargs = ['y']\n", "need `command`"),
        ("[mcp.a]\ncommand = 'x'\nheaders = { a = 'b' }\n", "`headers` needs `url`"),
        ("[mcp.a]\ncommand = \"x 'y\"\n", "mcp.a: command: the command line ends inside a quote"),
        ("[mcp.a]\ncommand = []\n", "command: it is empty"),
        ("[mcp.a]\ncommand = ['x', \"a\\u0000b\"]\n", "NUL"),
        ("[mcp.a]\ncommand = 'x'\ntimeout = 0\n", "timeout: it must be more than 0"),
        ("[tools.a]\ndescription = 'x'\n", "tools.a: `command` is missing"),
        ("[tools.a]\ncommand = 'x'\n", "tools.a: `description` is missing"),
        ("[tools.a]\ncommand = 'x'\ndescription = 'x'\n[groups.a]\n", "groups.a: a tool has"),
        ("[tools.a]\ncommand = 'x'\nshell = true\n", "line 3: unknown field `shell`"),
        ("[tools.a]\ncommand = 'x'\ndescription = 'x'\nparameters = 'x'\n", "line 4: "),
    ] {
        let error = error_of(text);
        assert!(error.message().contains(words), "{text}: {error}");
    }
}

#[test]
fn names_consist_of_what_every_provider_accepts() {
    for name in
        ["\\u001b[2J", "a\\u202eb", "a\\nb", "a__b", "a_", "1a", "", "a b", "a:b", "a*", "ä"]
    {
        for table in ["mcp", "tools", "groups"] {
            let rest = if table == "groups" { "" } else { "command = 'x'\ndescription = 'x'" };
            let rest = if table == "mcp" { "command = 'x'" } else { rest };
            let error = error_of(&format!("[{table}.\"{name}\"]\n{rest}\n"));
            assert!(error.message().ends_with("this name cannot be used"), "{name}: {error}");
            assert!(error.message().chars().all(|c| !c.is_control() && c != '\u{202e}'), "{error}");
        }
    }
    assert!(Config::parse(&format!("[mcp.{}]\ncommand = 'x'\n", "a".repeat(33))).is_err());
}

#[test]
fn a_later_file_replaces_a_server_as_a_whole() {
    let (config, _) = ConfigReader::new()
        .trusted("[mcp.a]\ncommand = 'mine'\nallow = ['*']\n[mcp.b]\ncommand = 'b'\n", "")
        .and_then(|reader| reader.trusted("[mcp.a]\nurl = 'https://other'\n", ""))
        .and_then(ConfigReader::finish)
        .unwrap();
    let server = &config.tools.servers["a"];
    assert!(server.command.is_empty() && server.allow.is_empty());
    assert!(config.tools.servers.contains_key("b"));
}

#[test]
fn paths_are_relative_to_the_file() {
    let text = "[mcp.a]\ncommand = './bin/serve --now'\nfolder = 'data'\n[mcp.b]\ncommand = ['npx', './x']\n";
    let (config, _) =
        ConfigReader::new().trusted(text, "/srv").and_then(ConfigReader::finish).unwrap();
    let server = &config.tools.servers["a"];
    assert_eq!(server.command, ["/srv/bin/serve", "--now"]);
    assert_eq!(server.folder.as_deref(), Some(Path::new("/srv/data")));
    assert_eq!(config.tools.servers["b"].command, ["npx", "./x"]);
}
