//! Reads what the checks need of a page: headings, links and code blocks.

use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};

/// A page with its blocks of code.
pub(super) struct Page {
    /// Its path in the repository.
    pub(super) path: String,
    /// Its title, if it begins with one.
    pub(super) title: Option<String>,
    /// The text of its first paragraph.
    pub(super) introduction: String,
    /// The text of its headings.
    headings: Vec<String>,
    /// The targets of its links and images, with their lines.
    pub(super) links: Vec<(usize, String)>,
    pub(super) blocks: Vec<Block>,
}

/// A block of code.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Block {
    /// The line of its fence.
    pub(super) line: usize,
    /// The language, in front of the first comma.
    pub(super) language: String,
    /// The words after the language: `no_run`.
    pub(super) options: Vec<String>,
    pub(super) text: String,
    /// The comment on the line in front of it, split at the colon: `not tested`, and the reason.
    pub(super) mark: Option<(String, String)>,
}

impl Block {
    fn new(line: usize, info: &str, comment: Option<&str>) -> Self {
        let mut words = info.split([',', ' ']).filter(|word| !word.is_empty());
        Self {
            line,
            language: words.next().unwrap_or_default().to_owned(),
            options: words.map(str::to_owned).collect(),
            text: String::new(),
            mark: comment.and_then(mark),
        }
    }

    /// Returns the reason why the block is not tested.
    pub(super) fn untested(&self) -> Option<&str> {
        self.marked("not tested")
    }

    /// Returns the name of the file that the block shows.
    pub(super) fn file(&self) -> Option<&str> {
        self.marked("file")
    }

    fn marked(&self, name: &str) -> Option<&str> {
        self.mark.as_ref().filter(|(mark, _)| mark == name).map(|(_, text)| text.as_str())
    }
}

impl Page {
    pub(super) fn new(path: &str, text: &str) -> Self {
        let mut page = Self {
            path: path.to_owned(),
            title: None,
            introduction: String::new(),
            headings: Vec::new(),
            links: Vec::new(),
            blocks: Vec::new(),
        };
        let breaks: Vec<usize> = text.match_indices('\n').map(|(at, _)| at).collect();
        let line_at = |at: usize| breaks.partition_point(|end| *end < at) + 1;
        // The last comment, with its line; and what is open, with its text.
        let (mut comment, mut words) = ((0, String::new()), String::new());
        let (mut is_title, mut is_code) = (false, false);
        let events = Parser::new_ext(text, Options::ENABLE_TABLES).into_offset_iter();
        for (at, (event, range)) in events.enumerate() {
            let line = line_at(range.start);
            match event {
                Event::Start(Tag::Heading { level, .. }) => {
                    words.clear();
                    is_title = at == 0 && level == HeadingLevel::H1;
                }
                Event::End(TagEnd::Heading(_)) => {
                    if std::mem::take(&mut is_title) {
                        page.title = Some(words.clone());
                    }
                    page.headings.push(words.clone());
                }
                Event::Start(Tag::Paragraph) => words.clear(),
                Event::End(TagEnd::Paragraph) if page.introduction.is_empty() => {
                    page.introduction.clone_from(&words);
                }
                Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                    page.links.push((line, dest_url.into_string()));
                }
                Event::Start(Tag::CodeBlock(kind)) => {
                    is_code = true;
                    let info =
                        if let CodeBlockKind::Fenced(info) = kind { info } else { "".into() };
                    let comment = (comment.0 + 1 == line).then_some(comment.1.as_str());
                    page.blocks.push(Block::new(line, &info, comment));
                }
                Event::End(TagEnd::CodeBlock) => is_code = false,
                Event::Text(text) if is_code => {
                    if let Some(block) = page.blocks.last_mut() {
                        block.text.push_str(&text);
                    }
                }
                Event::Text(text) | Event::Code(text) => words.push_str(&text),
                Event::SoftBreak | Event::HardBreak => words.push(' '),
                Event::Html(html) => comment = (line, html.into_string()),
                _ => {}
            }
        }
        page
    }

    /// Returns the anchors of its headings, as GitHub and mdBook name them.
    pub(super) fn anchors(&self) -> Vec<String> {
        let mut found: Vec<String> = Vec::new();
        for text in &self.headings {
            let name = slug(text);
            let mut unique = name.clone();
            for count in 1.. {
                if !found.contains(&unique) {
                    break;
                }
                unique = format!("{name}-{count}");
            }
            found.push(unique);
        }
        found
    }
}

/// Reads `<!-- name: text -->`.
fn mark(line: &str) -> Option<(String, String)> {
    let text = line.trim().strip_prefix("<!--")?.strip_suffix("-->")?;
    let (name, text) = text.split_once(':').unwrap_or((text, ""));
    Some((name.trim().to_owned(), text.trim().to_owned()))
}

fn slug(text: &str) -> String {
    let kept = text.to_lowercase();
    let kept = kept.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

#[test]
fn headings_links_and_blocks_are_found() {
    let text = "# One `two` & [three](x.md)\n\n## Again\n\n## Again\n\nSee [a](b.md#c), `[not](this)` and [d](../e).\n\n<!-- not tested: needs a key -->\n```console,x\n$ echo [1](2)\n```\n\n1. list\n\n   ~~~sh\n   ls\n     -l\n   ~~~\n";
    let page = Page::new("docs/p.md", text);
    assert_eq!(page.title.as_deref(), Some("One two & three"));
    assert_eq!(page.introduction, "See a, [not](this) and d.");
    assert_eq!(page.anchors(), ["one-two--three", "again", "again-1"]);
    let links: Vec<&str> = page.links.iter().map(|(_, link)| link.as_str()).collect();
    assert_eq!(links, ["x.md", "b.md#c", "../e"]);
    assert_eq!(page.links[1].0, 7);
    assert_eq!(page.blocks.len(), 2);
    assert_eq!((page.blocks[0].line, page.blocks[0].untested()), (10, Some("needs a key")));
    assert_eq!(page.blocks[0].options, ["x"]);
    assert_eq!(
        (page.blocks[1].text.as_str(), page.blocks[1].language.as_str()),
        ("ls\n  -l\n", "sh")
    );
    assert_eq!(page.blocks[1].mark, None);
    assert_eq!(Page::new("docs/p.md", "Text.\n\n# Late\n").title, None);
}
