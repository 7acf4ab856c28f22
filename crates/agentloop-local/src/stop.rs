//! Ends a text at a stop sequence, without showing any part of the sequence.

/// Holds back the end of a text while it may be the beginning of a stop sequence.
#[derive(Clone, Debug, Default)]
pub(crate) struct StopFilter {
    sequences: Vec<String>,
    held: String,
}

impl StopFilter {
    pub(crate) fn new(sequences: &[String]) -> Self {
        let sequences = sequences.iter().filter(|sequence| !sequence.is_empty()).cloned().collect();
        Self { sequences, held: String::new() }
    }

    /// Adds text. Returns what can be shown, and whether a stop sequence was found.
    pub(crate) fn push(&mut self, text: &str) -> (String, bool) {
        if self.sequences.is_empty() {
            return (text.to_owned(), false);
        }
        self.held.push_str(text);
        // The sequence that begins first counts.
        let found = self.sequences.iter().filter_map(|sequence| self.held.find(sequence)).min();
        if let Some(at) = found {
            let mut shown = std::mem::take(&mut self.held);
            shown.truncate(at);
            return (shown, true);
        }
        let keep =
            self.sequences.iter().map(|sequence| overlap(&self.held, sequence)).max().unwrap_or(0);
        let rest = self.held.split_off(self.held.len() - keep);
        (std::mem::replace(&mut self.held, rest), false)
    }

    /// Returns what was held back, at the end of the text.
    pub(crate) fn finish(&mut self) -> String {
        std::mem::take(&mut self.held)
    }
}

/// Returns how many bytes at the end of `text` are the beginning of `sequence`, but not all of it.
pub(crate) fn overlap(text: &str, sequence: &str) -> usize {
    let most = sequence.len().saturating_sub(1).min(text.len());
    (1..=most)
        .rev()
        .find(|length| {
            sequence.is_char_boundary(*length)
                && text.as_bytes().ends_with(&sequence.as_bytes()[..*length])
        })
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the shown text and whether it stopped, for every way to cut the text into two.
    fn run(sequences: &[&str], text: &str) -> (String, bool) {
        let sequences: Vec<String> = sequences.iter().map(|it| (*it).to_owned()).collect();
        let mut expected = None;
        for cut in (0..=text.len()).filter(|cut| text.is_char_boundary(*cut)) {
            let mut filter = StopFilter::new(&sequences);
            let mut shown = String::new();
            let mut stopped = false;
            for piece in [&text[..cut], &text[cut..]] {
                if !stopped {
                    let (more, stops) = filter.push(piece);
                    shown.push_str(&more);
                    stopped = stops;
                }
            }
            if !stopped {
                shown.push_str(&filter.finish());
            }
            let result = (shown, stopped);
            assert_eq!(*expected.get_or_insert(result.clone()), result, "cut at {cut}");
        }
        expected.unwrap_or_default()
    }

    #[test]
    fn a_text_ends_before_the_stop_sequence_however_it_is_cut() {
        assert_eq!(run(&["STOP"], "one STOP two"), ("one ".to_owned(), true));
        assert_eq!(run(&["\n\n", "é"], "caf\u{e9}"), ("caf".to_owned(), true));
        assert_eq!(run(&["STOP"], "ends with STO"), ("ends with STO".to_owned(), false));
        assert_eq!(run(&[], "anything"), ("anything".to_owned(), false));
        assert_eq!(run(&[""], "anything"), ("anything".to_owned(), false));
    }

    #[test]
    fn the_sequence_that_begins_first_counts() {
        assert_eq!(run(&["c", "b"], "abc"), ("a".to_owned(), true));
    }
}
