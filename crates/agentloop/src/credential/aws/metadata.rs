//! Keys of containers (ECS, EKS) and of virtual machines (EC2, by version 2 of its metadata service).

use http::{Method, Uri};

use super::keys::{Keys, read_served};
use crate::credential::Environment;
use crate::credential::files::read_file;
use crate::credential::refresh::Fetched;
use crate::credential::service::{Ask, is_unreachable, status_error};
use crate::error::{Error, ErrorKind, Result};
use crate::limits::{CREDENTIAL_REQUEST_WAIT, METADATA_REQUEST_WAIT};
use crate::provider::urls::is_this_machine;
use crate::secret::Secret;
use crate::secret::echo::Echo;
use crate::transport::Transport;

const CONTAINER: &str = "the credentials service of the container";
const MACHINE: &str = "the metadata service of the machine";

/// The hosts to which a token may be sent without encryption: they are reached without leaving the machine.
const CONTAINER_HOSTS: [&str; 3] = ["169.254.170.2", "169.254.170.23", "[fd00:ec2::23]"];

/// Returns the URL of the container's service, if the environment names one.
///
/// # Errors
///
/// When keys would arrive without encryption from another machine.
pub(super) fn container_url(environment: Environment<'_>) -> Result<Option<String>> {
    if let Some(path) = environment.variable("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI") {
        // Anything else would become a part of the host, such as `@example.com`.
        if !path.starts_with('/') {
            let message = "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI does not begin with `/`";
            return Err(Error::new(ErrorKind::Config, message)
                .with_hint("use the path that the container service sets"));
        }
        return Ok(Some(format!("http://169.254.170.2{path}")));
    }
    let Some(url) = environment.variable("AWS_CONTAINER_CREDENTIALS_FULL_URI") else {
        return Ok(None);
    };
    let uri: Option<Uri> = url.parse().ok();
    let host = uri.as_ref().and_then(Uri::host).unwrap_or_default();
    let is_safe = match uri.as_ref().and_then(Uri::scheme_str) {
        Some("https") => !host.is_empty(),
        Some("http") => is_this_machine(host) || CONTAINER_HOSTS.contains(&host),
        _ => false,
    };
    if is_safe {
        return Ok(Some(url));
    }
    let message = "AWS_CONTAINER_CREDENTIALS_FULL_URI is neither https nor a URL of this machine";
    Err(Error::new(ErrorKind::Config, message)
        .with_hint("use https, or the URL that the container service sets"))
}

/// Obtains the keys of a container.
pub(super) async fn of_container(
    url: String,
    environment: Environment<'_>,
    transport: &dyn Transport,
) -> Result<Fetched<Keys>> {
    let token = match environment.variable("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE") {
        Some(path) => Some(read_file(Some(path.as_ref()))?.trim().to_owned()),
        None => environment.variable("AWS_CONTAINER_AUTHORIZATION_TOKEN"),
    };
    let sent = token.as_deref().map(Echo::of);
    let headers = token.map(|token| ("authorization", Secret::new(token)));
    let ask = Ask {
        service: CONTAINER,
        method: Method::GET,
        url,
        headers: headers.into_iter().collect(),
        wait: CREDENTIAL_REQUEST_WAIT,
    };
    read_served(&ask.send_ok(transport).await?, CONTAINER).map_err(|mut error| {
        // The reason is a text of the service, which could repeat what was sent.
        sent.iter().for_each(|token| error.hide(token));
        error
    })
}

/// Returns whether the metadata service may be asked.
pub(super) fn may_ask_machine(environment: Environment<'_>) -> bool {
    let disabled = environment.variable("AWS_EC2_METADATA_DISABLED");
    !disabled.is_some_and(|value| value.eq_ignore_ascii_case("true"))
}

/// Obtains the keys of a virtual machine. Returns `None` if there is no metadata service, or the machine has no role.
pub(super) async fn of_machine(
    environment: Environment<'_>,
    transport: &dyn Transport,
) -> Result<Option<Fetched<Keys>>> {
    let base = environment.variable("AWS_EC2_METADATA_SERVICE_ENDPOINT");
    let base = base.unwrap_or_else(|| "http://169.254.169.254".to_owned());
    let base = base.trim_end_matches('/');
    let ask = |method, path: String, header: (&'static str, Secret)| Ask {
        service: MACHINE,
        method,
        url: format!("{base}{path}"),
        headers: vec![header],
        wait: METADATA_REQUEST_WAIT,
    };
    let lifetime = ("x-aws-ec2-metadata-token-ttl-seconds", Secret::new("21600"));
    let token = ask(Method::PUT, "/latest/api/token".to_owned(), lifetime);
    let token = match token.send(transport).await {
        Ok((200, body)) => text(&body)?,
        // Not a machine of Amazon's, or one whose metadata are switched off.
        Ok(_) => return Ok(None),
        Err(error) if is_unreachable(&error) => return Ok(None),
        Err(error) => return Err(error),
    };
    let token = || ("x-aws-ec2-metadata-token", Secret::new(token.as_str()));
    let roles = "/latest/meta-data/iam/security-credentials/";
    let role = match ask(Method::GET, roles.to_owned(), token()).send(transport).await? {
        (200, body) => text(&body)?,
        (404, _) => return Ok(None),
        (status, _) => return Err(status_error(MACHINE, status)),
    };
    let role = role.lines().next().unwrap_or_default().trim();
    let is_letter = |c: char| c.is_ascii_alphanumeric() || "_+=,.@-".contains(c);
    if role.is_empty() || role.len() > MAX_ROLE || !role.chars().all(is_letter) {
        return Err(Error::new(ErrorKind::Auth, format!("{MACHINE} returned no name of a role")));
    }
    let body = ask(Method::GET, format!("{roles}{role}"), token()).send_ok(transport).await?;
    read_served(&body, MACHINE).map(Some)
}

/// The longest name of a role (IAM's own limit).
const MAX_ROLE: usize = 64;

fn text(body: &[u8]) -> Result<String> {
    let text = std::str::from_utf8(body).ok().map(str::trim).filter(|text| !text.is_empty());
    text.map(str::to_owned).ok_or_else(|| {
        Error::new(ErrorKind::Auth, format!("the response of {MACHINE} cannot be read"))
    })
}
