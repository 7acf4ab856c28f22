//! Reads as much of Markdown as the checks need: headings, links and code blocks.

/// A page with its blocks of code.
pub(super) struct Page {
    /// Its path in the repository.
    pub(super) path: String,
    /// Each line that is not code, with its number.
    pub(super) prose: Vec<(usize, String)>,
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
        let (mut prose, mut blocks) = (Vec::<(usize, String)>::new(), Vec::new());
        let mut lines = text.lines().enumerate().map(|(at, line)| (at + 1, line));
        while let Some((number, line)) = lines.next() {
            let Some((indent, fence, info)) = fence(line) else {
                prose.push((number, line.to_owned()));
                continue;
            };
            let mut code = String::new();
            for (_, line) in lines.by_ref() {
                if line.trim() == fence {
                    break;
                }
                // A block of a list is indented.
                let cut = line.len().min(indent).min(line.len() - line.trim_start().len());
                code.push_str(&line[cut..]);
                code.push('\n');
            }
            let mut words = info.split([',', ' ']).filter(|word| !word.is_empty());
            blocks.push(Block {
                line: number,
                language: words.next().unwrap_or_default().to_owned(),
                options: words.map(str::to_owned).collect(),
                text: code,
                mark: prose
                    .last()
                    .filter(|(at, _)| at + 1 == number)
                    .and_then(|(_, text)| mark(text)),
            });
        }
        Self { path: path.to_owned(), prose, blocks }
    }

    /// Returns the first heading.
    pub(super) fn title(&self) -> &str {
        let headings = self.prose.iter().filter_map(|(_, line)| heading(line));
        headings.map(|(_, text)| text).next().unwrap_or_default()
    }

    /// Returns the anchors of its headings, as GitHub and mdBook name them.
    pub(super) fn anchors(&self) -> Vec<String> {
        let mut found: Vec<String> = Vec::new();
        for (_, line) in &self.prose {
            for part in line.split("id=\"").skip(1) {
                found.extend(part.split('"').next().map(str::to_owned));
            }
            let Some((_, text)) = heading(line) else { continue };
            let name = slug(&plain(text));
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

    /// Returns the targets of its links and images, with their lines.
    pub(super) fn links(&self) -> Vec<(usize, String)> {
        let mut found = Vec::new();
        for (number, line) in &self.prose {
            let line = without_code(line);
            for (at, _) in line.match_indices("](") {
                let rest = &line[at + 2..];
                if let Some(target) = rest.split([')', ' ']).next() {
                    found.push((*number, target.to_owned()));
                }
            }
            let trimmed = line.trim_start();
            if let Some((name, target)) =
                trimmed.strip_prefix('[').and_then(|l| l.split_once("]: "))
                && !name.contains(']')
            {
                found.push((*number, target.trim().to_owned()));
            }
        }
        found
    }
}

/// Returns the indentation, the fence and the words behind it, if a line opens a block.
fn fence(line: &str) -> Option<(usize, &str, &str)> {
    let trimmed = line.trim_start();
    let first = trimmed.chars().next().filter(|first| "`~".contains(*first))?;
    let length = trimmed.len() - trimmed.trim_start_matches(first).len();
    let info = &trimmed[length..];
    // A line of prose may start with code.
    (length >= 3 && !info.contains('`'))
        .then(|| (line.len() - trimmed.len(), &trimmed[..length], info))
}

/// Reads `<!-- name: text -->`.
fn mark(line: &str) -> Option<(String, String)> {
    let text = line.trim().strip_prefix("<!--")?.strip_suffix("-->")?;
    let (name, text) = text.split_once(':').unwrap_or((text, ""));
    Some((name.trim().to_owned(), text.trim().to_owned()))
}

/// Returns the level and the text of a heading.
pub(super) fn heading(line: &str) -> Option<(usize, &str)> {
    let level = line.len() - line.trim_start_matches('#').len();
    let text = line[level..].strip_prefix(' ')?;
    (1..=6).contains(&level).then(|| (level, text.trim()))
}

/// Removes the marks of links, code and emphasis.
pub(super) fn plain(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('[') {
        plain.push_str(before);
        match after
            .split_once("](")
            .and_then(|(name, after)| Some((name, after.split_once(')')?.1)))
        {
            Some((name, after)) => {
                plain.push_str(name);
                rest = after;
            }
            None => {
                plain.push('[');
                rest = after;
            }
        }
    }
    plain.push_str(rest);
    plain.replace(['`', '*'], "")
}

fn slug(text: &str) -> String {
    let kept = text.to_lowercase();
    let kept = kept.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// Removes what is between backticks.
fn without_code(line: &str) -> String {
    let parts: Vec<&str> = line.split('`').collect();
    // The last part is not closed if the number of backticks is odd.
    let is_open = parts.len().is_multiple_of(2);
    let kept = parts.iter().enumerate();
    let kept = kept.filter(|(at, _)| at % 2 == 0 || (is_open && *at == parts.len() - 1));
    kept.map(|(_, part)| *part).collect::<Vec<_>>().join("``")
}

#[test]
fn headings_links_and_blocks_are_found() {
    let text = "# One `two` & [three](x.md)\n\n## Again\n\n## Again\n\nSee [a](b.md#c), `[not](this)` and [d](../e).\n\n<!-- not tested: needs a key -->\n```console,x\n$ echo [1](2)\n```\n\n1. list\n\n   ~~~sh\n   ls\n     -l\n   ~~~\n";
    let page = Page::new("docs/p.md", text);
    assert_eq!(page.title(), "One `two` & [three](x.md)");
    assert_eq!(page.anchors(), ["one-two--three", "again", "again-1"]);
    let links: Vec<String> = page.links().into_iter().map(|(_, link)| link).collect();
    assert_eq!(links, ["x.md", "b.md#c", "../e"]);
    assert_eq!(page.blocks.len(), 2);
    assert_eq!((page.blocks[0].line, page.blocks[0].untested()), (10, Some("needs a key")));
    assert_eq!(page.blocks[0].options, ["x"]);
    assert_eq!(
        (page.blocks[1].text.as_str(), page.blocks[1].language.as_str()),
        ("ls\n  -l\n", "sh")
    );
    assert_eq!(page.blocks[1].mark, None);
}
