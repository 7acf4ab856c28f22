//! The settings of the credentials of Google and Microsoft.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// Which credentials of Google Cloud are used, and for which project.
///
/// ```
/// use agentloop::credential::GoogleSettings;
///
/// let settings = GoogleSettings::default().file("/etc/agentloop/google.json").project("my-project");
/// assert_eq!(settings.project.as_deref(), Some("my-project"));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct GoogleSettings {
    /// The file with the credentials. Default: `GOOGLE_APPLICATION_CREDENTIALS`, or the file that
    /// `gcloud auth application-default login` writes, or else the metadata server of the machine.
    pub file: Option<PathBuf>,
    /// The project. Default: `GOOGLE_VERTEX_PROJECT`, `GOOGLE_CLOUD_PROJECT`, `GCLOUD_PROJECT`, that of the file or of the machine.
    pub project: Option<String>,
    /// The location. Default: `GOOGLE_VERTEX_LOCATION`, `GOOGLE_CLOUD_LOCATION`, or `global`.
    pub location: Option<String>,
    /// The project that pays for the calls. Default: `GOOGLE_CLOUD_QUOTA_PROJECT`, or that of the file.
    pub quota_project: Option<String>,
}

impl GoogleSettings {
    setters! {
        /// Uses the credentials of this file.
        file(file: impl Into<PathBuf>);

        /// Uses this project.
        project(project: impl Into<String>);

        /// Uses this location.
        ///
        /// ```
        /// use agentloop::credential::GoogleSettings;
        ///
        /// let settings = GoogleSettings::default().location("europe-west1");
        /// assert_eq!(settings.location.as_deref(), Some("europe-west1"));
        /// ```
        location(location: impl Into<String>);

        /// Lets this project pay for the calls.
        ///
        /// ```
        /// use agentloop::credential::GoogleSettings;
        ///
        /// let settings = GoogleSettings::default().quota_project("billing");
        /// assert_eq!(settings.quota_project.as_deref(), Some("billing"));
        /// ```
        quota_project(self, project: impl Into<String>) =>
            self.quota_project = Some(project.into());
    }
}

/// Which identity of Microsoft Entra ID is used, and what for.
///
/// ```
/// use agentloop::credential::EntraSettings;
///
/// let settings = EntraSettings::default().scope("https://ai.azure.com/.default");
/// assert!(settings.cli && settings.tenant.is_none());
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct EntraSettings {
    /// What the tokens are for. Default: `https://cognitiveservices.azure.com/.default`.
    pub scope: Option<String>,
    /// The tenant. Default: `AZURE_TENANT_ID`.
    pub tenant: Option<String>,
    /// The id of the application, or of the user-assigned identity of the machine. Default: `AZURE_CLIENT_ID`.
    pub client_id: Option<String>,
    /// Whether the Azure CLI may be started to obtain a token, if there is nothing else. Default: true.
    pub cli: bool,
}

impl Default for EntraSettings {
    fn default() -> Self {
        Self { scope: None, tenant: None, client_id: None, cli: true }
    }
}

impl EntraSettings {
    setters! {
        /// Requests tokens for this scope.
        scope(scope: impl Into<String>);

        /// Uses this tenant.
        ///
        /// ```
        /// use agentloop::credential::EntraSettings;
        ///
        /// let settings = EntraSettings::default().tenant("contoso.onmicrosoft.com");
        /// assert_eq!(settings.tenant.as_deref(), Some("contoso.onmicrosoft.com"));
        /// ```
        tenant(tenant: impl Into<String>);

        /// Uses this application, or this user-assigned identity.
        ///
        /// ```
        /// use agentloop::credential::EntraSettings;
        ///
        /// let settings = EntraSettings::default().client_id("11111111-2222-3333-4444-555555555555");
        /// assert!(settings.client_id.is_some());
        /// ```
        client_id(client_id: impl Into<String>);

        /// Never starts the Azure CLI.
        ///
        /// ```
        /// use agentloop::credential::EntraSettings;
        ///
        /// assert!(!EntraSettings::default().without_cli().cli);
        /// ```
        without_cli(self) => self.cli = false;
    }
}
