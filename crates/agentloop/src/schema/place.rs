//! The place of a schema within the whole.

use std::fmt;

/// The longest name that is written as a whole, in characters.
const MAX_NAME: usize = 64;

/// How many steps of a place are written: the last ones.
const MAX_STEPS: usize = 32;

/// A place. It is only written when something is lost there, and never at a length that the schema decides.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place<'p> {
    above: Option<&'p Self>,
    step: Step<'p>,
}

#[derive(Clone, Copy, Debug)]
enum Step<'p> {
    Word(&'p str),
    Name(&'p str, &'p str),
    Number(&'p str, usize),
    At(usize),
}

impl<'p> Place<'p> {
    /// The whole schema.
    pub(super) const ROOT: Self = Self { above: None, step: Step::Word("") };

    pub(super) fn is_root(&self) -> bool {
        self.above.is_none()
    }

    /// Returns the place of what a keyword holds.
    pub(super) fn word(&'p self, word: &'p str) -> Self {
        Self { above: Some(self), step: Step::Word(word) }
    }

    /// Returns the place of what a keyword holds under a name.
    pub(super) fn name(&'p self, word: &'p str, name: &'p str) -> Self {
        Self { above: Some(self), step: Step::Name(word, name) }
    }

    /// Returns the place of an item of a list.
    pub(super) fn at(&'p self, number: usize) -> Self {
        Self { above: Some(self), step: Step::At(number) }
    }

    /// Returns the place of what a keyword holds at a number.
    pub(super) fn number(&'p self, word: &'p str, number: usize) -> Self {
        Self { above: Some(self), step: Step::Number(word, number) }
    }
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut steps = Vec::new();
        let mut at = self;
        while let Some(above) = at.above {
            if steps.len() == MAX_STEPS {
                f.write_str("/…")?;
                break;
            }
            steps.push(at.step);
            at = above;
        }
        if steps.is_empty() {
            return f.write_str("/");
        }
        steps.iter().rev().try_for_each(|step| match step {
            Step::Word(word) => write!(f, "/{}", Short(word)),
            Step::Name(word, name) => write!(f, "/{word}/{}", Short(name)),
            Step::At(number) => write!(f, "/{number}"),
            Step::Number(word, number) => write!(f, "/{word}/{number}"),
        })
    }
}

/// A name or a keyword of a schema, which may be cut.
pub(super) struct Short<'a>(pub(super) &'a str);

impl fmt::Display for Short<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.char_indices().nth(MAX_NAME) {
            Some((end, _)) => write!(f, "{}…", &self.0[..end]),
            None => f.write_str(self.0),
        }
    }
}
