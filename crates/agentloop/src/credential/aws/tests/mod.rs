#[cfg(unix)]
mod programs;
mod roles;

use std::time::UNIX_EPOCH;

use http::HeaderMap;
use tokio::time::{Instant, advance};

use super::*;
use crate::calendar::write_rfc3339;
use crate::credential::fake::{Fake, Shared, World};
use crate::limits::{
    CREDENTIAL_AHEAD, CREDENTIAL_REQUEST_WAIT, CREDENTIAL_WAIT, MAX_CREDENTIAL_BODY_BYTES,
    METADATA_REQUEST_WAIT,
};

struct Lab {
    credential: AwsCredential,
    fake: Arc<Fake>,
    world: World,
}

const URL: &str = "https://bedrock-runtime.eu-west-1.amazonaws.com/model/m/converse";

impl Lab {
    fn new(variables: &[(&str, &str)]) -> Self {
        Self::with(AwsSettings::default(), variables)
    }

    fn with(settings: AwsSettings, variables: &[(&str, &str)]) -> Self {
        let world = World::new(variables);
        let fake = Arc::clone(&world.fake);
        let mut credential = AwsCredential::new(settings).transport(Shared(Arc::clone(&fake)));
        // The tests may run on any machine.
        credential.is_amazon = || false;
        Self { credential, fake, world }
    }

    /// Writes a file of the folder `.aws`.
    fn write(&self, name: &str, text: &str) {
        self.world.home.write(&format!(".aws/{name}"), text);
    }

    async fn sign(&self) -> Result<Request<Bytes>> {
        self.world.authorize(&self.credential, URL).await
    }

    fn check(&self) -> Result<()> {
        self.world.check(&self.credential)
    }

    fn region(&self) -> Option<String> {
        self.world.variable(&self.credential, "AWS_REGION")
    }

    fn header(&self, place: &str, name: &str) -> Option<String> {
        let asked = self.fake.asked();
        let asked = asked.iter().find(|asked| asked.place == place)?;
        Some(asked.headers.get(name)?.to_str().unwrap().to_owned())
    }
}

/// Returns the access key of a signature.
fn signer(request: &Request<Bytes>) -> String {
    let value = request.headers()["authorization"].to_str().unwrap().to_owned();
    let start = value.find("Credential=").unwrap() + "Credential=".len();
    value[start..].split('/').next().unwrap().to_owned()
}

fn served(id: &str, time: Duration) -> String {
    let end = write_rfc3339(seconds_since_1970(SystemTime::now() + time));
    format!(
        r#"{{"Code":"Success","AccessKeyId":"{id}","SecretAccessKey":"S","Token":"T-{id}","Expiration":"{end}"}}"#
    )
}

const HOUR: Duration = Duration::from_secs(3600);
const KEYS: [(&str, &str); 2] = [("AWS_ACCESS_KEY_ID", "AKENV"), ("AWS_SECRET_ACCESS_KEY", "S")];
const TOKEN: &str = "PUT http://169.254.169.254/latest/api/token";
const ROLES: &str = "GET http://169.254.169.254/latest/meta-data/iam/security-credentials/";
const ROLE: &str = "GET http://169.254.169.254/latest/meta-data/iam/security-credentials/web";

fn machine(lab: &Lab, keys: &str) {
    lab.fake.responds(TOKEN, 200, "imds-token");
    lab.fake.responds(ROLES, 200, "web\n");
    lab.fake.responds(ROLE, 200, keys);
}

#[tokio::test(start_paused = true)]
async fn keys_of_the_environment_come_first() {
    let lab = Lab::new(&KEYS);
    lab.write("credentials", "[default]\naws_access_key_id=AKFILE\naws_secret_access_key=S\n");
    let request = lab.sign().await.unwrap();
    assert_eq!(signer(&request), "AKENV");
    assert!(!request.headers().contains_key("x-amz-security-token"));
    assert!(lab.check().is_ok() && lab.fake.places().is_empty());
}

#[tokio::test(start_paused = true)]
async fn half_of_the_keys_is_an_error_that_names_the_other_half() {
    let error = Lab::new(&KEYS[..1]).sign().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::MissingKey);
    assert!(error.message().contains("AWS_SECRET_ACCESS_KEY"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_profile_of_the_settings_comes_before_the_environment() {
    let lab = Lab::with(AwsSettings::default().profile("work"), &KEYS);
    lab.write("config", "[profile work]\nregion = ap-south-1\n");
    lab.write(
        "credentials",
        "[work]\naws_access_key_id = AKWORK\naws_secret_access_key = S\naws_session_token = T\n",
    );
    let request = lab.sign().await.unwrap();
    assert_eq!(signer(&request), "AKWORK");
    assert_eq!(request.headers()["x-amz-security-token"], "T");
    assert_eq!(lab.region().as_deref(), Some("ap-south-1"));
}

#[tokio::test(start_paused = true)]
async fn a_profile_that_does_not_exist_is_an_error_and_not_another_account() {
    let lab = Lab::new(&[("AWS_PROFILE", "wrok")]);
    machine(&lab, &served("AKROLE", HOUR));
    let error = lab.sign().await.unwrap_err();
    assert!(error.message().contains("wrok"), "{error}");
    assert!(lab.fake.places().is_empty());
}

#[tokio::test(start_paused = true)]
async fn what_is_not_supported_is_an_error_that_says_what_to_do() {
    for setting in [
        "login_session = arn:aws:iam::1:user/x",
        "role_arn = arn:aws:iam::1:role/x\nsource_profile = p\nmfa_serial = arn:aws:iam::1:mfa/x",
        "credential_source = Environment",
    ] {
        let lab = Lab::new(&[("AWS_PROFILE", "p")]);
        lab.write("config", &format!("[profile p]\n{setting}\n"));
        machine(&lab, &served("AKROLE", HOUR));
        let error = lab.sign().await.unwrap_err();
        assert!(error.message().contains("not supported"), "{error}");
        assert!(error.hint().unwrap().contains("export-credentials --profile p"));
        assert!(lab.fake.places().is_empty(), "no other credentials are used instead");
    }
}

#[tokio::test(start_paused = true)]
async fn a_container_returns_keys_for_its_token() {
    let lab = Lab::new(&[
        ("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/v2/credentials/1"),
        ("AWS_CONTAINER_AUTHORIZATION_TOKEN", "Basic secret"),
    ]);
    let place = "GET http://169.254.170.2/v2/credentials/1";
    lab.fake.responds(place, 200, served("AKTASK", HOUR));
    assert_eq!(signer(&lab.sign().await.unwrap()), "AKTASK");
    assert_eq!(lab.header(place, "authorization").as_deref(), Some("Basic secret"));
    assert!(lab.check().is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_token_of_a_container_is_not_sent_to_another_machine_without_encryption() {
    for url in [
        "http://evil.test/x",
        "http://10.0.0.1/x",
        "ftp://127.0.0.1/",
        "x",
        "http://169.254.170.2.evil.test/",
    ] {
        let lab = Lab::new(&[
            ("AWS_CONTAINER_CREDENTIALS_FULL_URI", url),
            ("AWS_CONTAINER_AUTHORIZATION_TOKEN", "secret"),
        ]);
        assert_eq!(lab.sign().await.unwrap_err().kind(), ErrorKind::Config, "{url}");
        assert!(lab.fake.places().is_empty(), "{url}");
    }
    for url in
        ["https://creds.test/x", "http://127.0.0.1:90/x", "http://169.254.170.23/v1/credentials"]
    {
        let lab = Lab::new(&[("AWS_CONTAINER_CREDENTIALS_FULL_URI", url)]);
        lab.fake.responds(&format!("GET {url}"), 200, served("AKTASK", HOUR));
        assert!(lab.sign().await.is_ok(), "{url}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_machine_returns_keys_for_a_token_of_its_metadata_service() {
    let lab = Lab::new(&[]);
    machine(&lab, &served("AKROLE", HOUR));
    let request = lab.sign().await.unwrap();
    assert_eq!(signer(&request), "AKROLE");
    assert_eq!(request.headers()["x-amz-security-token"], "T-AKROLE");
    assert_eq!(lab.fake.places(), [TOKEN, ROLES, ROLE]);
    assert_eq!(lab.header(ROLE, "x-aws-ec2-metadata-token").as_deref(), Some("imds-token"));
    // Once more, without asking again.
    lab.sign().await.unwrap();
    assert_eq!(lab.fake.asked().len(), 3);
    assert!(lab.check().is_err(), "a check does not ask the network");
    assert_eq!(lab.fake.asked().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn on_a_machine_of_amazon_s_a_check_expects_a_role_and_does_not_ask() {
    let mut lab = Lab::new(&[]);
    lab.credential.is_amazon = || true;
    assert!(lab.check().is_ok() && lab.fake.places().is_empty());
    let mut lab = Lab::new(&[("AWS_EC2_METADATA_DISABLED", "true")]);
    lab.credential.is_amazon = || true;
    assert!(lab.check().is_err());
}

#[tokio::test(start_paused = true)]
async fn without_any_credentials_the_error_comes_soon_and_says_what_to_set() {
    let lab = Lab::new(&[]);
    let error = lab.sign().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::MissingKey);
    assert!(error.hint().unwrap().contains("AWS_BEARER_TOKEN_BEDROCK"));
    // A network that swallows packets: one short wait.
    let lab = Lab::new(&[]);
    lab.fake.is_slow(HOUR);
    let began = Instant::now();
    assert_eq!(lab.sign().await.unwrap_err().kind(), ErrorKind::MissingKey);
    assert!(began.elapsed() <= METADATA_REQUEST_WAIT + Duration::from_millis(10));
    let lab = Lab::new(&[("AWS_EC2_METADATA_DISABLED", "TRUE")]);
    assert!(lab.sign().await.is_err());
    assert!(lab.fake.places().is_empty());
}

#[tokio::test(start_paused = true)]
async fn keys_are_replaced_before_they_expire_and_kept_through_an_outage() {
    let lab = Lab::new(&[]);
    machine(&lab, &served("AKONE", HOUR));
    assert_eq!(signer(&lab.sign().await.unwrap()), "AKONE");
    advance(HOUR - CREDENTIAL_AHEAD + Duration::from_secs(1)).await;
    lab.fake.responds(ROLES, 500, "");
    assert_eq!(signer(&lab.sign().await.unwrap()), "AKONE", "valid for some more minutes");
    advance(CREDENTIAL_RETRY).await;
    machine(&lab, &served("AKTWO", 2 * HOUR));
    assert_eq!(signer(&lab.sign().await.unwrap()), "AKTWO");
}

#[tokio::test(start_paused = true)]
async fn a_slow_service_is_an_error_after_a_limit() {
    let lab = Lab::new(&[("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/c")]);
    lab.fake.responds("GET http://169.254.170.2/c", 200, served("AK", HOUR));
    lab.fake.is_slow(HOUR);
    let began = Instant::now();
    assert_eq!(lab.sign().await.unwrap_err().kind(), ErrorKind::Timeout);
    assert!(began.elapsed() <= CREDENTIAL_REQUEST_WAIT.min(CREDENTIAL_WAIT));
}

#[tokio::test(start_paused = true)]
async fn hostile_responses_are_errors_that_show_no_keys() {
    let huge = vec![b'x'; MAX_CREDENTIAL_BODY_BYTES + 1];
    let bodies: [&[u8]; 7] = [
        &huge,
        b"",
        b"<html>",
        b"{\"AccessKeyId\":\"AKSECRET\"}",
        b"{\"AccessKeyId\":\"AK\",\"SecretAccessKey\":\"S\",\"Expiration\":\"2001-01-01T00:00:00Z\"}",
        b"{\"AccessKeyId\":\"AK\\n\",\"SecretAccessKey\":\"S\",\"Token\":\"a\\nb\"}",
        b"\xff\xfe",
    ];
    for body in bodies {
        let lab = Lab::new(&[("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/c")]);
        lab.fake.responds("GET http://169.254.170.2/c", 200, body);
        let error = lab.sign().await.unwrap_err();
        assert!(!format!("{error:?}").contains("AKSECRET"), "{error}");
    }
    for role in ["../../x", "a b", "", "ü", &"r".repeat(65)] {
        let lab = Lab::new(&[]);
        lab.fake.responds(TOKEN, 200, "t");
        lab.fake.responds(ROLES, 200, role);
        assert!(lab.sign().await.is_err(), "{role}");
        assert_eq!(lab.fake.asked().len(), 2, "{role}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_single_sign_on_uses_the_stored_token_of_its_session() {
    let lab = Lab::new(&[("AWS_PROFILE", "work"), ("AWS_ENDPOINT_URL_SSO", "https://sso.test/")]);
    lab.write("config", "[profile work]\nsso_session = office\nsso_account_id = 123\nsso_role_name = dev team\n[sso-session office]\nsso_region = eu-west-1\nsso_start_url = https://x\n");
    // The SHA-1 of `office`.
    let file = "sso/cache/6eebdb15d27d5a05a88d2f745c2c00d7ea9d6b14.json";
    let error = lab.sign().await.unwrap_err();
    assert!(error.hint().unwrap().contains("aws sso login --profile work"), "{error}");
    let sum = ring::digest::digest(&ring::digest::SHA1_FOR_LEGACY_USE_ONLY, b"office");
    let file = file.replace("6eebdb15d27d5a05a88d2f745c2c00d7ea9d6b14", &sign::hex(sum.as_ref()));
    lab.write(&file, r#"{"accessToken":"sso-token","expiresAt":"2099-01-01T00:00:00Z"}"#);
    let place = "GET https://sso.test/federation/credentials?role_name=dev%20team&account_id=123";
    let ms = UNIX_EPOCH.elapsed().unwrap().as_millis() + 3_600_000;
    lab.fake.responds(place, 200, format!(r#"{{"roleCredentials":{{"accessKeyId":"AKSSO","secretAccessKey":"S","sessionToken":"T","expiration":{ms}}}}}"#));
    assert_eq!(signer(&lab.sign().await.unwrap()), "AKSSO");
    assert_eq!(lab.header(place, "x-amz-sso_bearer_token").as_deref(), Some("sso-token"));
    let expired = Lab::new(&[("AWS_PROFILE", "work")]);
    expired.write("config", "[profile work]\nsso_session = office\nsso_account_id = 1\nsso_role_name = r\n[sso-session office]\nsso_region = eu-west-1\n");
    expired.write(&file, r#"{"accessToken":"old","expiresAt":"2001-01-01T00:00:00Z"}"#);
    assert!(expired.sign().await.is_err());
    // An array is not read as the fields of the object in their order.
    expired.write(&file, r#"["sso-token","2099-01-01T00:00:00Z"]"#);
    assert!(expired.sign().await.is_err());
    assert!(expired.fake.asked().is_empty());
}

#[tokio::test(start_paused = true)]
async fn the_region_is_that_of_the_host_then_of_the_settings_the_environment_and_the_profile() {
    let lab = Lab::with(AwsSettings::default().region("ap-east-1"), &KEYS);
    let request = lab.sign().await.unwrap();
    let value = request.headers()["authorization"].to_str().unwrap();
    assert!(value.contains("/eu-west-1/bedrock/"), "{value}");
    assert_eq!(lab.region().as_deref(), Some("ap-east-1"));
    assert_eq!(Lab::new(&[("AWS_DEFAULT_REGION", "r-1")]).region().as_deref(), Some("r-1"));
    let lab = Lab::new(&[]);
    assert_eq!(lab.region(), None);
    lab.write("config", "[default]\nregion = sa-east-1\n");
    assert_eq!(lab.region().as_deref(), Some("sa-east-1"));
    for (host, region) in [
        ("bedrock-runtime.us-gov-west-1.amazonaws.com", Some("us-gov-west-1")),
        ("bedrock-runtime.cn-north-1.amazonaws.com.cn", Some("cn-north-1")),
        ("bedrock-mantle.us-east-1.api.aws", Some("us-east-1")),
        ("vpce-1.bedrock-runtime.us-east-1.vpce.amazonaws.com", None),
        ("us-east-1.amazonaws.com", None),
        ("amazonaws.com", None),
        ("localhost", None),
        ("", None),
    ] {
        assert_eq!(region_of_host(host), region, "{host}");
    }
}

fn refused(lab: &Lab, headers: &[(&'static str, &str)]) -> bool {
    refused_since(lab, Instant::now().into_std(), headers)
}

/// Refuses a request that was signed at that time.
fn refused_since(
    lab: &Lab,
    authorized: std::time::Instant,
    headers: &[(&'static str, &str)],
) -> bool {
    let pairs = headers.iter().map(|(name, value)| {
        (http::HeaderName::from_static(name), http::HeaderValue::from_str(value).unwrap())
    });
    let headers: HeaderMap = pairs.collect();
    lab.credential.refused(Refused { status: 403, headers: &headers, authorized })
}

#[tokio::test(start_paused = true)]
async fn a_wrong_clock_is_corrected_once_by_the_date_of_the_refusal() {
    let mut lab = Lab::new(&KEYS);
    // The machine thinks that it is 2026-11-16T09:00:00Z.
    lab.credential.clock = || UNIX_EPOCH + Duration::from_secs(1_794_819_600);
    let date =
        |request: &Request<Bytes>| request.headers()["x-amz-date"].to_str().unwrap().to_owned();
    assert_eq!(date(&lab.sign().await.unwrap()), "20261116T090000Z");
    assert!(!refused(&lab, &[("date", "Mon, 16 Nov 2026 09:02:00 GMT")]), "nearly right");
    assert!(refused(&lab, &[("date", "Mon, 16 Nov 2026 10:00:00 GMT")]));
    assert_eq!(date(&lab.sign().await.unwrap()), "20261116T100000Z");
    assert!(!refused(&lab, &[("date", "Mon, 16 Nov 2026 10:00:00 GMT")]), "it is right now");
    assert!(refused(&lab, &[("date", "Mon, 16 Nov 2026 08:00:00 GMT")]));
    assert_eq!(date(&lab.sign().await.unwrap()), "20261116T080000Z");
    for hostile in ["Mon, 16 Nov 9999 10:00:00 GMT", "Thu, 01 Jan 1970 00:00:00 GMT", "x", ""] {
        assert!(!refused(&lab, &[("date", hostile)]), "{hostile}");
    }
    assert_eq!(date(&lab.sign().await.unwrap()), "20261116T080000Z");
}

/// Found by concurrent calls on a machine whose clock is wrong: the first one corrected it, and the others failed.
#[tokio::test(start_paused = true)]
async fn requests_that_were_signed_before_the_clock_was_corrected_are_signed_again() {
    let mut lab = Lab::new(&KEYS);
    lab.credential.clock = || UNIX_EPOCH + Duration::from_secs(1_794_819_600);
    lab.sign().await.unwrap();
    let signed = Instant::now().into_std();
    advance(Duration::from_secs(1)).await;
    let date = [("date", "Mon, 16 Nov 2026 10:00:00 GMT")];
    assert!(refused_since(&lab, signed, &date));
    assert!(refused_since(&lab, signed, &date));
    advance(Duration::from_secs(1)).await;
    assert!(!refused(&lab, &date), "this one was signed with the corrected time");
}

#[tokio::test(start_paused = true)]
async fn keys_that_are_refused_as_expired_are_read_again() {
    let lab = Lab::new(&[]);
    let file = |id: &str| format!("[default]\naws_access_key_id={id}\naws_secret_access_key=S\n");
    lab.write("credentials", &file("AKOLD"));
    assert_eq!(signer(&lab.sign().await.unwrap()), "AKOLD");
    lab.write("credentials", &file("AKNEW"));
    assert_eq!(signer(&lab.sign().await.unwrap()), "AKOLD");
    let expired = [("x-amzn-errortype", "ExpiredTokenException:http://x")];
    assert!(!refused(&lab, &expired), "they were just read");
    advance(CREDENTIAL_RETRY).await;
    assert!(!refused(&lab, &[("x-amzn-errortype", "AccessDeniedException")]));
    assert!(refused(&lab, &expired));
    assert_eq!(signer(&lab.sign().await.unwrap()), "AKNEW");
}

#[tokio::test(start_paused = true)]
async fn a_file_that_is_too_large_or_a_folder_is_an_error() {
    let lab = Lab::new(&[]);
    lab.write("credentials", &"#".repeat(2 << 20));
    assert!(lab.sign().await.unwrap_err().message().contains("larger"));
    let lab = Lab::new(&[("AWS_CONFIG_FILE", "/")]);
    assert!(lab.sign().await.unwrap_err().message().contains("is a directory"));
}

#[test]
fn nothing_of_a_credential_can_be_printed() {
    let lab = Lab::new(&KEYS);
    assert!(!format!("{:?}", lab.credential).contains("AKENV"));
}

#[tokio::test(start_paused = true)]
async fn files_with_a_mark_of_windows_and_names_in_quotation_marks_are_read() {
    let lab = Lab::new(&[]);
    lab.write(
        "credentials",
        "\u{feff}[default]\r\naws_access_key_id=AKBOM\r\naws_secret_access_key=S\r\n",
    );
    assert_eq!(signer(&lab.sign().await.unwrap()), "AKBOM");
    let lab = Lab::new(&[("AWS_PROFILE", "my work")]);
    lab.write("config", "[profile \"my work\"]\naws_access_key_id=AKQ\naws_secret_access_key=S\n");
    assert_eq!(signer(&lab.sign().await.unwrap()), "AKQ");
}

#[tokio::test(start_paused = true)]
async fn a_region_that_would_name_another_host_is_refused_before_anything_is_signed() {
    for hostile in ["x.evil.test/", "a@evil.test", "a/b", "a\nb", "a b", "ü"] {
        let lab = Lab::with(AwsSettings::default().region(hostile), &KEYS);
        let signed = lab.world.authorize(&lab.credential, "https://proxy.test/").await;
        assert_eq!(signed.unwrap_err().kind(), ErrorKind::Config, "{hostile}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_path_of_a_container_cannot_name_another_host() {
    for path in ["@evil.test/x", ".evil.test/", "evil", ":80@evil.test"] {
        let lab = Lab::new(&[("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", path)]);
        assert_eq!(lab.sign().await.unwrap_err().kind(), ErrorKind::Config, "{path}");
        assert!(lab.fake.asked().is_empty(), "{path}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_reason_of_a_container_shows_neither_the_token_that_was_sent_nor_control_characters() {
    let url = "http://127.0.0.1:9/keys";
    let lab = Lab::new(&[
        ("AWS_CONTAINER_CREDENTIALS_FULL_URI", url),
        ("AWS_CONTAINER_AUTHORIZATION_TOKEN", "token-SECRET-0123456789"),
    ]);
    let body = r#"{"Code":"Denied","Message":"not \u001b[2Jtoken-SECRET-0123456789"}"#;
    lab.fake.responds(&format!("GET {url}"), 200, body);
    let error = lab.sign().await.unwrap_err();
    let shown = format!("{error:?} {error}");
    assert!(!shown.contains("SECRET") && !shown.contains("u{1b}"), "{shown}");
    assert!(error.message().contains("not"), "{shown}");
}
