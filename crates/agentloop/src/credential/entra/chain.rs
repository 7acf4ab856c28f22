//! Which identity is used.

use std::path::PathBuf;

use super::cli;
use super::identity::App;
use crate::credential::{EntraSettings, Environment, service};
use crate::error::{Error, ErrorKind, Result};
use crate::secret::Secret;

/// Where tokens are issued, unless `AZURE_AUTHORITY_HOST` names another cloud.
const AUTHORITY: &str = "https://login.microsoftonline.com";

/// The settings and the variables that choose the identity.
pub(super) struct Chain {
    tenant: Option<String>,
    /// The tenant of the settings.
    own_tenant: Option<String>,
    client_id: Option<String>,
    takes: Takes,
}

/// Which identities may be used (`AZURE_TOKEN_CREDENTIALS`).
#[derive(Clone, Copy)]
struct Takes {
    environment: bool,
    workload: bool,
    managed: bool,
    cli: bool,
}

/// An identity.
pub(super) enum Found {
    Secret {
        url: String,
        client_id: String,
        secret: Secret,
    },
    Federated {
        url: String,
        client_id: String,
        file: PathBuf,
    },
    App(App),
    /// Only the metadata service and the Azure CLI are left.
    Nothing,
}

impl Chain {
    /// Reads what chooses the identity.
    ///
    /// # Errors
    ///
    /// When `AZURE_TOKEN_CREDENTIALS` chooses what is not supported, or a tenant is not one.
    pub(super) fn read(settings: &EntraSettings, environment: Environment<'_>) -> Result<Self> {
        let own_tenant = settings.tenant.clone();
        let tenant = own_tenant.clone().or_else(|| environment.variable("AZURE_TENANT_ID"));
        if let Some(tenant) = &tenant {
            check_tenant(tenant)?;
        }
        let client_id =
            settings.client_id.clone().or_else(|| environment.variable("AZURE_CLIENT_ID"));
        let mut takes = Takes::read(environment)?;
        takes.cli &= settings.cli;
        Ok(Self { tenant, own_tenant, client_id, takes })
    }

    /// Looks for an identity in the environment.
    ///
    /// # Errors
    ///
    /// When one is there in part, or is not supported. Nothing else is used in its place.
    pub(super) fn find(&self, environment: Environment<'_>) -> Result<Found> {
        let variable = |name: &str| environment.variable(name);
        if self.takes.environment {
            if let Some(secret) = variable("AZURE_CLIENT_SECRET") {
                let (url, client_id) = self.application(environment, "AZURE_CLIENT_SECRET")?;
                return Ok(Found::Secret { url, client_id, secret: Secret::new(secret) });
            }
            for name in ["AZURE_CLIENT_CERTIFICATE_PATH", "AZURE_PASSWORD"] {
                if variable(name).is_some() && self.client_id.is_some() {
                    return Err(unsupported(name));
                }
            }
        }
        if self.takes.workload
            && let Some(file) = variable("AZURE_FEDERATED_TOKEN_FILE")
        {
            let (url, client_id) = self.application(environment, "AZURE_FEDERATED_TOKEN_FILE")?;
            return Ok(Found::Federated { url, client_id, file: PathBuf::from(file) });
        }
        if self.takes.managed {
            // Service Fabric, Azure Arc, and Azure ML and the Cloud Shell.
            for name in ["IDENTITY_SERVER_THUMBPRINT", "IMDS_ENDPOINT", "MSI_ENDPOINT"] {
                let is_other = name != "IMDS_ENDPOINT" || variable("IDENTITY_HEADER").is_none();
                if variable(name).is_some() && is_other {
                    return Err(unsupported(name));
                }
            }
            if let Some(url) = variable("IDENTITY_ENDPOINT")
                && let Some(header) = variable("IDENTITY_HEADER")
            {
                return App::new(url, Secret::new(header)).map(Found::App);
            }
        }
        Ok(Found::Nothing)
    }

    /// Returns the URL at which an application requests tokens, and the application.
    fn application(&self, environment: Environment<'_>, set: &str) -> Result<(String, String)> {
        let missing = |name: &str| {
            let message = format!("{set} is set, and {name} is not");
            Error::new(ErrorKind::MissingKey, message).with_hint(format!("set {name}"))
        };
        let tenant = self.tenant.as_deref().ok_or_else(|| missing("AZURE_TENANT_ID"))?;
        let client_id = self.client_id.clone().ok_or_else(|| missing("AZURE_CLIENT_ID"))?;
        let authority = match environment.variable("AZURE_AUTHORITY_HOST") {
            None => AUTHORITY.to_owned(),
            Some(host) if host.contains("://") => host,
            Some(host) => format!("https://{host}"),
        };
        service::check_url(&authority, "AZURE_AUTHORITY_HOST")?;
        let authority = authority.trim_end_matches('/');
        Ok((format!("{authority}/{tenant}/oauth2/v2.0/token"), client_id))
    }

    /// Returns the user-assigned identity of the machine that is wanted.
    pub(super) fn identity(&self) -> Option<&str> {
        self.client_id.as_deref()
    }

    /// Returns the tenant for the Azure CLI, which has an account of its own.
    pub(super) fn tenant(&self) -> Option<&str> {
        self.own_tenant.as_deref()
    }

    /// Returns whether the metadata service of a virtual machine may be asked.
    pub(super) fn takes_machine(&self) -> bool {
        self.takes.managed
    }

    /// Returns the Azure CLI, if it may be started.
    pub(super) fn program(&self, environment: Environment<'_>) -> Option<PathBuf> {
        self.takes.cli.then(|| cli::program(environment)).flatten()
    }
}

impl Takes {
    fn read(environment: Environment<'_>) -> Result<Self> {
        let none = Self { environment: false, workload: false, managed: false, cli: false };
        let prod = Self { environment: true, workload: true, managed: true, cli: false };
        let word =
            environment.variable("AZURE_TOKEN_CREDENTIALS").map(|it| it.to_ascii_lowercase());
        Ok(match word.as_deref() {
            None => Self { cli: true, ..prod },
            Some("prod") => prod,
            Some("dev" | "azureclicredential") => Self { cli: true, ..none },
            Some("environmentcredential") => Self { environment: true, ..none },
            Some("workloadidentitycredential") => Self { workload: true, ..none },
            Some("managedidentitycredential") => Self { managed: true, ..none },
            Some(_) => return Err(unsupported("AZURE_TOKEN_CREDENTIALS")),
        })
    }
}

/// Fails if a text cannot be a tenant: an id or a domain.
fn check_tenant(tenant: &str) -> Result<()> {
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b"-.".contains(&byte);
    if tenant.bytes().all(is_letter) && tenant.starts_with(|it: char| it.is_ascii_alphanumeric()) {
        return Ok(());
    }
    let message = format!("`{}` is not a tenant of Microsoft Entra ID", tenant.escape_debug());
    Err(Error::new(ErrorKind::Config, message).with_hint("correct AZURE_TENANT_ID, or `tenant`"))
}

fn unsupported(name: &str) -> Error {
    let message = format!("{name} chooses an identity that is not supported");
    Error::new(ErrorKind::MissingKey, message).with_hint(
        "let Microsoft's program obtain a token: `az account get-access-token`, or unset the variable",
    )
}
