//! Whole texts on a screen.

use super::*;

const COLUMNS: u16 = 60;

fn new() -> Markdown {
    Markdown::with_size(true, || (usize::from(COLUMNS), 24))
}

/// Returns what is written if the text arrives in these pieces.
fn written<'a>(pieces: impl IntoIterator<Item = &'a str>) -> String {
    let (mut markdown, mut out) = (new(), String::new());
    pieces.into_iter().for_each(|piece| markdown.push(piece, &mut out));
    markdown.finish(&mut out);
    out
}

/// Returns the text on a screen that has received these bytes.
fn screen(written: &str) -> String {
    let rows = 100;
    let size = |number| std::num::NonZero::new(number).unwrap();
    let mut parser = vt100::Parser::new(size(rows), size(COLUMNS), 0);
    parser.process(written.replace('\n', "\r\n").as_bytes());
    let rows = parser.screen().rows(0, COLUMNS);
    let text = rows.map(|row| row.trim_end().to_owned()).collect::<Vec<_>>().join("\n");
    text.trim_end().to_owned()
}

fn shown(text: &str) -> String {
    screen(&written([text]))
}

const ALL: &str = "\
# A title with `code`

Some **bold** text, *emphasis* and ~~old~~ words that wrap. See [the docs](https://example.com/docs).
A second line.

- one
- two, which is long enough to wrap at the end of the line on this screen
  - nested
    1. deep
- [x] done
- [ ] open

10. ten

    ```rust
    let x = \"a\"; // code
    ```

> A quote that is long enough to wrap at the end of the line, too
>
> > nested

| Name | Size |
|:-----|-----:|
| a | 1 |
| `b` | 1,000 |

| not a table |

***

```python
def f():
\treturn 1
```
日本語のテキストは単語の間に空白がないので、文字の間で改行されます。絵文字👍も。
";

#[test]
fn a_text_with_all_markup() {
    insta::assert_snapshot!(shown(ALL), @r#"
    A title with code

    Some bold text, emphasis and old words that wrap. See the
    docs (https://example.com/docs).
    A second line.

    • one
    • two, which is long enough to wrap at the end of the line
      on this screen
      ◦ nested
        1. deep
    ☑ done
    ☐ open

    10. ten

        ── rust ────────────────────────────────
        let x = "a"; // code
        ────────────────────────────────────────

    │ A quote that is long enough to wrap at the end of the
    │ line, too
    │
    │ │ nested

    Name │  Size
    ─────┼──────
    a    │     1
    b    │ 1,000

    | not a table |

    ────────────────────────────────────────

    ── python ──────────────────────────────
    def f():
        return 1
    ────────────────────────────────────────
    日本語のテキストは単語の間に空白がないので、文字の間で改行さ
    れます。絵文字👍も。
    "#);
}

#[test]
fn every_split_gives_the_same_screen() {
    let whole = shown(ALL);
    for (at, _) in ALL.char_indices() {
        assert_eq!(screen(&written([&ALL[..at], &ALL[at..]])), whole, "split at {at}");
    }
    let single: Vec<String> = ALL.chars().map(String::from).collect();
    assert_eq!(screen(&written(single.iter().map(String::as_str))), whole);
}

/// Random numbers that are the same in every run.
fn random(seed: &mut u64) -> usize {
    *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    usize::try_from(*seed >> 40).unwrap()
}

#[test]
fn random_texts_give_the_same_screen_however_they_are_split() {
    const PIECES: [&str; 40] = [
        "a",
        "word ",
        "**",
        "*",
        "_",
        "`",
        "```",
        "```rust",
        "~~",
        "[",
        "](",
        ")",
        "![x](y)",
        "<http://a.b>",
        "\n",
        "\n\n",
        "\r\n",
        "# ",
        "- ",
        "1. ",
        "> ",
        "  ",
        "    ",
        "|",
        "| a | b |\n",
        "|---|---|\n",
        "---",
        "===",
        "\\",
        "&amp;",
        "日本",
        "👍",
        "e\u{301}",
        "\u{202e}",
        "\u{1b}[2J",
        "\t",
        "- [x] ",
        "\"str\"",
        "// c",
        "\u{200d}",
    ];
    let mut seed = 1;
    for round in 0..400 {
        let count = random(&mut seed) % 40;
        let text: String = (0..count).map(|_| PIECES[random(&mut seed) % PIECES.len()]).collect();
        let whole = shown(&text);
        let mut rest = text.as_str();
        let mut pieces = Vec::new();
        while !rest.is_empty() {
            let mut at = (random(&mut seed) % 6 + 1).min(rest.len());
            while !rest.is_char_boundary(at) {
                at += 1;
            }
            pieces.push(&rest[..at]);
            rest = &rest[at..];
        }
        assert_eq!(screen(&written(pieces.iter().copied())), whole, "{round}: {text:?}");
    }
}

#[test]
fn every_character_that_is_not_markup_is_shown_once() {
    let mut seed = 7;
    for round in 0..300 {
        // Words with unique names between random markup.
        let mut text = String::new();
        let count = random(&mut seed) % 20 + 1;
        for word in 0..count {
            const MARKUP: [&str; 16] = [
                " ", "\n", "\n\n", " **", "** ", " *", "* ", " `", "` ", "\n- ", "\n> ", "\n# ",
                "\n| ", " | ", "\n```\n", "\n1. ",
            ];
            text.push_str(MARKUP[random(&mut seed) % MARKUP.len()]);
            text.push_str(&format!("w{word}x"));
        }
        let screen = shown(&text);
        for word in 0..count {
            let word = format!("w{word}x");
            assert_eq!(
                screen.matches(&word).count(),
                1,
                "{round}: {word} of {text:?} in\n{screen}"
            );
        }
    }
}

#[test]
fn nothing_of_a_text_controls_the_terminal() {
    let hostile = "\u{1b}[2J\u{9b}31m\u{202e}\u{2066}\u{61c}\u{7}\u{85}\u{2028}\r";
    let text = format!(
        "# {hostile}\n**{hostile}** `{hostile}` [{hostile}](http://{hostile})\n\n| {hostile} |\n|---|\n| {hostile} |\n\n```{hostile}\n{hostile}\n"
    );
    let out = written([text.as_str()]);
    for sequence in out.split('\u{1b}').skip(1) {
        let end = sequence.find(|c: char| c.is_ascii_alphabetic()).unwrap();
        assert!(matches!(&sequence[end..=end], "m" | "K"), "{sequence:?}");
        assert!(sequence[1..end].chars().all(|c| c.is_ascii_digit() || c == ';'), "{sequence:?}");
    }
    let is_control = |c: char| c.is_control() && !matches!(c, '\u{1b}' | '\n' | '\r');
    assert!(!out.contains(is_control), "{out:?}");
    assert!(!out.contains(['\u{202e}', '\u{2066}', '\u{61c}', '\u{2028}', '\u{9b}']), "{out:?}");
    // A carriage return is written only to rewrite the open line.
    assert!(out.match_indices('\r').all(|(at, _)| out[at..].starts_with("\r\u{1b}[K")), "{out:?}");
}

#[test]
fn lines_fit_every_width() {
    for columns in [12_usize, 20, 40, 79, 200] {
        // A function pointer cannot capture the width.
        let size: fn() -> (usize, usize) = match columns {
            12 => || (12, 24),
            20 => || (20, 24),
            40 => || (40, 24),
            79 => || (79, 24),
            _ => || (200, 24),
        };
        let (mut markdown, mut out) = (Markdown::with_size(false, size), String::new());
        // Code is not wrapped by this program.
        let text = ALL.replace("```", "").replace("rust\n", "");
        markdown.push(&text, &mut out);
        markdown.finish(&mut out);
        for line in out.lines() {
            let line = line.rsplit("\u{1b}[K").next().unwrap();
            let plain: String = strip(line);
            assert!(super::super::width::of_str(&plain) <= columns, "{columns}: {plain:?}");
        }
    }
}

fn strip(line: &str) -> String {
    let mut pieces = line.split('\u{1b}');
    let first = pieces.next().unwrap_or("").to_owned();
    pieces.fold(first, |text, piece| text + piece.split_once('m').map_or("", |(_, rest)| rest))
}

#[test]
fn what_is_kept_and_the_work_are_limited() {
    let units: [(&str, &str); 12] = [
        ("", "x"),
        ("", "word "),
        ("", "- "),
        ("", "> "),
        ("", "*a "),
        ("| ", "a | "),
        ("```\n", "x"),
        ("```rust\n", "let x = \"a\";\n"),
        ("| a |\n|---|\n", "| b |\n"),
        ("", "- a\n"),
        ("", "#"),
        ("", "e\u{301}\u{301}"),
    ];
    for (start, unit) in units {
        let (mut markdown, mut bytes) = (new(), 0);
        let mut out = String::new();
        markdown.push(start, &mut out);
        let piece = unit.repeat(4_000 / unit.len());
        for _ in 0..60 {
            out.clear();
            markdown.push(&piece, &mut out);
            bytes += out.len();
            let held = markdown.start.len() + markdown.lines.len();
            assert!(held <= MAX_HELD, "{unit:?}: {held}");
        }
        markdown.finish(&mut out);
        assert!(bytes + out.len() >= 40_000 || unit.trim() == ">", "{unit:?}: {bytes}");
        assert!(bytes < 2_000_000, "{unit:?}: {bytes}");
    }
}

#[test]
fn deeply_nested_lists_keep_room_for_text() {
    let text: String = (0..80).map(|depth| format!("{}- item\n", "  ".repeat(depth))).collect();
    let screen = shown(&text);
    assert_eq!(screen.matches("item").count(), 80);
}

#[test]
fn an_open_line_is_on_the_screen_before_it_ends() {
    let (mut markdown, mut out) = (new(), String::new());
    for piece in ["Hel", "lo **wor", "ld** and"] {
        markdown.push(piece, &mut out);
    }
    assert_eq!(screen(&out), "Hello world and");
    assert!(markdown.is_open());
    out.clear();
    markdown.push(" more", &mut out);
    assert_eq!(out, " more", "only the new text is written");
    markdown.finish(&mut out);
    assert!(!markdown.is_open());
}
