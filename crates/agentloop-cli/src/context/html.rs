//! Converts web pages to text, in a process of its own: this program, started again.
//!
//! A page can make the conversion take any time and memory, and there is no way to stop it from inside. A process can be ended, and the
//! system bounds what it takes even if this one is gone.

use std::io::{Read as _, Write as _, stdin, stdout};
use std::process::{ExitCode, Stdio};
use std::time::Duration;

use bytes::Bytes;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::Command;
use tokio::sync::Semaphore;
use tokio::time::timeout;

use crate::own_program;

/// The first argument of the process.
const WORD: &str = "__page-to-text";

/// How long a conversion may take. Most take a few milliseconds.
const MAX_TIME: Duration = Duration::from_secs(5);

/// How much memory it may take, in bytes.
#[cfg(unix)]
const MAX_MEMORY: u64 = 512 << 20;

/// The longest text, in bytes.
const MAX_TEXT: u64 = 16 << 20;

/// How many run at once. The others wait.
static TURNS: Semaphore = Semaphore::const_new(2);

/// The width of a web page as text, in characters. Only tables depend on it; models do not need short lines.
const PAGE_WIDTH: usize = 120;

/// Converts the page on stdin, if this process was started for that.
pub(crate) fn run_if_asked() -> Option<ExitCode> {
    if std::env::args_os().nth(1)? != WORD {
        return None;
    }
    #[cfg(unix)]
    for (resource, most) in
        [(rustix::process::Resource::As, MAX_MEMORY), (rustix::process::Resource::Cpu, 5)]
    {
        let limit = rustix::process::Rlimit { current: Some(most), maximum: Some(most) };
        // Not every system has both.
        let _ = rustix::process::setrlimit(resource, limit);
    }
    let mut page = Vec::new();
    let text = stdin().read_to_end(&mut page).ok().and_then(|_| render(&page));
    let written = text.is_some_and(|text| stdout().write_all(text.as_bytes()).is_ok());
    Some(if written { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Converts a page. Links are numbered and listed at the end.
fn render(page: &[u8]) -> Option<String> {
    html2text::from_read(page, PAGE_WIDTH).ok()
}

/// Converts a page in a process of its own, which ends with the returned future.
pub(super) async fn to_text(page: Bytes) -> Result<String, &'static str> {
    const UNREADABLE: &str = "the page cannot be converted to text";
    // It is never closed.
    let _turn = TURNS.acquire().await;
    let mut command = Command::new(own_program().map_err(|_| UNREADABLE)?);
    command.arg(WORD).env_clear().kill_on_drop(true);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().map_err(|_| UNREADABLE)?;
    let (Some(mut stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
        return Err(UNREADABLE);
    };
    let mut text = Vec::new();
    let converted = timeout(MAX_TIME, async {
        let send = async {
            // It may end before it has read everything.
            let _ = stdin.write_all(&page).await;
            drop(stdin);
        };
        let mut stdout = stdout.take(MAX_TEXT + 1);
        let (read, ()) = tokio::join!(stdout.read_to_end(&mut text), send);
        read.is_ok() && child.wait().await.is_ok_and(|status| status.success())
    });
    match converted.await {
        Ok(true) if text.len() as u64 <= MAX_TEXT => {
            String::from_utf8(text).map_err(|_| UNREADABLE)
        }
        Ok(true) | Err(_) => Err("the page is too complex to be converted to text"),
        Ok(false) => Err(UNREADABLE),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_becomes_text_without_scripts() {
        let page =
            b"<html><head><title>T</title><script>alert(1)</script><style>p{}</style></head>\
            <body><h1>Heading</h1><p>One &amp; two</p><ul><li>item</li></ul></body></html>";
        assert_eq!(render(page), Some("# Heading\n\nOne & two\n* item\n".to_owned()));
    }

    #[test]
    fn hostile_pages_are_read_without_a_panic() {
        let nested = "<div>".repeat(2_000);
        let tables = "<table><tr><td>".repeat(50);
        let lists = "<ul><li>".repeat(200);
        let wide = format!("<table><tr>{}</tr></table>", "<td colspan=99999999>x</td>".repeat(50));
        for page in [nested, tables, lists, wide, "<".repeat(10_000), "&#x110000;&#0;".into()] {
            let _ = render(page.as_bytes());
        }
        assert!(render(&[0xff, 0xfe, 0, b'<', b'a']).is_some());
    }
}
