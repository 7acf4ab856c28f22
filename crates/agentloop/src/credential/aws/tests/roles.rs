//! Roles, web identities and chains of profiles.

use super::*;
use crate::limits::{MAX_PROFILE_CHAIN, MAX_TOKEN_BYTES};

const STS: &str = "POST https://sts.eu-west-1.amazonaws.com/";
const BASE: &str = "[profile base]\naws_access_key_id = AKBASE\naws_secret_access_key = S\n";
const ROLE_OF_BASE: &str =
    "[profile dev]\nrole_arn = arn:aws:iam::1:role/dev\nsource_profile = base\n";

/// The response of STS to a request that accepts JSON.
fn assumed(id: &str, time: Duration) -> String {
    assumed_until(id, seconds_since_1970(SystemTime::now() + time))
}

fn assumed_until(id: &str, end: u64) -> String {
    // Amazon writes the time as `1.794732577E9`.
    let end = format!("{:E}", end as f64);
    format!(
        r#"{{"AssumeRoleResponse":{{"AssumeRoleResult":{{"AssumedRoleUser":{{"Arn":"arn:aws:sts::1:assumed-role/dev/x","AssumedRoleId":"R:x"}},"Credentials":{{"AccessKeyId":"{id}","Expiration":{end},"SecretAccessKey":"S-{id}","SessionToken":"T-{id}"}},"PackedPolicySize":null}},"ResponseMetadata":{{"RequestId":"1"}}}}}}"#
    )
}

fn refusal(code: &str) -> String {
    format!(
        r#"{{"Error":{{"Code":"{code}","Message":"TOKEN-TEXT","Type":"Sender"}},"RequestId":"1"}}"#
    )
}

/// Writes a time as the header `date` does.
fn http_date(seconds: u64) -> String {
    let time = jiff::Timestamp::from_second(seconds.try_into().unwrap()).unwrap();
    time.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string()
}

fn dev(config: &str) -> Lab {
    let lab = Lab::new(&[("AWS_PROFILE", "dev")]);
    lab.write("config", config);
    lab
}

/// Returns the access key and the scope of the signature of a request to STS.
fn scope(asked: &crate::credential::fake::Asked) -> String {
    let value = asked.headers["authorization"].to_str().unwrap();
    let words: Vec<&str> = value.split([' ', ',', '=']).collect();
    let scope = words[words.iter().position(|word| *word == "Credential").unwrap() + 1];
    let parts: Vec<&str> = scope.split('/').collect();
    format!("{} {} {}", parts[0], parts[2], parts[3])
}

#[tokio::test(start_paused = true)]
async fn a_profile_assumes_a_role_with_the_keys_of_another_one() {
    let lab = dev(&format!(
        "{BASE}{ROLE_OF_BASE}external_id = ours & theirs\nrole_session_name = me@lab\nduration_seconds = 900\n"
    ));
    lab.fake.responds(STS, 200, assumed("AKDEV", HOUR));
    assert!(lab.check().is_ok() && lab.fake.places().is_empty(), "a check asks no service");
    let request = lab.sign().await.unwrap();
    assert_eq!(signer(&request), "AKDEV");
    assert_eq!(request.headers()["x-amz-security-token"], "T-AKDEV");
    let asked = lab.fake.asked();
    assert_eq!(asked.len(), 1);
    assert_eq!(scope(&asked[0]), "AKBASE eu-west-1 sts");
    assert_eq!(asked[0].headers["content-type"], "application/x-www-form-urlencoded");
    assert_eq!(asked[0].headers["accept"], "application/json");
    assert_eq!(
        asked[0].body,
        "Action=AssumeRole&Version=2011-06-15&RoleArn=arn%3Aaws%3Aiam%3A%3A1%3Arole%2Fdev&ExternalId=ours%20%26%20theirs&DurationSeconds=900&RoleSessionName=me%40lab"
    );
    // Once more, without asking again.
    lab.sign().await.unwrap();
    assert_eq!(lab.fake.asked().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn roles_are_assumed_one_after_the_other() {
    let lab = dev(
        "[profile dev]\nrole_arn = arn:aws:iam::1:role/dev\nsource_profile = mid\n[profile mid]\nrole_arn = arn:aws:iam::2:role/mid\nsource_profile = base\n",
    );
    lab.write("credentials", "[base]\naws_access_key_id=AKBASE\naws_secret_access_key=S\n");
    lab.fake.then_responds(STS, 200, &[], assumed("AKMID", HOUR));
    lab.fake.then_responds(STS, 200, &[], assumed("AKDEV", HOUR));
    assert_eq!(signer(&lab.sign().await.unwrap()), "AKDEV");
    let asked = lab.fake.asked();
    assert!(asked[0].body.contains("role%2Fmid") && asked[1].body.contains("role%2Fdev"));
    assert!(asked[0].body.contains("RoleSessionName=agentloop-"), "{}", asked[0].body);
    assert_eq!(scope(&asked[0]), "AKBASE eu-west-1 sts");
    assert_eq!(scope(&asked[1]), "AKMID eu-west-1 sts");
    assert_eq!(asked[1].headers["x-amz-security-token"], "T-AKMID");
}

#[tokio::test(start_paused = true)]
async fn a_profile_may_be_its_own_source_with_its_own_keys() {
    let lab = dev(
        "[profile dev]\nrole_arn = arn:aws:iam::1:role/dev\nsource_profile = dev\naws_access_key_id = AKOWN\naws_secret_access_key = S\n",
    );
    lab.fake.responds(STS, 200, assumed("AKDEV", HOUR));
    assert_eq!(signer(&lab.sign().await.unwrap()), "AKDEV");
    assert_eq!(scope(&lab.fake.asked()[0]), "AKOWN eu-west-1 sts");
}

#[tokio::test(start_paused = true)]
async fn the_keys_for_a_role_come_from_the_source_that_is_named() {
    let config = |source: &str| {
        format!("[profile dev]\nrole_arn = arn:aws:iam::1:role/dev\ncredential_source = {source}\n")
    };
    let chosen = || AwsSettings::default().profile("dev");
    let lab = Lab::with(chosen(), &KEYS);
    lab.write("config", &config("Environment"));
    lab.fake.responds(STS, 200, assumed("AKDEV", HOUR));
    assert_eq!(signer(&lab.sign().await.unwrap()), "AKDEV");
    assert_eq!(scope(&lab.fake.asked()[0]), "AKENV eu-west-1 sts");

    let lab = Lab::with(chosen(), &[("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/c")]);
    lab.write("config", &config("EcsContainer"));
    lab.fake.responds("GET http://169.254.170.2/c", 200, served("AKTASK", HOUR));
    lab.fake.responds(STS, 200, assumed("AKDEV", HOUR));
    assert_eq!(signer(&lab.sign().await.unwrap()), "AKDEV");
    assert_eq!(scope(&lab.fake.asked()[1]), "AKTASK eu-west-1 sts");

    let lab = Lab::with(chosen(), &[]);
    lab.write("config", &config("Ec2InstanceMetadata"));
    machine(&lab, &served("AKROLE", HOUR));
    lab.fake.responds(STS, 200, assumed("AKDEV", HOUR));
    assert_eq!(signer(&lab.sign().await.unwrap()), "AKDEV");
    assert_eq!(scope(&lab.fake.asked()[3]), "AKROLE eu-west-1 sts");

    for (source, variables) in [
        ("Environment", &[][..]),
        ("EcsContainer", &[]),
        ("Ec2InstanceMetadata", &[("AWS_EC2_METADATA_DISABLED", "true")]),
        ("Moon", &KEYS),
    ] {
        let lab = Lab::with(chosen(), variables);
        lab.write("config", &config(source));
        let error = lab.sign().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::MissingKey);
        assert!(error.message().contains(source), "{error}");
        assert!(lab.fake.places().is_empty());
    }
}

#[tokio::test(start_paused = true)]
async fn profiles_that_lead_nowhere_or_in_circles_are_errors() {
    let role = "role_arn = arn:aws:iam::1:role/x";
    let mut long = String::new();
    for count in 0..=MAX_PROFILE_CHAIN {
        let name = if count == 0 { "dev".to_owned() } else { format!("p{count}") };
        long += &format!("[profile {name}]\n{role}\nsource_profile = p{}\n", count + 1);
    }
    for (config, part) in [
        (format!("[profile dev]\n{role}\n"), "no source"),
        (
            format!("[profile dev]\n{role}\nsource_profile=base\ncredential_source=Environment\n"),
            "two sources",
        ),
        (format!("[profile dev]\n{role}\nsource_profile = dev\n"), "lead back to `dev`"),
        (
            format!(
                "[profile dev]\n{role}\nsource_profile=a\n[profile a]\n{role}\nsource_profile=b\n[profile b]\n{role}\nsource_profile=a\n"
            ),
            "lead back to `a`",
        ),
        (format!("[profile dev]\n{role}\nsource_profile = gone\n"), "no profile `gone`"),
        (
            format!("[profile dev]\n{role}\nsource_profile = a\n[profile a]\nregion = x\n"),
            "`a` has no keys",
        ),
        (
            format!(
                "[profile dev]\n{role}\nsource_profile = a\n[profile a]\naws_access_key_id = AK\n"
            ),
            "aws_secret_access_key",
        ),
        (long, "behind 8 other profiles"),
        ("[profile dev]\nrole_arn = x y\nsource_profile = base\n".to_owned(), "not the ARN"),
        (format!("{BASE}{ROLE_OF_BASE}duration_seconds = soon\n"), "not a number"),
    ] {
        let lab = dev(&config);
        machine(&lab, &served("AKROLE", HOUR));
        let error = lab.sign().await.unwrap_err();
        assert!(error.message().contains(part), "{error} ({part})");
        assert!(lab.check().is_err());
        assert!(lab.fake.places().is_empty(), "no other credentials are used instead");
    }
}

fn pod(lab: &mut Lab, token: &str) {
    let file = lab.world.home.write("token", token);
    lab.world.set("AWS_WEB_IDENTITY_TOKEN_FILE", &file);
    lab.world.set("AWS_ROLE_ARN", "arn:aws:iam::1:role/pod");
}

#[tokio::test(start_paused = true)]
async fn a_web_identity_assumes_its_role_without_a_signature() {
    let mut lab = Lab::new(&[("AWS_ROLE_SESSION_NAME", "pod-1")]);
    pod(&mut lab, "eyJ.one\n");
    // Keys of the profile come after it.
    lab.write("credentials", "[default]\naws_access_key_id=AKFILE\naws_secret_access_key=S\n");
    lab.fake.responds(STS, 200, assumed("AKPOD", HOUR));
    assert!(lab.check().is_ok() && lab.fake.places().is_empty());
    assert_eq!(signer(&lab.sign().await.unwrap()), "AKPOD");
    let asked = lab.fake.asked();
    assert!(!asked[0].headers.contains_key("authorization"));
    assert_eq!(
        asked[0].body,
        "Action=AssumeRoleWithWebIdentity&Version=2011-06-15&RoleArn=arn%3Aaws%3Aiam%3A%3A1%3Arole%2Fpod&WebIdentityToken=eyJ.one&RoleSessionName=pod-1"
    );
}

#[tokio::test(start_paused = true)]
async fn keys_of_a_role_are_replaced_with_the_new_token_and_kept_through_an_outage() {
    let mut lab = Lab::new(&[]);
    pod(&mut lab, "eyJ.one");
    lab.fake.responds(STS, 200, assumed("AKONE", HOUR));
    assert_eq!(signer(&lab.sign().await.unwrap()), "AKONE");
    // Kubernetes replaces the file.
    lab.world.home.write("token", "eyJ.two");
    advance(HOUR - CREDENTIAL_AHEAD + Duration::from_secs(1)).await;
    lab.fake.responds(STS, 503, "");
    assert_eq!(signer(&lab.sign().await.unwrap()), "AKONE", "valid for some more minutes");
    advance(CREDENTIAL_RETRY).await;
    lab.fake.responds(STS, 200, assumed("AKTWO", 2 * HOUR));
    assert_eq!(signer(&lab.sign().await.unwrap()), "AKTWO");
    assert!(lab.fake.asked().last().unwrap().body.contains("WebIdentityToken=eyJ.two&"));
}

#[tokio::test(start_paused = true)]
async fn a_profile_has_a_web_identity_of_its_own() {
    let mut lab = Lab::with(AwsSettings::default().profile("dev"), &[]);
    pod(&mut lab, "eyJ.of-the-environment");
    let file = lab.world.home.write("own", "eyJ.own");
    lab.write(
        "config",
        &format!("[profile dev]\nrole_arn = arn:aws:iam::1:role/own\nweb_identity_token_file = {file}\nrole_session_name = s\n[profile second]\nrole_arn = arn:aws:iam::1:role/second\nsource_profile = dev\n"),
    );
    lab.fake.responds(STS, 200, assumed("AKOWN", HOUR));
    assert_eq!(signer(&lab.sign().await.unwrap()), "AKOWN");
    let body = &lab.fake.asked()[0].body;
    assert!(body.contains("role%2Fown&WebIdentityToken=eyJ.own&RoleSessionName=s"), "{body}");
    // It is also the source of another role.
    lab.credential = AwsCredential::new(AwsSettings::default().profile("second"))
        .transport(Shared(Arc::clone(&lab.fake)));
    lab.fake.responds(STS, 200, assumed("AKSECOND", HOUR));
    assert_eq!(signer(&lab.sign().await.unwrap()), "AKSECOND");
    let asked = lab.fake.asked();
    assert!(asked[1].body.contains("eyJ.own") && asked[2].body.contains("role%2Fsecond"));
}

#[tokio::test(start_paused = true)]
async fn a_role_of_the_profile_comes_before_the_web_identity_of_the_environment() {
    let mut lab = dev(&format!("{BASE}{ROLE_OF_BASE}"));
    pod(&mut lab, "eyJ.one");
    lab.fake.responds(STS, 200, assumed("AKDEV", HOUR));
    lab.sign().await.unwrap();
    assert!(lab.fake.asked()[0].body.starts_with("Action=AssumeRole&"));
}

#[tokio::test(start_paused = true)]
async fn a_web_identity_without_a_role_or_a_token_is_an_error() {
    let mut lab = Lab::new(&[]);
    pod(&mut lab, "eyJ.one");
    lab.world.set("AWS_ROLE_ARN", "");
    assert!(lab.sign().await.unwrap_err().hint().unwrap().contains("AWS_ROLE_ARN"));
    for token in ["", "\n", "a b", "a\nb", "\0", "ü", &"x".repeat(MAX_TOKEN_BYTES + 1)] {
        let mut lab = Lab::new(&[]);
        pod(&mut lab, token);
        let error = lab.sign().await.unwrap_err();
        assert!(error.message().contains("no web identity token"), "{error}");
        assert!(lab.fake.places().is_empty());
    }
    let mut lab = Lab::new(&[]);
    pod(&mut lab, "x");
    lab.world.set("AWS_WEB_IDENTITY_TOKEN_FILE", "/nowhere/token");
    assert!(lab.sign().await.unwrap_err().message().contains("/nowhere/token"));
}

#[tokio::test(start_paused = true)]
async fn the_service_for_roles_is_that_of_the_region_or_of_the_environment() {
    for (region, url) in [
        ("cn-north-1", "https://sts.cn-north-1.amazonaws.com.cn/"),
        ("us-gov-west-1", "https://sts.us-gov-west-1.amazonaws.com/"),
        ("eusc-de-east-1", "https://sts.eusc-de-east-1.amazonaws.eu/"),
        ("us-isob-east-1", "https://sts.us-isob-east-1.sc2s.sgov.gov/"),
    ] {
        let none = |_: &str| None;
        assert_eq!(role::url(region, Environment::new(&none)).unwrap(), url);
    }
    for region in ["", "evil.test/", "a b", "eu-west-1.evil.test#"] {
        let none = |_: &str| None;
        assert!(role::url(region, Environment::new(&none)).is_err(), "{region}");
    }
    let url = |url: &'static str| {
        let look_up = move |name: &str| (name == "AWS_ENDPOINT_URL_STS").then(|| url.to_owned());
        role::url("eu-west-1", Environment::new(&look_up))
    };
    assert_eq!(url("https://sts.test/").unwrap(), "https://sts.test/");
    assert_eq!(url("http://127.0.0.1:9").unwrap(), "http://127.0.0.1:9/");
    assert_eq!(url("http://sts.test").unwrap_err().kind(), ErrorKind::Config);
}

#[tokio::test(start_paused = true)]
async fn a_wrong_clock_is_corrected_when_a_role_is_assumed() {
    let now = seconds_since_1970(SystemTime::now());
    let date = http_date(now + 7200);
    let mut lab = dev(&format!("{BASE}{ROLE_OF_BASE}"));
    lab.credential.clock = SystemTime::now;
    let dates = [("date", date.as_str())];
    lab.fake.then_responds(STS, 403, &dates, refusal("SignatureDoesNotMatch"));
    // By the clock of this machine, the keys are valid for three hours.
    lab.fake.then_responds(STS, 200, &dates, assumed("AKDEV", 3 * HOUR));
    assert_eq!(signer(&lab.sign().await.unwrap()), "AKDEV");
    let asked = lab.fake.asked();
    assert_eq!(asked.len(), 2);
    assert_ne!(asked[0].headers["x-amz-date"], asked[1].headers["x-amz-date"]);
    // By the service's, it is one hour.
    advance(HOUR - CREDENTIAL_AHEAD + Duration::from_secs(1)).await;
    lab.sign().await.unwrap();
    assert_eq!(lab.fake.asked().len(), 3, "they are replaced in time");

    // The clock is right, and the keys are wrong: there is no second request.
    let lab = dev(&format!("{BASE}{ROLE_OF_BASE}"));
    lab.fake.responds(STS, 403, refusal("SignatureDoesNotMatch"));
    let error = lab.sign().await.unwrap_err();
    assert!(error.message().contains("SignatureDoesNotMatch"), "{error}");
    assert_eq!(lab.fake.asked().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn keys_that_look_expired_by_a_clock_that_is_ahead_are_used() {
    let mut lab = Lab::new(&[]);
    pod(&mut lab, "eyJ.one");
    // This machine is two hours ahead of the service.
    let date = http_date(seconds_since_1970(SystemTime::now()) - 7200);
    let body = assumed_until("AKPOD", seconds_since_1970(SystemTime::now()) - 3600);
    lab.fake.responds_with(STS, 200, &[("date", &date)], body);
    assert_eq!(signer(&lab.sign().await.unwrap()), "AKPOD");
}

#[tokio::test(start_paused = true)]
async fn refusals_of_a_role_show_codes_only() {
    for (status, code, is_temporary) in [
        (403, "AccessDenied", false),
        (400, "ExpiredTokenException", false),
        (400, "InvalidIdentityToken", false),
        (400, "IDPCommunicationError", true),
        (400, "Throttling", true),
        (500, "InternalFailure", true),
    ] {
        let mut lab = Lab::new(&[]);
        pod(&mut lab, "eyJ.secret");
        lab.fake.responds(STS, status, refusal(code));
        let error = lab.sign().await.unwrap_err();
        assert!(error.message().contains(code) && error.message().contains("role/pod"), "{error}");
        assert_eq!(error.is_retryable(), is_temporary, "{error}");
        assert!(!format!("{error:?}").contains("TOKEN-TEXT"), "{error:?}");
        assert!(!format!("{error:?}").contains("eyJ.secret"), "{error:?}");
    }
    for body in ["<html>down</html>", "", r#"{"Error":{"Code":"eyJ.secret is bad"}}"#] {
        let mut lab = Lab::new(&[]);
        pod(&mut lab, "eyJ.secret");
        lab.fake.responds(STS, 502, body);
        let error = lab.sign().await.unwrap_err();
        assert!(error.is_retryable() && error.message().contains("502"), "{error}");
        assert!(!format!("{error:?}").contains("eyJ.secret"));
    }
}

#[tokio::test(start_paused = true)]
async fn hostile_responses_of_the_service_for_roles_are_errors_that_show_no_keys() {
    let whole = assumed("AKSECRET", HOUR);
    let bodies = [
        String::new(),
        "{}".to_owned(),
        whole[..whole.len() / 2].to_owned(),
        format!("{whole}}}"),
        whole.replace("\"SecretAccessKey\"", "\"SecretAccessKeys\""),
        whole.replace("\"S-AKSECRET\"", "1"),
        whole.replace("\"Expiration\":", "\"Expiration\":-"),
        whole.replace("\"Expiration\":", "\"Expiration\":\"soon\",\"x\":"),
        whole.replace("\"Expiration\":", "\"Expiration\":1e300,\"x\":"),
        whole.replace("\"Expiration\":", "\"Expires\":"),
        whole.replace("\"AKSECRET\"", "\"\""),
        whole.replace("Result", "Results"),
        "<AssumeRoleResponse><AssumeRoleResult><Credentials><AccessKeyId>AKSECRET</AccessKeyId></Credentials></AssumeRoleResult></AssumeRoleResponse>".to_owned(),
        assumed("AKSECRET", Duration::ZERO),
        format!("{whole}{}", " ".repeat(MAX_CREDENTIAL_BODY_BYTES)),
        "[".repeat(20_000),
        "{\"a\":".repeat(10_000),
    ];
    for body in bodies {
        let mut lab = Lab::new(&[]);
        pod(&mut lab, "eyJ.secret");
        lab.fake.responds(STS, 200, body.clone());
        let error = lab.sign().await.unwrap_err();
        assert!(!format!("{error:?}").contains("AKSECRET"), "{error:?}");
        assert!(!format!("{error:?}").contains("eyJ.secret"), "{error:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_service_that_stands_in_for_amazons_may_write_the_time_as_text() {
    let lab = dev(&format!("{BASE}{ROLE_OF_BASE}"));
    let text = "\"Expiration\":\"2099-01-01T02:00:00+02:00\",\"x\":";
    lab.fake.responds(STS, 200, assumed("AKDEV", HOUR).replace("\"Expiration\":", text));
    assert_eq!(signer(&lab.sign().await.unwrap()), "AKDEV");
}

#[tokio::test(start_paused = true)]
async fn a_slow_service_for_roles_is_an_error_after_a_limit() {
    let lab = dev(&format!("{BASE}{ROLE_OF_BASE}"));
    lab.fake.responds(STS, 200, assumed("AKDEV", HOUR));
    lab.fake.is_slow(HOUR);
    let began = Instant::now();
    assert_eq!(lab.sign().await.unwrap_err().kind(), ErrorKind::Timeout);
    assert!(began.elapsed() <= CREDENTIAL_REQUEST_WAIT.min(CREDENTIAL_WAIT));
}
