//! Tokens of the Azure CLI, which is a program.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use tokio::io::AsyncReadExt as _;
use tokio::process::{Child, Command};
use tokio::time::timeout;

use crate::credential::files::home;
use crate::credential::refresh::Fetched;
use crate::credential::{Environment, oauth};
use crate::error::{Error, ErrorKind, Result};
use crate::limits::{CREDENTIAL_PROGRAM_WAIT, MAX_CREDENTIAL_BODY_BYTES};
use crate::secret::Secret;

const SERVICE: &str = "the Azure CLI";

/// Returns the program, by its place in an absolute folder of `PATH`. A folder that depends on where this program was started
/// could be anyone's.
pub(super) fn program(environment: Environment<'_>) -> Option<PathBuf> {
    let name = if cfg!(windows) { "az.cmd" } else { "az" };
    let path = environment.variable("PATH")?;
    let folders = std::env::split_paths(&path).filter(|folder| folder.is_absolute());
    folders.map(|folder| folder.join(name)).find(|file| file.is_file())
}

/// Returns whether the program has been signed in, as far as its files show it.
pub(super) fn has_signed_in(environment: Environment<'_>) -> bool {
    let folder = environment.variable("AZURE_CONFIG_DIR").map(PathBuf::from);
    let folder = folder.or_else(|| home(environment).map(|home| home.join(".azure")));
    folder.is_some_and(|folder| folder.join("azureProfile.json").is_file())
}

/// Starts the program, and reads the token that it prints.
///
/// - It is started without a shell, in a folder of the system, and without input.
/// - What it prints is limited, and so is its time. Dropping the future ends it.
pub(super) async fn token(
    program: &Path,
    resource: &str,
    tenant: Option<&str>,
) -> Result<Fetched<Secret>> {
    let mut command = Command::new(program);
    command.args(["account", "get-access-token", "--output", "json", "--resource", resource]);
    if let Some(tenant) = tenant {
        command.args(["--tenant", tenant]);
    }
    command
        .env("AZURE_CORE_NO_COLOR", "true")
        .current_dir(if cfg!(windows) { "C:\\" } else { "/" })
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true);
    // The program is a script that starts another one.
    #[cfg(unix)]
    command.process_group(0);
    let failed = |why: &str| {
        Error::new(ErrorKind::Auth, format!("{SERVICE} returned no token: {why}"))
            .with_hint("run `az login`, and check that `az account get-access-token` works")
    };
    let child = command.spawn().map_err(|error| failed(&error.to_string()))?;
    let mut group = Group(child);
    let exchange = async {
        let stdout = group.0.stdout.take().ok_or_else(|| failed("it has no output"))?;
        let mut output = Vec::new();
        let most = MAX_CREDENTIAL_BODY_BYTES as u64 + 1;
        stdout.take(most).read_to_end(&mut output).await.map_err(|_| failed("its output ended"))?;
        if output.len() > MAX_CREDENTIAL_BODY_BYTES {
            return Err(failed("it printed too much"));
        }
        match group.0.wait().await {
            Ok(status) if status.success() => Ok(output),
            Ok(status) => Err(failed(&status.to_string())),
            Err(error) => Err(failed(&error.to_string())),
        }
    };
    match timeout(CREDENTIAL_PROGRAM_WAIT, exchange).await {
        Ok(output) => oauth::read_token(&output?, SERVICE),
        Err(_) => {
            let message = format!("{SERVICE} returned no token within {CREDENTIAL_PROGRAM_WAIT:?}");
            Err(Error::new(ErrorKind::Timeout, message)
                .with_hint("check that `az account get-access-token` works"))
        }
    }
}

/// A process and those that it started. Dropping it ends them.
struct Group(Child);

impl Drop for Group {
    fn drop(&mut self) {
        // A process that has been waited for has no id any more.
        #[cfg(unix)]
        if let Some(id) = self.0.id().and_then(|id| i32::try_from(id).ok()) {
            use rustix::process::{Pid, Signal, kill_process_group};

            if let Some(group) = Pid::from_raw(id) {
                // This fails only if the processes have ended.
                let _ = kill_process_group(group, Signal::KILL);
            }
        }
    }
}
