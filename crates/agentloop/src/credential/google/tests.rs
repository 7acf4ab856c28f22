use std::time::{Duration, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::HeaderMap;
use ring::signature::{KeyPair as _, RSA_PKCS1_2048_8192_SHA256, RsaKeyPair, UnparsedPublicKey};
use serde_json::{Value, json};
use tokio::time::{Instant, advance};

use super::*;
use crate::credential::fake::{Shared, World};
use crate::limits::{
    CREDENTIAL_AHEAD, CREDENTIAL_WAIT, MAX_CREDENTIAL_BODY_BYTES, METADATA_REQUEST_WAIT,
};

/// Keys that nothing accepts, made with `openssl genpkey` for these tests. Both are the same key.
const PKCS8: &str = include_str!("fixtures/pkcs8.pem");
const PKCS1: &str = include_str!("fixtures/pkcs1.pem");

const HOUR: Duration = Duration::from_secs(3600);
const URL: &str = "https://europe-west1-aiplatform.googleapis.com/v1/projects/p/locations/europe-west1/publishers/google/models/m:generateContent";
const TOKEN: &str = "POST https://oauth2.googleapis.com/token";
const SERVED: &str = "GET http://169.254.169.254/computeMetadata/v1/instance/service-accounts/default/token?scopes=https%3A%2F%2Fwww.googleapis.com%2Fauth%2Fcloud-platform";
const PROJECT: &str = "GET http://169.254.169.254/computeMetadata/v1/project/project-id";
const GOOGLE: [(&str, &str); 1] = [("metadata-flavor", "Google")];
const USUAL: &str = ".config/gcloud/application_default_credentials.json";

fn credential(world: &World) -> GoogleCredential {
    with(world, GoogleSettings::default())
}

fn with(world: &World, settings: GoogleSettings) -> GoogleCredential {
    let mut credential = GoogleCredential::new(settings).transport(Shared(Arc::clone(&world.fake)));
    // The tests may run on any machine.
    credential.is_google = || false;
    credential
}

fn account(more: &Value) -> String {
    let mut file = json!({
        "type": "service_account", "project_id": "of-file", "private_key_id": "k1", "private_key": PKCS8,
        "client_email": "bot@of-file.iam.gserviceaccount.com", "client_id": "1",
        "token_uri": "https://oauth2.googleapis.com/token", "universe_domain": "googleapis.com",
    });
    for (name, value) in more.as_object().unwrap() {
        file[name] = value.clone();
    }
    file.to_string()
}

fn user() -> String {
    json!({
        "type": "authorized_user", "client_id": "cid", "client_secret": "client-SECRET",
        "refresh_token": "1//refresh-SECRET+", "quota_project_id": "of-user", "account": "",
        // Google's libraries ignore it too: whoever wrote the file could send the refresh token anywhere.
        "token_uri": "https://evil.test/token",
    })
    .to_string()
}

fn issued(token: &str, seconds: u64) -> String {
    json!({ "access_token": token, "expires_in": seconds, "token_type": "Bearer" }).to_string()
}

fn bearer(request: &Request<Bytes>) -> String {
    request.headers()["authorization"].to_str().unwrap().to_owned()
}

/// Returns the header and the claims of the assertion in a form, whose signature is valid.
fn assertion(form: &str) -> (Value, Value) {
    let token = form.rsplit_once("assertion=").unwrap().1;
    let parts: Vec<&str> = token.split('.').collect();
    let read = |part: &str| -> Value {
        serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).unwrap()).unwrap()
    };
    let der: String = PKCS1.lines().filter(|line| !line.starts_with('-')).collect();
    let der = base64::engine::general_purpose::STANDARD.decode(der).unwrap();
    let pair = RsaKeyPair::from_der(&der).unwrap();
    let public = UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, pair.public_key().as_ref());
    let signature = URL_SAFE_NO_PAD.decode(parts[2]).unwrap();
    public.verify(format!("{}.{}", parts[0], parts[1]).as_bytes(), &signature).unwrap();
    (read(parts[0]), read(parts[1]))
}

#[tokio::test(start_paused = true)]
async fn a_service_account_exchanges_a_signed_assertion_for_a_token() {
    for key in [PKCS8, PKCS1] {
        let mut world = World::new(&[]);
        let path = world.home.write("key.json", &account(&json!({ "private_key": key })));
        world.set("GOOGLE_APPLICATION_CREDENTIALS", &path);
        // It comes before the file of gcloud.
        world.home.write(USUAL, &user());
        world.fake.responds(TOKEN, 200, issued("ya29.one", 3600));
        let mut credential = credential(&world);
        credential.clock.system = || UNIX_EPOCH + Duration::from_secs(1_794_819_600);
        let request = world.authorize(&credential, URL).await.unwrap();
        assert_eq!(
            (bearer(&request).as_str(), request.uri().to_string()),
            ("Bearer ya29.one", URL.to_owned())
        );
        assert!(!request.headers().contains_key("x-goog-user-project"));
        let asked = &world.fake.asked()[0];
        assert_eq!(asked.headers["content-type"], "application/x-www-form-urlencoded");
        assert!(
            asked
                .body
                .starts_with("grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&")
        );
        let (header, claims) = assertion(&asked.body);
        assert_eq!(header, json!({ "alg": "RS256", "typ": "JWT", "kid": "k1" }));
        let expected = json!({
            "iss": "bot@of-file.iam.gserviceaccount.com", "scope": SCOPE, "aud": TOKEN_URL,
            "iat": 1_794_819_540, "exp": 1_794_823_140,
        });
        assert_eq!(claims, expected);
        // Once more, without asking again.
        world.authorize(&credential, URL).await.unwrap();
        assert_eq!(world.fake.places(), [TOKEN]);
        assert!(world.check(&credential).is_ok());
        assert_eq!(world.variable(&credential, "VERTEX_PROJECT").as_deref(), Some("of-file"));
    }
}

#[tokio::test(start_paused = true)]
async fn a_user_s_refresh_token_is_sent_to_google_only() {
    let world = World::new(&[]);
    world.home.write(USUAL, &user());
    world.fake.responds(TOKEN, 200, issued("ya29.user", 3600));
    let credential = credential(&world);
    let request = world.authorize(&credential, URL).await.unwrap();
    assert_eq!(bearer(&request), "Bearer ya29.user");
    assert_eq!(request.headers()["x-goog-user-project"], "of-user");
    assert_eq!(
        world.fake.asked()[0].body,
        "grant_type=refresh_token&client_id=cid&client_secret=client-SECRET&refresh_token=1%2F%2Frefresh-SECRET%2B"
    );
    assert_eq!(world.variable(&credential, "VERTEX_PROJECT").as_deref(), Some("of-user"));
    let mut world = World::new(&[("GOOGLE_CLOUD_QUOTA_PROJECT", "of-environment")]);
    let folder = world.home.0.join("other").display().to_string();
    world.home.write("other/application_default_credentials.json", &user());
    world.set("CLOUDSDK_CONFIG", &folder);
    world.fake.responds(TOKEN, 200, issued("t", 3600));
    let request = world.authorize(&self::credential(&world), URL).await.unwrap();
    assert_eq!(request.headers()["x-goog-user-project"], "of-environment");
}

#[tokio::test(start_paused = true)]
async fn the_settings_come_before_the_environment() {
    let mut world = World::new(&[
        ("GOOGLE_CLOUD_PROJECT", "of-environment"),
        ("GOOGLE_CLOUD_LOCATION", "asia-east1"),
    ]);
    let other = world.home.write("other.json", &account(&json!({ "client_email": "other@x" })));
    world.home.write("mine.json", &account(&json!({ "client_email": "mine@x" })));
    world.set("GOOGLE_APPLICATION_CREDENTIALS", &other);
    world.fake.responds(TOKEN, 200, issued("t", 3600));
    let credential = with(&world, GoogleSettings::default().file("~/mine.json"));
    world.authorize(&credential, URL).await.unwrap();
    assert_eq!(assertion(&world.fake.asked()[0].body).1["iss"], "mine@x");
    let variable = |credential: &GoogleCredential, name| world.variable(credential, name);
    assert_eq!(variable(&credential, "VERTEX_PROJECT").as_deref(), Some("of-environment"));
    assert_eq!(variable(&credential, "VERTEX_LOCATION").as_deref(), Some("asia-east1"));
    assert_eq!(variable(&credential, "HOME"), None);
    let credential = with(&world, GoogleSettings::default().project("mine").location("us"));
    assert_eq!(variable(&credential, "VERTEX_PROJECT").as_deref(), Some("mine"));
    assert_eq!(variable(&credential, "VERTEX_LOCATION").as_deref(), Some("us"));
    let world = World::new(&[]);
    let credential = self::credential(&world);
    assert_eq!(world.variable(&credential, "VERTEX_LOCATION").as_deref(), Some("global"));
}

#[tokio::test(start_paused = true)]
async fn a_machine_has_a_token_and_a_project_of_its_metadata_server() {
    let world = World::new(&[]);
    world.fake.responds_with(SERVED, 200, &GOOGLE, issued("ya29.machine", 3599));
    world.fake.responds_with(PROJECT, 200, &GOOGLE, "machine-project\n");
    let credential = credential(&world);
    let project = world.variable(&credential, "VERTEX_PROJECT").unwrap();
    let url = format!(
        "https://aiplatform.googleapis.com/v1/projects/{project}/locations/global/publishers/google/models/m:x?alt=sse"
    );
    for _ in 0..2 {
        let request = world.authorize(&credential, &url).await.unwrap();
        assert_eq!(bearer(&request), "Bearer ya29.machine");
        assert_eq!(
            request.uri(),
            "https://aiplatform.googleapis.com/v1/projects/machine-project/locations/global/publishers/google/models/m:x?alt=sse"
        );
    }
    assert_eq!(world.fake.places(), [SERVED, PROJECT]);
    assert_eq!(world.fake.asked()[0].headers["metadata-flavor"], "Google");
    assert!(world.check(&credential).is_err(), "a check does not ask the network");
}

#[tokio::test(start_paused = true)]
async fn on_a_machine_of_google_s_a_check_expects_a_service_account_and_does_not_ask() {
    let world = World::new(&[]);
    let mut credential = credential(&world);
    credential.is_google = || true;
    assert!(world.check(&credential).is_ok());
    let world = World::new(&[("GCE_METADATA_HOST", "metadata.test:8080")]);
    assert!(world.check(&self::credential(&world)).is_ok());
    let world = World::new(&[("NO_GCE_CHECK", "true")]);
    assert!(world.check(&credential).is_err());
    assert!(world.fake.places().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_project_of_the_metadata_server_that_is_not_one_is_an_error() {
    for (headers, status, body) in [
        (&GOOGLE[..], 200, "../../evil"),
        (&GOOGLE[..], 200, "a/b"),
        (&GOOGLE[..], 200, ""),
        (&GOOGLE[..], 200, "a\r\nb"),
        (&GOOGLE[..], 404, "machine"),
        (&[], 200, "machine"),
    ] {
        let world = World::new(&[]);
        world.fake.responds_with(SERVED, 200, &GOOGLE, issued("t", 3599));
        world.fake.responds_with(PROJECT, status, headers, body);
        let url = format!("https://x.test/projects/{PROJECT_OF_MACHINE}/m");
        let error = world.authorize(&credential(&world), &url).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Config, "{body}");
    }
}

#[tokio::test(start_paused = true)]
async fn without_any_credentials_the_error_comes_soon_and_says_what_to_do() {
    let world = World::new(&[]);
    let error = world.authorize(&credential(&world), URL).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::MissingKey);
    assert!(error.hint().unwrap().contains("gcloud auth application-default login"), "{error}");
    // A network that swallows packets: one short wait.
    let world = World::new(&[]);
    world.fake.is_slow(HOUR);
    let began = Instant::now();
    let error = world.authorize(&credential(&world), URL).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::MissingKey);
    assert!(began.elapsed() <= METADATA_REQUEST_WAIT + Duration::from_millis(10));
    let world = World::new(&[("NO_GCE_CHECK", "true")]);
    assert!(world.authorize(&credential(&world), URL).await.is_err());
    assert!(world.fake.places().is_empty());
    // Another provider's metadata service, and a portal that answers everything.
    for body in [issued("not-google", 3600), "<html>".to_owned()] {
        let world = World::new(&[]);
        world.fake.responds(SERVED, 200, body);
        let error = world.authorize(&credential(&world), URL).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::MissingKey, "it is not Google's");
    }
    let world = World::new(&[]);
    world.fake.responds_with(SERVED, 404, &GOOGLE, "");
    let error = world.authorize(&credential(&world), URL).await.unwrap_err();
    assert!(error.message().contains("no service account"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_file_that_is_missing_or_of_another_type_is_an_error_and_no_other_credential_is_used() {
    let machine = |world: &World| {
        world.fake.responds_with(SERVED, 200, &GOOGLE, issued("ya29.machine", 3599));
    };
    let world = World::new(&[("GOOGLE_APPLICATION_CREDENTIALS", "/nonexistent/key.json")]);
    machine(&world);
    let error = world.authorize(&credential(&world), URL).await.unwrap_err();
    assert!(error.message().contains("/nonexistent/key.json"), "{error}");
    assert!(world.fake.places().is_empty());
    for kind in [
        "external_account",
        "impersonated_service_account",
        "external_account_authorized_user",
        "gdch_service_account",
        "\u{1b}[2J",
    ] {
        let world = World::new(&[]);
        machine(&world);
        world.home.write(USUAL, &json!({ "type": kind, "token_url": "https://x" }).to_string());
        let error = world.authorize(&credential(&world), URL).await.unwrap_err();
        assert!(error.message().contains("not supported"), "{error}");
        assert!(!error.message().contains('\u{1b}'));
        assert!(error.hint().unwrap().contains("print-access-token"), "{error}");
        assert!(world.fake.places().is_empty() && world.check(&credential(&world)).is_err());
    }
    let world = World::new(&[]);
    world.home.write(USUAL, &account(&json!({ "universe_domain": "apis.sovereign.test" })));
    let error = world.authorize(&credential(&world), URL).await.unwrap_err();
    assert!(error.message().contains("apis.sovereign.test"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_broken_file_is_an_error_that_shows_none_of_its_secrets() {
    let cut = account(&json!({}));
    for text in [
        "",
        "{",
        "[]",
        "7",
        // An array is not read as the fields of the object in their order, of which the last one is shown.
        r#"["service_account","a@b","SECRET"]"#,
        r#"[null,null,null,null,null,null,null,null,null,null,"SECRET"]"#,
        r#" ["SECRET"]"#,
        "{}",
        &cut[..cut.len() - 9],
        r#"{"type":"service_account","private_key":"SECRET"}"#,
        r#"{"type":"service_account","private_key":["SECRET"],"client_email":"a@b"}"#,
        r#"{"type":"service_account","private_key":"SECRET","client_email":"a@b"}"#,
        r#"{"type":"service_account","private_key":"-----BEGIN PRIVATE KEY-----\nSECRET\n-----END PRIVATE KEY-----","client_email":"a@b"}"#,
        r#"{"type":"service_account","private_key":"-----BEGIN PRIVATE KEY-----SECR","client_email":"a@b"}"#,
        r#"{"type":"authorized_user","refresh_token":"SECRET"}"#,
        r#"{"type":"authorized_user","refresh_token":"SECRET","client_id":"x"}"#,
        &format!(r#"{{"type":"service_account","x":{}1{}}}"#, "[".repeat(9000), "]".repeat(9000)),
    ] {
        let world = World::new(&[]);
        world.home.write(USUAL, text);
        let error = world.authorize(&credential(&world), URL).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::MissingKey, "{text:.80}");
        let shown = format!("{error:?} {error}");
        assert!(!shown.contains("SECR") && !shown.contains("MIIE"), "{shown}");
        assert!(world.fake.places().is_empty());
    }
    let world = World::new(&[]);
    world.home.write(USUAL, &" ".repeat(2 << 20));
    assert!(
        world.authorize(&credential(&world), URL).await.unwrap_err().message().contains("larger")
    );
    let world = World::new(&[("GOOGLE_APPLICATION_CREDENTIALS", "/")]);
    assert!(
        world
            .authorize(&credential(&world), URL)
            .await
            .unwrap_err()
            .message()
            .contains("is a directory")
    );
}

#[tokio::test(start_paused = true)]
async fn an_assertion_is_sent_encrypted_and_only_good_where_it_is_sent() {
    for url in
        ["http://evil.test/token", "http://10.0.0.1/", "ftp://x", "x", "https://a:b@evil.test/", ""]
    {
        let world = World::new(&[]);
        world.home.write(USUAL, &account(&json!({ "token_uri": url })));
        let error = world.authorize(&credential(&world), URL).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Config, "{url}");
        assert!(world.fake.places().is_empty(), "{url}");
    }
    for url in ["https://private.test/token", "http://127.0.0.1:81/token"] {
        let world = World::new(&[]);
        world.home.write(USUAL, &account(&json!({ "token_uri": url })));
        world.fake.responds(&format!("POST {url}"), 200, issued("t", 3600));
        world.authorize(&credential(&world), URL).await.unwrap();
        assert_eq!(assertion(&world.fake.asked()[0].body).1["aud"], url);
    }
}

#[tokio::test(start_paused = true)]
async fn a_wrong_clock_is_corrected_once_by_the_date_of_the_refusal() {
    let refused = |date: &str| {
        let world = World::new(&[]);
        world.home.write(USUAL, &account(&json!({})));
        let body = r#"{"error":"invalid_grant","error_description":"Invalid JWT: Token must be a short-lived token"}"#;
        world.fake.responds_with(TOKEN, 400, &[("date", date)], body);
        let mut credential = credential(&world);
        // The machine thinks that it is 2026-11-16T09:00:00Z.
        credential.clock.system = || UNIX_EPOCH + Duration::from_secs(1_794_819_600);
        (world, credential)
    };
    let (world, credential) = refused("Mon, 16 Nov 2026 10:00:00 GMT");
    let error = world.authorize(&credential, URL).await.unwrap_err();
    assert!(error.message().contains("invalid_grant"), "{error}");
    assert!(error.hint().unwrap().contains("clock"), "{error}");
    let times: Vec<u64> = world
        .fake
        .asked()
        .iter()
        .map(|asked| assertion(&asked.body).1["iat"].as_u64().unwrap())
        .collect();
    assert_eq!(times, [1_794_819_540, 1_794_823_140]);
    for nearly in ["Mon, 16 Nov 2026 09:02:00 GMT", "Mon, 16 Nov 9999 10:00:00 GMT", "x", ""] {
        let (world, credential) = refused(nearly);
        assert!(world.authorize(&credential, URL).await.is_err());
        assert_eq!(world.fake.places().len(), 1, "{nearly}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_token_is_replaced_before_it_expires_and_kept_through_an_outage() {
    let world = World::new(&[]);
    world.home.write(USUAL, &user());
    world.fake.responds(TOKEN, 200, issued("one", 3600));
    let credential = credential(&world);
    let token = || async { bearer(&world.authorize(&credential, URL).await.unwrap()) };
    assert_eq!(token().await, "Bearer one");
    advance(HOUR - CREDENTIAL_AHEAD + Duration::from_secs(1)).await;
    for (status, body) in
        [(500, ""), (200, "<html>"), (400, r#"{"error":"invalid_grant"}"#), (302, "")]
    {
        world.fake.responds(TOKEN, status, body);
        assert_eq!(token().await, "Bearer one", "valid for some more minutes");
        advance(CREDENTIAL_RETRY).await;
    }
    world.fake.responds(TOKEN, 200, issued("two", 7200));
    assert_eq!(token().await, "Bearer two");
    let asked = world.fake.places().len();
    let all = futures_util::future::join_all((0..20).map(|_| token())).await;
    assert!(all.iter().all(|token| token == "Bearer two") && world.fake.places().len() == asked);
}

#[tokio::test(start_paused = true)]
async fn calls_that_need_a_token_at_once_obtain_it_once() {
    let world = World::new(&[]);
    world.home.write(USUAL, &account(&json!({})));
    world.fake.responds(TOKEN, 200, issued("one", 3600));
    world.fake.is_slow(Duration::from_secs(2));
    let credential = credential(&world);
    let calls = (0..30).map(|_| world.authorize(&credential, URL));
    let calls = futures_util::future::join_all(calls).await;
    assert!(calls.into_iter().all(|call| bearer(&call.unwrap()) == "Bearer one"));
    assert_eq!(world.fake.places().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_slow_service_is_an_error_after_a_limit() {
    let world = World::new(&[]);
    world.home.write(USUAL, &user());
    world.fake.responds(TOKEN, 200, issued("t", 3600));
    world.fake.is_slow(HOUR);
    let began = Instant::now();
    let error = world.authorize(&credential(&world), URL).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout);
    assert!(began.elapsed() <= CREDENTIAL_REQUEST_WAIT.min(CREDENTIAL_WAIT));
}

#[tokio::test(start_paused = true)]
async fn hostile_responses_are_errors_that_show_no_secrets() {
    let huge = vec![b'x'; MAX_CREDENTIAL_BODY_BYTES + 1];
    let echo =
        br#"{"error":"invalid_grant","error_description":"client-SECRET 1//refresh-SECRET+"}"#;
    let bodies: [(u16, &[u8]); 6] = [
        (200, &huge),
        (200, b"{\"access_token\":\"SECRET\\r\\nx: y\"}"),
        (200, b"{\"access_token\":\"SECRET\",\"expires_in\":-5}"),
        (400, echo),
        (307, b""),
        (200, b"\xff"),
    ];
    for (status, body) in bodies {
        let world = World::new(&[]);
        world.home.write(USUAL, &user());
        world.fake.responds_with(TOKEN, status, &[("location", "https://evil.test/")], body);
        let error = world.authorize(&credential(&world), URL).await.unwrap_err();
        assert!(!format!("{error:?} {error}").contains("SECRET"), "{error}");
        assert_eq!(world.fake.places(), [TOKEN]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_token_that_is_refused_is_obtained_again_unless_it_is_new() {
    let world = World::new(&[]);
    world.home.write(USUAL, &user());
    world.fake.responds(TOKEN, 200, issued("one", 3600));
    let credential = credential(&world);
    world.authorize(&credential, URL).await.unwrap();
    let headers = HeaderMap::new();
    let refused = |status| {
        let authorized = Instant::now().into_std();
        credential.refused(Refused { status, headers: &headers, authorized })
    };
    assert!(!refused(401), "it was just obtained");
    advance(CREDENTIAL_RETRY).await;
    assert!(!refused(403), "the account may not call this");
    assert!(refused(401));
    world.fake.responds(TOKEN, 200, issued("two", 3600));
    assert_eq!(bearer(&world.authorize(&credential, URL).await.unwrap()), "Bearer two");
}

#[test]
fn a_project_is_checked_before_it_is_part_of_a_url() {
    for project in ["my-project", "example.com:my-project", "123"] {
        assert!(is_project(project), "{project}");
    }
    for project in ["", "..", "a/b", "a b", "-a", "a?b", "ü", PROJECT_OF_MACHINE, &"a".repeat(129)]
    {
        assert!(!is_project(project), "{project}");
    }
}

#[test]
fn nothing_of_a_credential_can_be_printed() {
    let access = Access { token: Secret::new("SECRET"), quota_project: None };
    let credential = GoogleCredential::new(GoogleSettings::default());
    assert!(!format!("{credential:?} {:?}", access.token).contains("SECRET"));
}
