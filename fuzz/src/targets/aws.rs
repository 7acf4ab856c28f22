//! The files of Amazon Web Services, and what its services for credentials respond.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use agentloop::credential::{AwsCredential, AwsSettings, Credential, Environment};
use agentloop::transport::{Body, SendOptions, Transport};
use agentloop::{BoxFuture, Result};
use bytes::Bytes;
use http::{Request, Response};
use serde_json::Value;

use super::laws::run;

/// What separates the parts of an input: `config`, `credentials`, the token of the single sign-on, and the responses in their order.
const END: &str = "\n%%\n";

/// Stands in the responses for a key.
const SECRET: &str = "fuzzed-secret-key";

/// The variables of an input, by its first byte. There is none that names a program.
const VARIABLES: [&[(&str, &str)]; 6] = [
    &[("AWS_PROFILE", "dev")],
    &[],
    &[("AWS_WEB_IDENTITY_TOKEN_FILE", "$HOME/token"), ("AWS_ROLE_ARN", "arn:aws:iam::1:role/x")],
    &[("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/x")],
    &[("AWS_PROFILE", "sso"), ("AWS_ENDPOINT_URL_SSO", "https://sso.test")],
    &[("AWS_ACCESS_KEY_ID", "AK"), ("AWS_SECRET_ACCESS_KEY", "S"), ("AWS_PROFILE", "dev")],
];

const CONFIG: &str = "# mine\n[default]\nregion = us-east-1 ; usual\n[profile dev]\nrole_arn = arn:aws:iam::1:role/dev\nsource_profile = base\nexternal_id = x\nduration_seconds = 900\n[profile base]\nrole_arn=arn:aws:iam::2:role/base\ncredential_source = Ec2InstanceMetadata\ns3 =\n  nested = 1\n[profile sso]\nsso_session = office\nsso_account_id = 1\nsso_role_name = dev\n[sso-session office]\nsso_region = eu-west-1\n";
const KEYS: &str = "[keys]\naws_access_key_id = AK\naws_secret_access_key = fuzzed-secret-key\naws_session_token = T\n";
const TOKEN: &str = r#"{"accessToken":"fuzzed-secret-key","expiresAt":"2099-01-01T00:00:00Z"}"#;
const SERVED: &str = r#"{"Code":"Success","AccessKeyId":"AK","SecretAccessKey":"fuzzed-secret-key","Token":"T","Expiration":"2099-01-01T00:00:00Z"}"#;
const SIGNED_ON: &str = r#"{"roleCredentials":{"accessKeyId":"AK","secretAccessKey":"fuzzed-secret-key","sessionToken":"T","expiration":4070908800000}}"#;
const ASSUMED: &str = r#"{"AssumeRoleResponse":{"AssumeRoleResult":{"Credentials":{"AccessKeyId":"AK","Expiration":4.0709088E9,"SecretAccessKey":"fuzzed-secret-key","SessionToken":"T\u0041"}},"ResponseMetadata":{"RequestId":"1"}}}"#;
const REFUSED: &str = r#"{"Error":{"Type":"Sender","Code":"AccessDenied","Message":"fuzzed-secret-key"},"RequestId":"1"}"#;

pub(crate) fn seeds() -> Vec<Vec<u8>> {
    let roles = [CONFIG, KEYS, TOKEN, "imds-token", "web", SERVED, ASSUMED, ASSUMED].join(END);
    let keys = CONFIG.replace("source_profile = base", "source_profile = keys");
    [
        format!("\u{0}\u{0}{roles}"),
        format!("\u{0}\u{0}{}", [&keys, KEYS, TOKEN, ASSUMED].join(END)),
        format!("\u{1}\u{0}{}", ["", "", "", "imds-token", "web", SERVED].join(END)),
        format!("\u{2}\u{0}{}", ["", "", "", ASSUMED].join(END)),
        format!("\u{2}\u{1}{}", ["", "", "", REFUSED].join(END)),
        format!("\u{3}\u{0}{}", ["", KEYS, "", SERVED].join(END)),
        format!("\u{4}\u{0}{}", [CONFIG, "", TOKEN, SIGNED_ON].join(END)),
        format!("\u{5}\u{0}{roles}"),
    ]
    .map(String::into_bytes)
    .to_vec()
}

pub(crate) fn check(bytes: &[u8]) {
    let [which, status, bytes @ ..] = bytes else { return };
    let mut parts: Vec<Vec<u8>> = Vec::new();
    let mut rest = bytes;
    while let Some(at) = rest.windows(END.len()).position(|window| window == END.as_bytes()) {
        parts.push(rest[..at].to_vec());
        rest = &rest[at + END.len()..];
    }
    parts.push(rest.to_vec());
    parts.resize(parts.len().max(3), Vec::new());
    let responses = parts.split_off(3);
    // No program is ever started for an input.
    let names_program = |text: &Vec<u8>| {
        String::from_utf8_lossy(text).to_ascii_lowercase().contains("credential_process")
    };
    if parts.iter().any(names_program) {
        return;
    }
    let home = Home::new(&parts);
    let folder = home.0.display().to_string();
    let variables = VARIABLES[usize::from(*which) % VARIABLES.len()];
    let look_up = |name: &str| match name {
        "HOME" => Some(folder.clone()),
        _ => {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| value.replace("$HOME", &folder))
        }
    };
    let status = [200, 400, 403, 500][usize::from(*status) % 4];
    let is_reason = responses.iter().any(|response| {
        let response: Value = serde_json::from_slice(response).unwrap_or_default();
        let has = |name: &str| response[name].as_str().is_some_and(|text| text.contains(SECRET));
        let keys = ["AccessKeyId", "SecretAccessKey", "Token"];
        (has("Code") || has("Message")) && !keys.iter().any(|name| response[*name] == SECRET)
    });
    let service = Service { status, responses, next: AtomicU64::new(0) };
    let credential = AwsCredential::new(AwsSettings::default()).transport(service);
    let _ = credential.check(Environment::new(&look_up));
    let url = "https://bedrock-runtime.eu-west-1.amazonaws.com/model/m/converse";
    let mut request = Request::post(url).body(Bytes::from_static(b"{}")).unwrap();
    match run(credential.authorize(&mut request, Environment::new(&look_up))) {
        Ok(()) => assert!(request.headers()["authorization"].is_sensitive()),
        Err(error) => {
            assert!(!error.message().is_empty());
            // Names in `config` are shown, and so is why a service has no keys, unless it is one of them.
            let is_name = parts[0].windows(SECRET.len()).any(|window| window == SECRET.as_bytes());
            assert!(is_name || is_reason || !format!("{error:?}").contains(SECRET), "{error:?}");
        }
    }
}

/// Responds with one part of the input after the other, and then not at all.
#[derive(Debug)]
struct Service {
    status: u16,
    responses: Vec<Vec<u8>>,
    next: AtomicU64,
}

impl Transport for Service {
    fn send<'a>(
        &'a self,
        _: Request<Bytes>,
        _: SendOptions,
    ) -> BoxFuture<'a, Result<Response<Body>>> {
        let at = usize::try_from(self.next.fetch_add(1, Ordering::Relaxed)).unwrap();
        let body = self.responses.get(at).cloned();
        Box::pin(async move {
            match body {
                Some(body) => {
                    let response = Response::builder()
                        .status(self.status)
                        .header("date", "Mon, 16 Nov 2026 10:00:00 GMT");
                    Ok(response.body(Body::whole(body)).unwrap())
                }
                None => std::future::pending().await,
            }
        })
    }
}

/// A home folder with the files of an input. It is removed at the end.
struct Home(PathBuf);

impl Home {
    fn new(parts: &[Vec<u8>]) -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("agentloop-fuzz-aws-{}-{count}", std::process::id());
        let home = Self(std::env::temp_dir().join(name));
        let cache = home.0.join(".aws/sso/cache");
        std::fs::create_dir_all(&cache).unwrap();
        // The SHA-1 of `office`.
        let token = cache.join("e6427457497fe0f4f93a7334d2203b8e17ee82df.json");
        let files = [home.0.join(".aws/config"), home.0.join(".aws/credentials"), token];
        for (file, text) in files.iter().zip(parts) {
            std::fs::write(file, text).unwrap();
        }
        std::fs::write(home.0.join("token"), SECRET).unwrap();
        home
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
