//! Tokens of the Azure CLI, which is a program.

use std::ffi::OsStr;
use std::path::PathBuf;

use crate::credential::files::home;
use crate::credential::program::{self, Program};
use crate::credential::refresh::Fetched;
use crate::credential::{Environment, oauth};
use crate::error::Result;
use crate::secret::Secret;

const SERVICE: &str = "the Azure CLI";

/// Returns the program.
pub(super) fn program(environment: Environment<'_>) -> Option<PathBuf> {
    program::find(if cfg!(windows) { "az.cmd" } else { "az" }, environment)
}

/// Returns whether the program has been signed in, as far as its files show it.
pub(super) fn has_signed_in(environment: Environment<'_>) -> bool {
    let folder = environment.variable("AZURE_CONFIG_DIR").map(PathBuf::from);
    let folder = folder.or_else(|| home(environment).map(|home| home.join(".azure")));
    folder.is_some_and(|folder| folder.join("azureProfile.json").is_file())
}

/// Starts the program, and reads the token that it prints.
pub(super) async fn token(
    path: PathBuf,
    resource: &str,
    tenant: Option<&str>,
) -> Result<Fetched<Secret>> {
    let fixed = ["account", "get-access-token", "--output", "json", "--resource", resource];
    let tenant = tenant.into_iter().flat_map(|tenant| ["--tenant", tenant]);
    let program = Program {
        name: SERVICE,
        hint: "run `az login`, and check that `az account get-access-token` works",
        path,
        arguments: fixed.into_iter().chain(tenant).map(OsStr::new).collect(),
        variables: &[("AZURE_CORE_NO_COLOR", "true")],
    };
    oauth::read_token(&program.run().await?, SERVICE)
}
