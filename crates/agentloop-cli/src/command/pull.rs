//! `agentloop pull`: downloads a model that runs in the process.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::failure::Failure;
use crate::local::{self, Folders, Progress, Pull};
use crate::output::Output;
use crate::setup::Setup;

/// How often the progress is written if stderr is not a terminal.
const NOTE_INTERVAL: Duration = Duration::from_secs(30);

/// How often the status line is written.
const STATUS_INTERVAL: Duration = Duration::from_millis(200);

/// Options of `agentloop pull`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The model: OWNER/REPOSITORY[:QUANT], hf:OWNER/REPOSITORY/FILE.gguf, or an https URL
    #[arg(value_name = "SOURCE")]
    source: String,

    /// The folder to download to [default: AGENTLOOP_MODELS, else agentloop/models in your data folder]
    #[arg(long, value_name = "FOLDER")]
    folder: Option<PathBuf>,

    /// The URL of a mirror of Hugging Face [default: AGENTLOOP_MODEL_MIRROR or HF_ENDPOINT, else https://huggingface.co]
    #[arg(long, value_name = "URL")]
    mirror: Option<String>,

    /// The SHA-256 that the file must have [default: that of Hugging Face's list of files]
    #[arg(long, value_name = "DIGITS")]
    sha256: Option<String>,

    /// The largest file to download, in bytes.
    #[arg(long, value_name = "N")]
    max_bytes: Option<u64>,
}

pub(crate) async fn run(args: &Args, setup: &Setup) -> Result<(), Failure> {
    let folder = args.folder.clone();
    let folder = folder.or_else(|| Folders::from_env().models_folder().map(PathBuf::from));
    let Some(folder) = folder else {
        return Err(Failure::input_with_hint(
            "there is no home folder to download to",
            "name a folder with --folder",
        ));
    };
    let mut pull = Pull::new(&args.source, folder)?;
    if let Some(mirror) = &args.mirror {
        pull = pull.mirror(mirror)?;
    }
    if let Some(sha256) = &args.sha256 {
        pull = pull.sha256(sha256)?;
    }
    if let Some(max_bytes) = args.max_bytes {
        pull = pull.max_bytes(max_bytes);
    }
    let notes = setup.notes;
    let interval = if notes.has_status_line() { STATUS_INTERVAL } else { NOTE_INTERVAL };
    let mut shown = Instant::now();
    let pulled = pull
        .run(|progress| {
            if shown.elapsed() < interval {
                return;
            }
            shown = Instant::now();
            let text = describe(progress);
            match notes.has_status_line() {
                true => notes.set_status(&text),
                false => notes.print_note(&text),
            }
        })
        .await;
    crate::screen::status::clear();
    let pulled = pulled?;
    match (pulled.was_present, pulled.is_verified) {
        (true, _) => notes.print_note(&format!("{} is already there", pulled.path.display())),
        (false, true) => notes.print_note(&format!(
            "{} has {}, and its checksum is right",
            pulled.path.display(),
            megabytes(pulled.bytes)
        )),
        (false, false) => notes.print_warning(&format!(
            "the server has no checksum of the file, so it was not compared; its SHA-256 is {}",
            pulled.sha256.as_deref().unwrap_or("not known")
        )),
    }
    if !local::has_engine() {
        let hint = local::HOW_TO_BUILD;
        notes.print_note(&format!("this build cannot run models in the process; {hint}"));
    }
    let mut output = Output::new();
    output.write_line(&format!("{}/{}", local::NAME, pulled.name))?;
    Ok(output.flush()?)
}

fn describe(progress: Progress) -> String {
    let have = megabytes(progress.bytes);
    match progress.total.filter(|total| *total > 0) {
        Some(total) => {
            let percent = u128::from(progress.bytes) * 100 / u128::from(total);
            format!("downloading: {have} of {} ({percent} %)", megabytes(total))
        }
        None => format!("downloading: {have}"),
    }
}

fn megabytes(bytes: u64) -> String {
    format!("{} MB", bytes.div_ceil(1_000_000))
}
