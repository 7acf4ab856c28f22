//! Programs that print keys (`credential_process`).

use super::*;
use crate::limits::CREDENTIAL_PROGRAM_WAIT;
use crate::patience::wait_until;
use crate::programs::write_program;

/// Returns a lab whose profile starts this script, with these arguments.
fn lab(script: &str, arguments: &str) -> Lab {
    let lab = Lab::new(&[]);
    let path = script_file(&lab, script);
    lab.write("config", &format!("[default]\ncredential_process = '{path}' {arguments}\n"));
    lab
}

fn script_file(lab: &Lab, script: &str) -> String {
    let path = lab.world.home.0.join("bin folder/keys");
    write_program(&path, &format!("#!/bin/sh\n{script}\n"));
    path.display().to_string()
}

fn printed(id: &str, end: &str) -> String {
    format!(
        r#"{{"Version": 1, "AccessKeyId": "{id}", "SecretAccessKey": "S", "SessionToken": "T-{id}"{end}}}"#
    )
}

/// Prints its file, and writes down its folder and its arguments.
const SCRIPT: &str = "dir=$(dirname \"$0\")/..; printf '%s\\n' \"$PWD\" \"$@\" >> \"$dir/args\"; cat \"$dir/answer.json\"";

#[tokio::test]
async fn a_program_prints_keys_and_is_started_without_a_shell() {
    let lab = lab(SCRIPT, r#"--role "a b" '$(id)' | ~"#);
    lab.world.home.write("answer.json", &printed("AKRUN", ""));
    assert!(lab.check().is_ok());
    assert!(!lab.world.home.0.join("args").exists(), "a check does not start it");
    for _ in 0..2 {
        let request = lab.sign().await.unwrap();
        assert_eq!(signer(&request), "AKRUN");
        assert_eq!(request.headers()["x-amz-security-token"], "T-AKRUN");
    }
    let args = std::fs::read_to_string(lab.world.home.0.join("args")).unwrap();
    assert_eq!(args, "/\n--role\na b\n$(id)\n|\n~\n", "it is started once");
}

#[tokio::test]
async fn keys_of_a_program_are_kept_until_shortly_before_their_end() {
    let lab = lab(SCRIPT, "");
    let now = seconds_since_1970(SystemTime::now());
    // The time of a zone that is two hours ahead. The keys are due already, and valid.
    let end = write_rfc3339(now + 7200 + 60).replace('Z', "+02:00");
    let end = format!(r#", "Expiration": "{end}""#);
    lab.world.home.write("answer.json", &printed("AKONE", &end));
    assert_eq!(signer(&lab.sign().await.unwrap()), "AKONE");
    lab.world.home.write("answer.json", "{}");
    assert_eq!(
        signer(&lab.sign().await.unwrap()),
        "AKONE",
        "while it fails, the old keys are used"
    );
    let end = write_rfc3339(now - 60);
    lab.world.home.write("answer.json", &printed("AKOLD", &format!(r#", "Expiration": "{end}""#)));
    let fresh = AwsCredential::new(AwsSettings::default());
    let error = lab.world.authorize(&fresh, URL).await.unwrap_err();
    assert!(error.message().contains("expired"), "{error}");
}

#[tokio::test]
async fn a_program_that_fails_or_prints_something_else_is_an_error_without_its_output() {
    for script in [
        "echo SECRET; exit 1",
        "echo SECRET >&2; exit 1",
        "echo SECRET",
        "exit 0",
        r#"echo '{"Version":2,"AccessKeyId":"SECRET","SecretAccessKey":"SECRET"}'"#,
        r#"echo '{"AccessKeyId":"SECRET","SecretAccessKey":"SECRET"}'"#,
        r#"echo '{"Version":1,"AccessKeyId":"SECRET"}'"#,
        r#"echo '{"Version":1,"AccessKeyId":"SECRET","SecretAccessKey":"SECRET","Expiration":"soon"}'"#,
        // More than is accepted, without an end.
        "while :; do echo SECRETSECRETSECRETSECRETSECRETSECRET; done",
    ] {
        let error = lab(script, "").sign().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Auth, "{script}: {error}");
        assert!(!format!("{error:?} {error}").contains("SECRET"), "{error}");
    }
}

#[tokio::test]
async fn a_program_is_found_by_its_whole_path_or_on_the_path() {
    let mut found = lab(SCRIPT, "");
    found.world.home.write("answer.json", &printed("AKRUN", ""));
    found.write("config", "[default]\ncredential_process = keys\n");
    let folder = found.world.home.0.join("bin folder").display().to_string();
    found.world.set("PATH", &format!("relative:{folder}"));
    assert_eq!(signer(&found.sign().await.unwrap()), "AKRUN");
    for line in ["./keys", "bin/keys", "../keys", "nowhere-keys", "'keys", "\"\"", "' '"] {
        found.write("config", &format!("[default]\ncredential_process = {line}\n"));
        let fresh = AwsCredential::new(AwsSettings::default());
        let error = found.world.authorize(&fresh, URL).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::MissingKey, "{line}");
        assert!(error.message().contains("credential_process"), "{error}");
    }
}

#[tokio::test]
async fn a_program_of_a_file_in_the_current_folder_is_not_started() {
    let mut lab = lab("touch \"$(dirname \"$0\")/../started\"", "");
    for variable in ["AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"] {
        lab.world.set(variable, "some/project/file");
        if variable == "AWS_SHARED_CREDENTIALS_FILE" {
            let path = lab.world.home.0.join(".aws/config").display().to_string();
            lab.world.set("AWS_CONFIG_FILE", &path);
            assert!(lab.sign().await.unwrap_err().hint().unwrap().contains("absolute"));
        }
        assert!(lab.sign().await.is_err());
    }
    assert!(!lab.world.home.0.join("started").exists());
}

#[tokio::test]
async fn keys_of_the_file_with_keys_come_before_a_program_and_those_of_the_other_file_after_it() {
    let keys = "aws_access_key_id = AKFILE\naws_secret_access_key = S\n";
    let first = lab(SCRIPT, "");
    first.world.home.write("answer.json", &printed("AKRUN", ""));
    first.write("credentials", &format!("[default]\n{keys}"));
    assert_eq!(signer(&first.sign().await.unwrap()), "AKFILE");
    let second = lab(SCRIPT, &format!("\n{keys}"));
    second.world.home.write("answer.json", &printed("AKRUN", ""));
    assert_eq!(signer(&second.sign().await.unwrap()), "AKRUN");
}

#[tokio::test]
async fn a_program_can_be_the_source_of_a_role() {
    let lab = Lab::new(&[("AWS_PROFILE", "dev"), ("AWS_ENDPOINT_URL_STS", "https://sts.test")]);
    let path = script_file(&lab, SCRIPT);
    lab.world.home.write("answer.json", &printed("AKRUN", ""));
    lab.write("config", &format!("[profile dev]\nrole_arn = arn:aws:iam::1:role/dev\nsource_profile = run\n[profile run]\ncredential_process = '{path}'\n"));
    lab.fake.responds("POST https://sts.test/", 403, "");
    assert!(lab.sign().await.is_err());
    let asked = lab.fake.asked();
    assert_eq!(asked[0].headers["x-amz-security-token"], "T-AKRUN");
}

/// Returns whether a process is there and is not one that has ended and waits for its parent.
fn is_alive(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"));
    stat.is_ok_and(|stat| !stat.contains(") Z "))
}

#[cfg(target_os = "linux")]
#[tokio::test(start_paused = true)]
async fn a_program_that_hangs_is_ended_with_what_it_started() {
    let lab = lab(
        "dir=$(dirname \"$0\")/..\nsleep 1000 &\necho $! > \"$dir/pids.new\"\nsetsid sleep 1000 &\necho $! >> \"$dir/pids.new\"\nmv \"$dir/pids.new\" \"$dir/pids\"\nwait",
        "",
    );
    let file = lab.world.home.0.join("pids");
    let began = Instant::now();
    let mut failing = std::pin::pin!(lab.sign());
    // The clock goes on by itself while all wait, so the program is given the time to start.
    while !file.exists() {
        assert!(futures_util::poll!(&mut failing).is_pending());
        std::thread::yield_now();
    }
    let pids = std::fs::read_to_string(&file).unwrap();
    let error = failing.await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout, "{error}");
    assert!(began.elapsed() <= CREDENTIAL_PROGRAM_WAIT + Duration::from_millis(10));
    wait_until("all processes end", || !pids.lines().any(is_alive));
}
