//! Subtitles of a transcript.

use std::fmt::Write as _;

use super::{TranscribeResponse, TranscriptSegment};

impl TranscribeResponse {
    /// Returns the segments as subtitles in SubRip (`.srt`), or `None` if there is a text but no segment with times. Without a text there
    /// are no subtitles, so the result is empty.
    ///
    /// ```
    /// use agentloop::{TranscribeResponse, TranscriptSegment};
    ///
    /// let mut response = TranscribeResponse::new("m", "lab");
    /// assert_eq!(response.srt().as_deref(), Some(""));
    /// response.text = "Hello".to_owned();
    /// assert_eq!(response.srt(), None);
    /// response.segments = vec![TranscriptSegment::new("Hello", 0.0, 1.5)];
    /// assert_eq!(response.srt().as_deref(), Some("1\n00:00:00,000 --> 00:00:01,500\nHello\n\n"));
    /// ```
    pub fn srt(&self) -> Option<String> {
        self.has_times().then(|| write_srt(&self.segments))
    }

    /// Returns the segments as subtitles in WebVTT (`.vtt`), or `None` if there is a text but no segment with times.
    ///
    /// ```
    /// use agentloop::{TranscribeResponse, TranscriptSegment};
    ///
    /// let mut response = TranscribeResponse::new("m", "lab");
    /// response.segments = vec![TranscriptSegment::new("Hello", 0.0, 1.5)];
    /// assert_eq!(response.vtt().as_deref(), Some("WEBVTT\n\n00:00:00.000 --> 00:00:01.500\nHello\n\n"));
    /// ```
    pub fn vtt(&self) -> Option<String> {
        self.has_times().then(|| write_vtt(&self.segments))
    }

    /// Returns whether the whole text has times. Silence has no text.
    fn has_times(&self) -> bool {
        !self.segments.is_empty() || self.text.trim().is_empty()
    }
}

/// Times above this are not times of audio. It is 99 hours, the last that has two digits.
const MAX_SECONDS: f64 = 99.0 * 3_600.0;

/// Writes SubRip: numbered blocks, with a comma before the milliseconds. Players look for `-->` in every line, so a text cannot have it. There is
/// no way to escape it.
fn write_srt(segments: &[TranscriptSegment]) -> String {
    let mut text = String::new();
    for (number, segment) in (1..).zip(segments) {
        // Writing to a `String` does not fail.
        let _ = write!(
            text,
            "{number}\n{} --> {}\n{}\n\n",
            format_time(segment.start, ','),
            format_time(segment.end.max(segment.start), ','),
            one_block(&segment.text).replace("-->", "->")
        );
    }
    text
}

/// Writes WebVTT. `-->` cannot be part of a text there, and `&` and `<` begin markup.
fn write_vtt(segments: &[TranscriptSegment]) -> String {
    let mut text = "WEBVTT\n\n".to_owned();
    for segment in segments {
        let words = one_block(&segment.text).replace('&', "&amp;").replace('<', "&lt;");
        let _ = write!(
            text,
            "{} --> {}\n{}\n\n",
            format_time(segment.start, '.'),
            format_time(segment.end.max(segment.start), '.'),
            words.replace("-->", "--&gt;")
        );
    }
    text
}

/// Returns the text without blank lines, which would end its block. A carriage return ends a line too, and a NUL ends a file for some players.
fn one_block(text: &str) -> String {
    let lines = text.split(['\n', '\r', '\0']).map(str::trim).filter(|line| !line.is_empty());
    lines.collect::<Vec<_>>().join("\n")
}

/// Formats seconds as `01:02:03,456`. What is not a time becomes the nearest one.
#[expect(clippy::cast_possible_truncation, reason = "the value is between 0 and MAX_SECONDS")]
#[expect(clippy::cast_sign_loss, reason = "the value is not negative")]
fn format_time(seconds: f64, separator: char) -> String {
    let seconds = if seconds.is_nan() { 0.0 } else { seconds.clamp(0.0, MAX_SECONDS) };
    let ms = (seconds * 1_000.0).round() as u64;
    format!(
        "{:02}:{:02}:{:02}{separator}{:03}",
        ms / 3_600_000,
        ms / 60_000 % 60,
        ms / 1_000 % 60,
        ms % 1_000
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subtitles_have_numbers_times_and_no_blank_lines_inside() {
        let segments = [
            TranscriptSegment::new(" Hello\n\nthere", 0.0, 1.5),
            TranscriptSegment::new("a <b> --> c & d", 3_661.042_5, 3_662.0),
        ];
        assert_eq!(
            write_srt(&segments),
            "1\n00:00:00,000 --> 00:00:01,500\nHello\nthere\n\n2\n01:01:01,043 --> 01:01:02,000\na <b> -> c & d\n\n"
        );
        assert_eq!(
            write_vtt(&segments),
            "WEBVTT\n\n00:00:00.000 --> 00:00:01.500\nHello\nthere\n\n01:01:01.043 --> 01:01:02.000\na &lt;b> --&gt; c &amp; d\n\n"
        );
    }

    #[test]
    fn a_text_cannot_add_a_block_and_an_end_is_not_before_its_start() {
        let hostile = "a\r\r2\r00:00:09,000 --> 00:00:10,000\rforged\0\n\u{b}\n\r\nb";
        let segments = [TranscriptSegment::new(hostile, 5.0, 1.0)];
        for text in [write_srt(&segments), write_vtt(&segments)] {
            assert_eq!(text.matches("-->").count(), 1, "{text}");
            assert!(!text.contains(['\r', '\0']), "{text}");
            assert!(text.contains("05") && !text.contains("00:00:01"), "{text}");
            let block = text.split_once("forged").unwrap();
            assert!(block.1.starts_with("\nb\n\n"), "{text}");
        }
    }

    #[test]
    fn times_that_are_not_times_are_written_as_the_nearest_one() {
        for (seconds, shown) in [
            (f64::NAN, "00:00:00.000"),
            (-5.0, "00:00:00.000"),
            (f64::INFINITY, "99:00:00.000"),
            (1e300, "99:00:00.000"),
            (59.9999, "00:01:00.000"),
        ] {
            assert_eq!(format_time(seconds, '.'), shown, "{seconds}");
        }
    }
}
