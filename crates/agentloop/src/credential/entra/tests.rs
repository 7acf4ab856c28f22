use std::time::Duration;

use http::HeaderMap;
use serde_json::json;
use tokio::time::{Instant, advance};

use super::*;
use crate::credential::fake::{Shared, World};
use crate::limits::{CREDENTIAL_AHEAD, MAX_CREDENTIAL_BODY_BYTES, METADATA_REQUEST_WAIT};

const HOUR: Duration = Duration::from_secs(3600);
const URL: &str = "https://lab.openai.azure.com/openai/v1/chat/completions";
const TOKEN: &str = "POST https://login.microsoftonline.com/tenant-1/oauth2/v2.0/token";
const MACHINE: &str = "GET http://169.254.169.254/metadata/identity/oauth2/token?api-version=2018-02-01&resource=https%3A%2F%2Fcognitiveservices.azure.com";
const APP: &str = "GET http://127.0.0.1:41741/MSI/token/?api-version=2019-08-01&resource=https%3A%2F%2Fcognitiveservices.azure.com";
const APPLICATION: [(&str, &str); 3] = [
    ("AZURE_TENANT_ID", "tenant-1"),
    ("AZURE_CLIENT_ID", "client-1"),
    ("AZURE_CLIENT_SECRET", "SECRET~&x"),
];
const NONE: &str = r#"{"error":"invalid_request","error_description":"Identity not found"}"#;

fn credential(world: &World) -> EntraCredential {
    with(world, EntraSettings::default())
}

fn with(world: &World, settings: EntraSettings) -> EntraCredential {
    let mut credential = EntraCredential::new(settings).transport(Shared(Arc::clone(&world.fake)));
    // The tests may run on any machine.
    credential.is_azure = || false;
    credential
}

fn issued(token: &str) -> String {
    json!({ "access_token": token, "expires_in": 3599, "token_type": "Bearer" }).to_string()
}

/// A token as the services of machines write it.
fn served(token: &str) -> String {
    json!({ "access_token": token, "expires_in": "3599", "resource": "r", "token_type": "Bearer" })
        .to_string()
}

fn bearer(request: &Request<Bytes>) -> String {
    request.headers()["authorization"].to_str().unwrap().to_owned()
}

async fn token(world: &World) -> Result<String> {
    world.authorize(&credential(world), URL).await.map(|request| bearer(&request))
}

#[tokio::test(start_paused = true)]
async fn an_application_obtains_a_token_for_its_secret() {
    let world = World::new(&APPLICATION);
    world.fake.responds(TOKEN, 200, issued("app"));
    world.fake.responds(MACHINE, 200, served("machine"));
    let credential = credential(&world);
    for _ in 0..2 {
        let request = world.authorize(&credential, URL).await.unwrap();
        assert_eq!(bearer(&request), "Bearer app");
    }
    let asked = world.fake.asked();
    assert_eq!(asked.len(), 1);
    assert_eq!(
        asked[0].body,
        "grant_type=client_credentials&client_id=client-1&scope=https%3A%2F%2Fcognitiveservices.azure.com%2F.default&client_secret=SECRET~%26x"
    );
    assert!(world.check(&credential).is_ok());
}

#[tokio::test(start_paused = true)]
async fn the_settings_choose_the_scope_the_tenant_and_the_application() {
    let world = World::new(&APPLICATION);
    let place = TOKEN.replace("tenant-1", "contoso.example");
    world.fake.responds(&place, 200, issued("t"));
    let settings = EntraSettings::default()
        .scope("https://ai.azure.com/.default")
        .tenant("contoso.example")
        .client_id("client-2");
    world.authorize(&with(&world, settings), URL).await.unwrap();
    let body = &world.fake.asked()[0].body;
    assert!(
        body.contains("client_id=client-2&scope=https%3A%2F%2Fai.azure.com%2F.default"),
        "{body}"
    );
    for scope in ["", "a b", "--x", "https://x/\n", "ü"] {
        let credential = with(&world, EntraSettings::default().scope(scope));
        let error = world.authorize(&credential, URL).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Config, "{scope}");
    }
    for tenant in ["", "a/b", "../x", "-x", "a?b", "ü"] {
        let credential = with(&world, EntraSettings::default().tenant(tenant));
        assert!(world.authorize(&credential, URL).await.is_err(), "{tenant}");
    }
    assert_eq!(world.fake.places().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_workload_exchanges_the_token_of_its_file() {
    let mut world = World::new(&APPLICATION[..2]);
    let file = world.home.write("token", "eyJ.one\n");
    world.set("AZURE_FEDERATED_TOKEN_FILE", &file);
    world.set("AZURE_AUTHORITY_HOST", "https://login.microsoftonline.us/");
    let place = TOKEN.replace("microsoftonline.com", "microsoftonline.us");
    world.fake.responds(&place, 200, issued("workload"));
    let credential = credential(&world);
    assert_eq!(bearer(&world.authorize(&credential, URL).await.unwrap()), "Bearer workload");
    let body = world.fake.asked()[0].body.clone();
    assert!(body.ends_with("&client_assertion_type=urn%3Aietf%3Aparams%3Aoauth%3Aclient-assertion-type%3Ajwt-bearer&client_assertion=eyJ.one"), "{body}");
    // Kubernetes writes a new one, which is read for the next token.
    world.home.write("token", "eyJ.two");
    advance(HOUR).await;
    world.authorize(&credential, URL).await.unwrap();
    assert!(world.fake.asked()[1].body.ends_with("=eyJ.two"));
    for text in ["", " \n", "a b", "a\nb", "ü"] {
        world.home.write("token", text);
        let error = token(&world).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::MissingKey, "{text:?}");
    }
    world.set("AZURE_FEDERATED_TOKEN_FILE", "/nonexistent");
    assert_eq!(token(&world).await.unwrap_err().kind(), ErrorKind::MissingKey);
}

#[tokio::test(start_paused = true)]
async fn an_identity_that_is_there_in_part_is_an_error_that_names_the_rest() {
    for (left_out, named) in [(0, "AZURE_TENANT_ID"), (1, "AZURE_CLIENT_ID")] {
        let mut variables = APPLICATION.to_vec();
        variables.remove(left_out);
        let world = World::new(&variables);
        world.fake.responds(MACHINE, 200, served("machine"));
        let error = token(&world).await.unwrap_err();
        assert!(error.message().contains(named), "{error}");
        assert!(world.fake.places().is_empty() && world.check(&credential(&world)).is_err());
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_not_supported_is_an_error_and_nothing_else_is_used() {
    for variables in [
        &[("AZURE_CLIENT_CERTIFICATE_PATH", "/x"), ("AZURE_CLIENT_ID", "c")][..],
        &[("AZURE_PASSWORD", "SECRET"), ("AZURE_USERNAME", "u"), ("AZURE_CLIENT_ID", "c")],
        &[("IDENTITY_ENDPOINT", "http://localhost/x"), ("IMDS_ENDPOINT", "http://localhost")],
        &[
            ("IDENTITY_ENDPOINT", "https://x"),
            ("IDENTITY_HEADER", "h"),
            ("IDENTITY_SERVER_THUMBPRINT", "t"),
        ],
        &[("MSI_ENDPOINT", "http://localhost:50342/oauth2/token")],
        &[("AZURE_TOKEN_CREDENTIALS", "AzurePowerShellCredential")],
    ] {
        let world = World::new(variables);
        world.fake.responds(MACHINE, 200, served("machine"));
        let error = token(&world).await.unwrap_err();
        assert!(error.message().contains("not supported"), "{error}");
        assert!(error.hint().unwrap().contains("az account get-access-token"), "{error}");
        assert!(world.fake.places().is_empty());
    }
}

#[tokio::test(start_paused = true)]
async fn a_secret_is_not_sent_to_another_machine_without_encryption() {
    for host in
        ["http://evil.test", "ftp://x", "https://a:b@evil.test", "http://localhost.evil.test"]
    {
        let mut world = World::new(&APPLICATION);
        world.set("AZURE_AUTHORITY_HOST", host);
        assert_eq!(token(&world).await.unwrap_err().kind(), ErrorKind::Config, "{host}");
        assert!(world.fake.places().is_empty(), "{host}");
    }
    for url in [
        "http://evil.test/token",
        "http://8.8.8.8/token",
        "http://169.254.1.1.evil.test/",
        "x",
        "http://127.0.0.1@evil.test/",
    ] {
        let world = World::new(&[("IDENTITY_ENDPOINT", url), ("IDENTITY_HEADER", "SECRET")]);
        assert_eq!(token(&world).await.unwrap_err().kind(), ErrorKind::Config, "{url}");
        assert!(world.fake.places().is_empty(), "{url}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_app_has_the_identity_of_its_service() {
    let world = World::new(&[
        ("IDENTITY_ENDPOINT", "http://127.0.0.1:41741/MSI/token/"),
        ("IDENTITY_HEADER", "header-secret"),
    ]);
    world.fake.responds(APP, 200, served("app-service"));
    assert_eq!(token(&world).await.unwrap(), "Bearer app-service");
    let headers = &world.fake.asked()[0].headers["x-identity-header"];
    assert!(headers == "header-secret" && headers.is_sensitive());
    let world = World::new(&[
        ("IDENTITY_ENDPOINT", "http://169.254.131.2:8081/msi/token"),
        ("IDENTITY_HEADER", "h"),
        ("AZURE_CLIENT_ID", "user assigned"),
    ]);
    let place = "GET http://169.254.131.2:8081/msi/token?api-version=2019-08-01&resource=https%3A%2F%2Fcognitiveservices.azure.com&client_id=user%20assigned";
    world.fake.responds(place, 200, served("assigned"));
    assert_eq!(token(&world).await.unwrap(), "Bearer assigned");
}

#[tokio::test(start_paused = true)]
async fn a_machine_has_an_identity_of_its_metadata_service() {
    let world = World::new(&[]);
    world.fake.responds(MACHINE, 200, served("machine"));
    assert_eq!(token(&world).await.unwrap(), "Bearer machine");
    assert_eq!(world.fake.asked()[0].headers["metadata"], "true");
    let credential = credential(&world);
    assert!(world.check(&credential).is_err(), "a check does not ask the network");
    let mut credential = credential;
    credential.is_azure = || true;
    assert!(world.check(&credential).is_ok());
    assert_eq!(world.fake.places().len(), 1);
    // An identity that is asked for by its id is not replaced by another one.
    let world = World::new(&[("AZURE_CLIENT_ID", "wrong")]);
    world.fake.responds(&format!("{MACHINE}&client_id=wrong"), 400, NONE);
    let error = token(&world).await.unwrap_err();
    assert!(error.message().contains("invalid_request"), "{error}");
    assert!(error.hint().unwrap().contains("AZURE_CLIENT_ID"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn without_any_identity_the_error_comes_soon_and_says_what_to_do() {
    for respond in [
        |_: &World| {},
        |world: &World| world.fake.is_slow(HOUR),
        |world: &World| world.fake.responds(MACHINE, 400, NONE),
        |world: &World| world.fake.responds(MACHINE, 404, "<html>"),
        |world: &World| world.fake.responds(MACHINE, 200, "<html>"),
        |world: &World| world.fake.responds(MACHINE, 403, "unreachable"),
    ] {
        let world = World::new(&[]);
        respond(&world);
        let began = Instant::now();
        let error = token(&world).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::MissingKey, "{error}");
        assert!(error.hint().unwrap().contains("az login"), "{error}");
        assert!(began.elapsed() <= METADATA_REQUEST_WAIT + Duration::from_millis(10));
    }
}

#[tokio::test(start_paused = true)]
async fn a_variable_limits_the_choice() {
    for (word, expected) in [
        ("prod", Some("app")),
        ("EnvironmentCredential", Some("app")),
        ("ManagedIdentityCredential", Some("machine")),
        ("WorkloadIdentityCredential", None),
        ("dev", None),
    ] {
        let mut world = World::new(&APPLICATION);
        world.set("AZURE_TOKEN_CREDENTIALS", word);
        world.fake.responds(TOKEN, 200, issued("app"));
        world.fake.responds(&format!("{MACHINE}&client_id=client-1"), 200, served("machine"));
        let found = token(&world).await.ok();
        assert_eq!(found, expected.map(|token| format!("Bearer {token}")), "{word}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_token_is_replaced_before_it_expires_and_kept_through_an_outage() {
    let world = World::new(&APPLICATION);
    world.fake.responds(TOKEN, 200, issued("one"));
    let credential = credential(&world);
    let token = || async { bearer(&world.authorize(&credential, URL).await.unwrap()) };
    assert_eq!(token().await, "Bearer one");
    advance(HOUR - CREDENTIAL_AHEAD).await;
    world.fake.responds(TOKEN, 503, "");
    assert_eq!(token().await, "Bearer one", "valid for some more minutes");
    advance(CREDENTIAL_RETRY).await;
    let json = json!({ "access_token": "two", "expires_in": 9999 }).to_string();
    world.fake.responds(TOKEN, 200, json);
    assert_eq!(token().await, "Bearer two");
    let headers = HeaderMap::new();
    let refused = |status| {
        let authorized = Instant::now().into_std();
        credential.refused(Refused { status, headers: &headers, authorized })
    };
    assert!(!refused(401), "it was just obtained");
    advance(CREDENTIAL_RETRY).await;
    assert!(!refused(403) && refused(401));
}

#[tokio::test(start_paused = true)]
async fn hostile_responses_are_errors_that_show_no_secrets() {
    let huge = vec![b'x'; MAX_CREDENTIAL_BODY_BYTES + 1];
    let echo = br#"{"error":"invalid_client","error_description":"AADSTS7000215: SECRET~&x"}"#;
    let bodies: [(u16, &[u8]); 6] = [
        (200, &huge),
        (200, b"{\"access_token\":\"SECRET\\r\\nx: y\"}"),
        (200, b"{\"access_token\":\"SECRET\",\"expires_in\":\"-5\"}"),
        (401, echo),
        (302, b""),
        (200, b"\xff"),
    ];
    for (status, body) in bodies {
        let world = World::new(&APPLICATION);
        world.fake.responds(TOKEN, status, body);
        let error = token(&world).await.unwrap_err();
        assert!(!format!("{error:?} {error}").contains("SECRET"), "{error}");
        assert_eq!(world.fake.places(), [TOKEN]);
    }
    let world = World::new(&APPLICATION);
    world.fake.responds(TOKEN, 200, issued("t"));
    world.fake.is_slow(HOUR);
    assert_eq!(token(&world).await.unwrap_err().kind(), ErrorKind::Timeout);
}

#[cfg(unix)]
mod program {
    use super::*;
    use crate::limits::CREDENTIAL_PROGRAM_WAIT;
    use crate::patience::wait_until;
    use crate::programs::write_program;

    /// Returns a world whose Azure CLI is this script.
    fn world(script: &str) -> World {
        let mut world = World::new(&[]);
        write_program(world.home.0.join("bin/az"), &format!("#!/bin/sh\n{script}\n"));
        let folder = world.home.0.join("bin").display().to_string();
        world.set("PATH", &format!("relative:{folder}:/usr/bin"));
        world
    }

    fn printing(world: &World) -> String {
        let on = std::time::UNIX_EPOCH.elapsed().unwrap().as_secs() + 3600;
        let json = json!({ "accessToken": "cli-token", "expiresOn": "2026-11-16 10:00:00.000000", "expires_on": on, "tokenType": "Bearer" });
        world.home.write("answer.json", &json.to_string())
    }

    #[tokio::test]
    async fn the_azure_cli_is_asked_last_without_a_shell() {
        let world = world(
            "dir=$(dirname \"$0\")/..; printf '%s\\n' \"$PWD\" \"$@\" > \"$dir/args\"; cat \"$dir/answer.json\"",
        );
        printing(&world);
        let settings = EntraSettings::default().tenant("contoso.example");
        let credential = with(&world, settings);
        for _ in 0..2 {
            let request = world.authorize(&credential, URL).await.unwrap();
            assert_eq!(bearer(&request), "Bearer cli-token");
        }
        let args = std::fs::read_to_string(world.home.0.join("args")).unwrap();
        let expected = "/\naccount\nget-access-token\n--output\njson\n--resource\nhttps://cognitiveservices.azure.com\n--tenant\ncontoso.example\n";
        assert_eq!(args, expected);
        assert_eq!(world.fake.places().len(), 1, "the metadata service was asked first");
    }

    #[tokio::test]
    async fn the_azure_cli_is_not_started_if_it_may_not_be() {
        let world = world("touch \"$(dirname \"$0\")/../started\"");
        let settings = [EntraSettings::default().without_cli(), EntraSettings::default()];
        let mut other = World::new(&[("AZURE_TOKEN_CREDENTIALS", "prod")]);
        let path = world.home.0.join("bin").display().to_string();
        other.set("PATH", &path);
        for (world, settings) in [&world, &other].into_iter().zip(settings) {
            let credential = with(world, settings);
            let error = world.authorize(&credential, URL).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::MissingKey);
            world.home.write(".azure/azureProfile.json", "{}");
            assert!(world.check(&credential).is_err());
        }
        assert!(!world.home.0.join("started").exists());
    }

    #[tokio::test]
    async fn a_check_does_not_start_the_azure_cli() {
        let world = world("touch \"$(dirname \"$0\")/../started\"");
        assert!(world.check(&credential(&world)).is_err(), "it has not been signed in");
        world.home.write(".azure/azureProfile.json", "{}");
        assert!(world.check(&credential(&world)).is_ok());
        assert!(!world.home.0.join("started").exists());
    }

    #[tokio::test]
    async fn a_program_that_fails_or_prints_something_else_is_an_error_without_its_output() {
        for script in [
            "echo SECRET; exit 1",
            "echo SECRET >&2; exit 1",
            "echo SECRET",
            "exit 0",
            "echo '{\"accessToken\":\"SECRET\\nx\"}'",
            // More than is accepted, without an end.
            "while :; do echo SECRETSECRETSECRETSECRETSECRETSECRET; done",
        ] {
            let world = world(script);
            let error = token(&world).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Auth, "{script}: {error}");
            assert!(!format!("{error:?} {error}").contains("SECRET"), "{error}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_program_that_hangs_is_ended_with_what_it_started() {
        let world = world(
            "dir=$(dirname \"$0\")/..\nsleep 1000 &\necho $! > \"$dir/pid.new\"; mv \"$dir/pid.new\" \"$dir/pid\"\nwait",
        );
        let file = world.home.0.join("pid");
        let began = Instant::now();
        let failing = token(&world);
        let mut failing = std::pin::pin!(failing);
        // The clock goes on by itself while all wait, so the program is given the time to start.
        let started = std::thread::spawn(move || {
            while !file.exists() {
                std::thread::yield_now();
            }
            std::fs::read_to_string(file).unwrap().trim().to_owned()
        });
        let polled = futures_util::poll!(&mut failing);
        assert!(polled.is_pending());
        while !started.is_finished() {
            let _ = futures_util::poll!(&mut failing);
            std::thread::yield_now();
        }
        let pid = started.join().unwrap();
        let error = failing.await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Timeout, "{error}");
        assert!(began.elapsed() <= CREDENTIAL_PROGRAM_WAIT + METADATA_REQUEST_WAIT);
        // It has been killed: it is gone, or waits for its parent to notice.
        let is_alive = || {
            std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| {
                !stat.rsplit(')').next().unwrap_or_default().trim_start().starts_with(['Z', 'X'])
            })
        };
        wait_until("the program ends", || !is_alive());
    }
}
