//! Reads YAML into a tree of bounded size.
//!
//! Aliases are expanded as they are read, and every copy counts: a file of a few bytes cannot become a large tree.

use std::collections::HashMap;

use saphyr_parser::{Event, Parser, ScalarStyle, ScanError, Tag};

/// The most values of a file, after aliases are expanded.
const MAX_VALUES: usize = 100_000;

/// How deep values may be nested.
const MAX_DEPTH: usize = 32;

/// The tags of YAML's own types, which change nothing here.
const TAGS: [&str; 7] = ["str", "int", "float", "bool", "null", "map", "seq"];

/// A value with its line.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) line: usize,
    pub(super) value: Value,
    /// How many values it has, with itself.
    size: usize,
    /// How deep its values are nested, with itself.
    height: usize,
}

#[derive(Clone, Debug)]
pub(super) enum Value {
    /// A text, and whether it is written without quotes.
    Scalar(String, bool),
    List(Vec<Node>),
    /// The settings in the order of the file. Each name occurs once.
    Map(Vec<(String, Node)>),
}

/// What is wrong with a file, with the line if it is known.
#[derive(Debug)]
pub(super) struct Mistake {
    pub(super) line: usize,
    pub(super) what: String,
}

/// A tree, and the lines of settings that are repeated. The last one counts, as in LiteLLM.
#[derive(Debug)]
pub(super) struct Document {
    pub(super) root: Node,
    pub(super) repeated: Vec<(usize, String)>,
}

impl Node {
    fn scalar(line: usize, text: String, is_plain: bool) -> Self {
        Self { line, value: Value::Scalar(text, is_plain), size: 1, height: 1 }
    }

    /// Returns whether there is no value.
    pub(super) fn is_null(&self) -> bool {
        matches!(&self.value, Value::Scalar(text, true) if matches!(text.as_str(), "" | "~" | "null" | "Null" | "NULL"))
    }

    pub(super) fn text(&self) -> Option<&str> {
        match &self.value {
            Value::Scalar(text, _) if !self.is_null() => Some(text),
            _ => None,
        }
    }

    /// Returns a number. Digits may be separated by `_`, as in Python.
    pub(super) fn number(&self) -> Option<f64> {
        let number: f64 = self.text()?.replace('_', "").parse().ok()?;
        number.is_finite().then_some(number)
    }

    /// Returns a switch, in each of the spellings of YAML 1.1, which LiteLLM reads.
    pub(super) fn switch(&self) -> Option<bool> {
        match self.text()?.to_ascii_lowercase().as_str() {
            "true" | "yes" | "on" => Some(true),
            "false" | "no" | "off" => Some(false),
            _ => None,
        }
    }

    pub(super) fn list(&self) -> Option<&[Node]> {
        match &self.value {
            Value::List(nodes) => Some(nodes),
            _ => None,
        }
    }

    pub(super) fn map(&self) -> Option<&[(String, Node)]> {
        match &self.value {
            Value::Map(entries) => Some(entries),
            _ => None,
        }
    }

    /// Returns the setting of that name, unless it is null.
    pub(super) fn get(&self, name: &str) -> Option<&Node> {
        let found = self.map()?.iter().find(|(key, _)| key == name);
        found.map(|(_, node)| node).filter(|node| !node.is_null())
    }
}

/// Reads a file with one document.
pub(super) fn read(text: &str) -> Result<Document, Mistake> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut reader = Reader {
        parser: Parser::new_from_str(text),
        anchors: HashMap::new(),
        values: 0,
        repeated: Vec::new(),
    };
    let mut root = None;
    loop {
        let (event, line) = reader.next()?;
        match event {
            Event::StreamEnd => break,
            Event::StreamStart | Event::DocumentStart(_) | Event::DocumentEnd | Event::Nothing => {}
            _ if root.is_some() => return Err(mistake(line, "the file has a second document")),
            event => root = Some(reader.node(event, line, 1)?),
        }
    }
    let root = root.ok_or_else(|| mistake(1, "the file is empty"))?;
    Ok(Document { root, repeated: reader.repeated })
}

struct Reader<'a> {
    parser: Parser<'a, saphyr_parser::StrInput<'a>>,
    anchors: HashMap<usize, Node>,
    values: usize,
    repeated: Vec<(usize, String)>,
}

impl<'a> Reader<'a> {
    fn next(&mut self) -> Result<(Event<'a>, usize), Mistake> {
        match self.parser.next_event() {
            Some(Ok((event, span))) => Ok((event, span.start.line())),
            Some(Err(error)) => Err(broken(&error)),
            None => Ok((Event::StreamEnd, 0)),
        }
    }

    fn count(&mut self, values: usize, line: usize) -> Result<(), Mistake> {
        self.values = self.values.saturating_add(values);
        match self.values > MAX_VALUES {
            true => Err(mistake(line, format!("the file has more than {MAX_VALUES} values"))),
            false => Ok(()),
        }
    }

    /// Reads the value that begins with an event.
    fn node(&mut self, event: Event<'a>, line: usize, depth: usize) -> Result<Node, Mistake> {
        if depth > MAX_DEPTH {
            return Err(too_deep(line));
        }
        self.count(1, line)?;
        let (anchor, tag) = match &event {
            Event::Scalar(_, _, anchor, tag)
            | Event::SequenceStart(anchor, tag)
            | Event::MappingStart(anchor, tag) => (*anchor, tag.clone()),
            _ => (0, None),
        };
        let is_known = |tag: &Tag| tag.is_yaml_core_schema() && TAGS.contains(&tag.suffix.as_str());
        if tag.is_some_and(|tag| !is_known(&tag)) {
            return Err(mistake(line, "tags (`!name`) cannot be read"));
        }
        let node = match event {
            Event::Scalar(text, style, ..) => {
                Node::scalar(line, text.into_owned(), style == ScalarStyle::Plain)
            }
            Event::SequenceStart(..) => self.list(line, depth)?,
            Event::MappingStart(..) => self.map(line, depth)?,
            Event::Alias(anchor) => {
                let Some(mut node) = self.anchors.get(&anchor).cloned() else {
                    return Err(mistake(line, "an alias within its own value cannot be read"));
                };
                self.count(node.size, line)?;
                if depth + node.height > MAX_DEPTH {
                    return Err(too_deep(line));
                }
                node.line = line;
                node
            }
            _ => return Err(mistake(line, "a value is missing")),
        };
        if anchor > 0 {
            self.anchors.insert(anchor, node.clone());
        }
        Ok(node)
    }

    fn list(&mut self, line: usize, depth: usize) -> Result<Node, Mistake> {
        let (mut nodes, mut size, mut height) = (Vec::new(), 1, 0);
        loop {
            let (event, at) = self.next()?;
            if matches!(event, Event::SequenceEnd) {
                break;
            }
            let node = self.node(event, at, depth + 1)?;
            (size, height) = (size + node.size, height.max(node.height));
            nodes.push(node);
        }
        Ok(Node { line, value: Value::List(nodes), size, height: height + 1 })
    }

    fn map(&mut self, line: usize, depth: usize) -> Result<Node, Mistake> {
        let mut map = Entries::default();
        let mut merged = Vec::new();
        loop {
            let (event, at) = self.next()?;
            if matches!(event, Event::MappingEnd) {
                break;
            }
            let key = self.node(event, at, depth + 1)?;
            let Value::Scalar(name, is_plain) = key.value else {
                return Err(mistake(at, "the name of a setting must be a text"));
            };
            let (event, at_value) = self.next()?;
            let node = self.node(event, at_value, depth + 1)?;
            match (name.as_str(), is_plain) {
                ("<<", true) => merged.push(node),
                _ => {
                    if map.insert(name.clone(), node, true) {
                        self.repeated.push((at, name));
                    }
                }
            }
        }
        for node in merged {
            let line = node.line;
            let maps = match node.value {
                Value::List(nodes) => nodes,
                value => vec![Node { value, ..node }],
            };
            for each in maps {
                let Value::Map(entries) = each.value else {
                    return Err(mistake(line, "`<<` must be followed by settings"));
                };
                for (name, node) in entries {
                    map.insert(name, node, false);
                }
            }
        }
        let entries = map.entries;
        let size = 1 + entries.iter().map(|(_, node)| node.size + 1).sum::<usize>();
        let height = 1 + entries.iter().map(|(_, node)| node.height).max().unwrap_or(0);
        Ok(Node { line, value: Value::Map(entries), size, height })
    }
}

/// The settings of a table, found by name.
#[derive(Default)]
struct Entries {
    entries: Vec<(String, Node)>,
    places: HashMap<String, usize>,
}

impl Entries {
    /// Adds a setting. Returns whether there was one of that name, which is replaced only if `wins`.
    fn insert(&mut self, name: String, node: Node, wins: bool) -> bool {
        match self.places.get(&name) {
            Some(&at) => {
                if wins && let Some(entry) = self.entries.get_mut(at) {
                    entry.1 = node;
                }
                true
            }
            None => {
                self.places.insert(name.clone(), self.entries.len());
                self.entries.push((name, node));
                false
            }
        }
    }
}

fn mistake(line: usize, what: impl Into<String>) -> Mistake {
    Mistake { line, what: what.into() }
}

fn too_deep(line: usize) -> Mistake {
    mistake(line, format!("values are nested more than {MAX_DEPTH} deep"))
}

fn broken(error: &ScanError) -> Mistake {
    mistake(error.marker().line(), format!("the file is not YAML: {}", error.info()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrong(text: &str) -> String {
        let mistake = read(text).unwrap_err();
        format!("{}: {}", mistake.line, mistake.what)
    }

    #[test]
    fn values_have_their_lines_and_python_s_spellings() {
        let document =
            read("a: 20_000\nb:\n  - Yes\n  - 'null'\n  - ~\nc: 'os.environ/X'\n").unwrap();
        let root = &document.root;
        assert_eq!(root.get("a").unwrap().number(), Some(20_000.0));
        let list = root.get("b").unwrap().list().unwrap();
        assert_eq!((list[0].switch(), list[0].line), (Some(true), 3));
        assert_eq!((list[1].text(), list[2].is_null()), (Some("null"), true));
        assert_eq!(root.get("c").unwrap().text(), Some("os.environ/X"));
        assert!(root.get("d").is_none() && root.get("a").unwrap().get("x").is_none());
    }

    #[test]
    fn aliases_and_merged_settings_are_expanded() {
        let text = "base: &b {api_key: k, rpm: 1}\nlist:\n  - <<: *b\n    rpm: 2\n  - *b\n";
        let root = read(text).unwrap().root;
        let list = root.get("list").unwrap().list().unwrap();
        assert_eq!(list[0].get("rpm").unwrap().number(), Some(2.0));
        assert_eq!(list[0].get("api_key").unwrap().text(), Some("k"));
        assert_eq!(list[1].get("rpm").unwrap().number(), Some(1.0));
        let root = read("a: &a {x: 1}\nb: &b {x: 2, y: 2}\nc: {<<: [*a, *b]}").unwrap().root;
        let merged = root.get("c").unwrap();
        assert_eq!(merged.get("x").unwrap().number(), Some(1.0));
        assert_eq!(merged.get("y").unwrap().number(), Some(2.0));
    }

    #[test]
    fn the_last_of_repeated_settings_counts_and_is_reported() {
        let document = read("a: 1\nb: 2\na: 3\n").unwrap();
        assert_eq!(document.root.get("a").unwrap().number(), Some(3.0));
        assert_eq!(document.repeated, [(3, "a".to_owned())]);
    }

    #[test]
    fn a_billion_laughs_are_refused_quickly() {
        let mut text = "l0: &l0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
        for level in 1..20 {
            let items = vec![format!("*l{}", level - 1); 10].join(", ");
            text.push_str(&format!("l{level}: &l{level} [{items}]\n"));
        }
        assert!(wrong(&text).contains("more than 100000 values"), "{}", wrong(&text));
        let mut text = "m0: &m0 {a: 1, b: 2}\n".to_owned();
        for level in 1..60 {
            let last = level - 1;
            text.push_str(&format!("m{level}: &m{level} {{x: *m{last}, y: *m{last}}}\n"));
        }
        assert!(wrong(&text).contains("more than"), "{}", wrong(&text));
    }

    #[test]
    fn what_is_not_a_tree_of_settings_is_refused_with_its_line() {
        for (text, expected) in [
            ("", "1: the file is empty"),
            ("a: 1\n---\nb: 2\n", "the file has a second document"),
            ("a: &x [*x]", "within its own value"),
            ("a: 1\nb: !!python/object/apply:os.system ['id']\n", "2: tags"),
            ("a: !secret x", "1: tags"),
            ("a: *nowhere", "1: the file is not YAML"),
            ("? [a, b]\n: c\n", "must be a text"),
            ("a: 1\n\tb: 2\n", "the file is not YAML"),
            ("a: 'open", "the file is not YAML"),
            ("a: [1, 2", "the file is not YAML"),
            ("<<: 1", "`<<` must be followed"),
        ] {
            assert!(wrong(text).contains(expected), "{text:?}: {}", wrong(text));
        }
        for open in ["[", "{a: ", "- "] {
            // The parser has a limit, too.
            let why = wrong(&open.repeat(100_000));
            assert!(why.contains("nested more than") || why.contains("recursion limit"), "{why}");
        }
        let many = "- x\n".repeat(MAX_VALUES + 1);
        assert!(wrong(&many).contains("more than"));
    }
}
