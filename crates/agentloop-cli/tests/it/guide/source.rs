//! Reads the fields of a struct, with their documentation, from the source of the library.

use super::read;

/// A field of a struct.
pub(super) struct Field {
    pub(super) name: String,
    pub(super) kind: String,
    /// Its documentation, in one line.
    pub(super) text: String,
}

/// Returns the fields of a struct, in their order.
pub(super) fn fields(file: &str, name: &str) -> Vec<Field> {
    let code = read(&format!("crates/agentloop/src/{file}"));
    let start = format!("struct {name} {{");
    let mut lines = code.lines().skip_while(|line| !line.ends_with(&start));
    assert!(lines.next().is_some(), "{file} has no struct {name}");
    let (mut found, mut text) = (Vec::new(), String::new());
    for line in lines.take_while(|line| *line != "}").map(str::trim) {
        if let Some(words) = line.strip_prefix("///") {
            text.push_str(words);
        } else if !line.starts_with("#[") {
            let line = line.trim_start_matches("pub(super) ").trim_start_matches("pub ");
            let (name, kind) = line.split_once(": ").unwrap_or_else(|| panic!("{file}: {line}"));
            found.push(Field {
                name: name.to_owned(),
                kind: kind.trim_end_matches(',').to_owned(),
                text: std::mem::take(&mut text).trim().to_owned(),
            });
        }
    }
    found
}

/// Describes a type in the words of TOML.
pub(super) fn describe(kind: &str) -> String {
    let inside = |outer: &str| kind.strip_prefix(outer).and_then(|rest| rest.strip_suffix('>'));
    if let Some(kind) = inside("Option<") {
        return describe(kind);
    }
    if let Some(kind) = inside("Vec<") {
        return match describe(kind).as_str() {
            "text" => "list of texts".to_owned(),
            "table" => "list of tables".to_owned(),
            other => format!("list: {other}"),
        };
    }
    if let Some(kind) = inside("BTreeMap<String, ") {
        return match describe(kind).as_str() {
            "table" => "tables".to_owned(),
            "text" => "table of texts".to_owned(),
            other => format!("table: {other}"),
        };
    }
    let words = match kind {
        "bool" => "true or false",
        "f64" => "number",
        "u32" | "u64" | "usize" => "whole number",
        "PathBuf" => "path",
        "OneOrMany" | "CommandLine" | "GatewayBudget" => "text, or list of texts",
        "Range" => "number, or two numbers",
        "Value" => "any value",
        "Auth" | "GatewayMember" | "WrittenSource" => "text or table",
        "String"
        | "Secret"
        | "Param"
        | "Protocol"
        | "Download"
        | "CostPeriod"
        | "Date"
        | "Effort"
        | "ModelKind"
        | "Modality"
        | "GatewayLog"
        | "GatewayStrategy"
        | "GatewayWithoutRedis"
        | "GatewayCacheScope" => "text",
        _ => "table",
    };
    words.to_owned()
}
