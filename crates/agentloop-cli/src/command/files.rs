//! `agentloop files`: files that a provider stores.

use std::path::PathBuf;

use agentloop::media::FileUpload;

use super::batches::format_moment;
use crate::failure::Failure;
use crate::output::Output;
use crate::setup::Setup;
use crate::table::Table;

/// Options of `agentloop files`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Upload a file, and print what the provider reports about it as JSON.
    Upload {
        /// The provider.
        #[arg(value_name = "PROVIDER")]
        provider: String,
        /// The file.
        #[arg(value_name = "FILE")]
        file: PathBuf,
        /// What the file is for, in the provider's words [default: to be used in chats, where the provider has that]
        #[arg(long, value_name = "PURPOSE")]
        purpose: Option<String>,
        /// The media type [default: that of the name or of the content]
        #[arg(long, value_name = "TYPE")]
        mime_type: Option<String>,
        /// Wait until the provider has processed the file, for example a video.
        #[arg(long)]
        wait: bool,
    },
    /// List the files that a provider stores.
    List {
        /// The provider.
        #[arg(value_name = "PROVIDER")]
        provider: String,
        /// Print a JSON array with everything that the provider reports.
        #[arg(long)]
        json: bool,
    },
    /// Print what a provider reports about a file, as JSON, or download it with --output.
    Get {
        /// The provider.
        #[arg(value_name = "PROVIDER")]
        provider: String,
        /// The provider's id of the file.
        #[arg(value_name = "ID")]
        id: String,
        /// Write the content to this new file. Some providers return only files that they made.
        #[arg(short, long, value_name = "FILE")]
        output: Option<PathBuf>,
    },
    /// Delete a file.
    Delete {
        /// The provider.
        #[arg(value_name = "PROVIDER")]
        provider: String,
        /// The provider's id of the file.
        #[arg(value_name = "ID")]
        id: String,
    },
}

pub(crate) async fn run(args: Args, setup: &Setup) -> Result<(), Failure> {
    let client = setup.build_client()?;
    let mut output = Output::new();
    match args.action {
        Action::Upload { provider, file, purpose, mime_type, wait } => {
            let files = client.files(&provider)?;
            let mut upload = FileUpload::from_path(&file)?;
            upload.purpose = purpose;
            if let Some(mime_type) = mime_type {
                upload = upload.mime_type(mime_type);
            }
            let mut stored = files.upload(upload).await?;
            if wait {
                stored = files.wait(&stored.id).await?;
            }
            output.write_document(&stored)?;
        }
        Action::List { provider, json } => {
            let files = client.files(&provider)?.list().await?;
            if json {
                output.write_document(&files)?;
            } else {
                let mut table = Table::new(["FILE", "BYTES", "CREATED", "PURPOSE", "NAME"]);
                for file in files {
                    table.push(vec![
                        file.id,
                        file.bytes.map_or_else(|| "-".to_owned(), |bytes| bytes.to_string()),
                        format_moment(file.created),
                        file.purpose.unwrap_or_else(|| "-".to_owned()),
                        file.name.unwrap_or_default(),
                    ]);
                }
                table.write(&mut output)?;
            }
        }
        Action::Get { provider, id, output: Some(path) } => {
            let bytes = client.files(&provider)?.download(&id, &path).await?;
            setup.notes.print_note(&format!("{bytes} bytes are in {}", path.display()));
        }
        Action::Get { provider, id, output: None } => {
            output.write_document(&client.files(&provider)?.get(&id).await?)?;
        }
        Action::Delete { provider, id } => client.files(&provider)?.delete(&id).await?,
    }
    Ok(output.flush()?)
}
