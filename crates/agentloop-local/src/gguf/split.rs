//! The names of models that are split into several files: `NAME-00001-of-00003.gguf` and so on.

/// The name of one file of a split model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SplitName<'a> {
    /// What is in front of the numbers.
    pub(crate) stem: &'a str,
    /// The number of the file, from 1.
    pub(crate) number: u64,
    /// How many files there are.
    pub(crate) count: u64,
}

impl<'a> SplitName<'a> {
    /// Reads a file name without `.gguf`. Returns nothing if it is not one of several files.
    pub(crate) fn of(stem: &'a str) -> Option<Self> {
        let number = |text: &str| {
            let is_number = text.len() == 5 && text.bytes().all(|byte| byte.is_ascii_digit());
            is_number.then(|| text.parse::<u64>().ok()).flatten()
        };
        let (before, count) = stem.rsplit_once("-of-")?;
        let (stem, part) = before.rsplit_once('-')?;
        let name = Self { stem, number: number(part)?, count: number(count)? };
        (name.number >= 1 && name.number <= name.count).then_some(name)
    }

    /// Returns the names of all files, with `.gguf`.
    pub(crate) fn files(self) -> impl DoubleEndedIterator<Item = String> {
        let Self { stem, count, .. } = self;
        (1..=count).map(move |number| format!("{stem}-{number:05}-of-{count:05}.gguf"))
    }
}

/// Returns the name of a model, from the name of its file without `.gguf`: that of a split model has no numbers.
pub(crate) fn model_name(stem: &str) -> &str {
    SplitName::of(stem).map_or(stem, |name| name.stem)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_of_split_models_are_recognized() {
        let name = SplitName::of("a-of-b-00002-of-00003").unwrap();
        assert_eq!((name.stem, name.number, name.count), ("a-of-b", 2, 3));
        let files: Vec<String> = name.files().collect();
        assert_eq!(files[2], "a-of-b-00003-of-00003.gguf");
        for other in [
            "a",
            "a-00001",
            "a-1-of-2",
            "a-00000-of-00002",
            "a-00003-of-00002",
            "00001-of-00002",
            "a-+0001-of-00002",
        ] {
            assert_eq!(SplitName::of(other), None, "{other}");
            assert_eq!(model_name(other), other);
        }
        assert_eq!(model_name("m-Q4_K_M-00001-of-00002"), "m-Q4_K_M");
    }
}
