//! The command line.

use std::path::PathBuf;
use std::time::SystemTime;

use agentloop::models::Date;

const USAGE: &str = "\
usage: model-data [--litellm FILE [--litellm-version V]] [--models-dev DIR [--models-dev-version V]]
                  [--date YYYY-MM-DD] --out FILE";

pub(crate) struct Args {
    pub(crate) litellm: Option<PathBuf>,
    pub(crate) litellm_version: Option<String>,
    pub(crate) models_dev: Option<PathBuf>,
    pub(crate) models_dev_version: Option<String>,
    pub(crate) date: Date,
    pub(crate) out: PathBuf,
}

impl Args {
    pub(crate) fn read(words: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut words = words;
        let (mut litellm, mut litellm_version) = (None, None);
        let (mut models_dev, mut models_dev_version) = (None, None);
        let (mut date, mut out) = (Date::of(SystemTime::now()), None);
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or_else(|| format!("{word} needs a value\n{USAGE}"));
            match word.as_str() {
                "--litellm" => litellm = Some(PathBuf::from(value()?)),
                "--litellm-version" => litellm_version = Some(value()?),
                "--models-dev" => models_dev = Some(PathBuf::from(value()?)),
                "--models-dev-version" => models_dev_version = Some(value()?),
                "--date" => date = value()?.parse().map_err(|error| format!("--date: {error}"))?,
                "--out" => out = Some(PathBuf::from(value()?)),
                _ => return Err(format!("`{word}` is not known\n{USAGE}")),
            }
        }
        if litellm.is_none() && models_dev.is_none() {
            return Err(format!("there is no source\n{USAGE}"));
        }
        let out = out.ok_or_else(|| format!("--out is missing\n{USAGE}"))?;
        Ok(Self { litellm, litellm_version, models_dev, models_dev_version, date, out })
    }
}
