//! What every kind of file has in common. The tests of the stores open each of theirs.

use std::fs;

use super::*;
use crate::servers::folder::Folder;

const FORMAT: Format = Format {
    application: 0x414c_7478,
    migrations: &["CREATE TABLE one (x INTEGER)", "CREATE TABLE two (x INTEGER)"],
    settings: "",
    elsewhere: "choose another file",
};

#[test]
fn a_file_that_others_create_meanwhile_is_never_taken_for_one_of_another_program() {
    let folder = Folder::new();
    for round in 0..20 {
        let path = folder.join(format!("{round}.db"));
        std::thread::scope(|scope| {
            let open = || FORMAT.open(&path, BUSY).map(drop);
            let opened: Vec<_> = (0..4).map(|_| scope.spawn(open)).collect();
            for one in opened {
                one.join().unwrap().unwrap();
            }
        });
    }
}

#[test]
fn a_file_of_an_older_version_is_brought_up_to_date_once() {
    let folder = Folder::new();
    let path = folder.join("x.db");
    let old = Format { migrations: &FORMAT.migrations[..1], ..FORMAT };
    drop(old.open(&path, BUSY).unwrap());
    drop(FORMAT.open(&path, BUSY).unwrap());
    let reader = FORMAT.open_reader(&path).unwrap();
    reader.prepare("SELECT x FROM one, two").unwrap_err();
    reader.prepare("SELECT one.x FROM one, two").unwrap();
    reader.execute("INSERT INTO one VALUES (1)", []).unwrap_err();
    let error = old.open(&path, BUSY).unwrap_err();
    assert!(error.message().contains("format version 2"), "{error}");
}

#[cfg(unix)]
#[test]
fn a_file_of_another_user_keeps_its_permissions() {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

    // Only root can give a file away.
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let folder = Folder::new();
    let path = folder.join("x.db");
    let mode = |path: &Path| fs::metadata(path).unwrap().mode() & 0o777;
    drop(FORMAT.open(&path, BUSY).unwrap());
    fs::set_permissions(&path, fs::Permissions::from_mode(0o664)).unwrap();
    drop(FORMAT.open(&path, BUSY).unwrap());
    assert_eq!(mode(&path), 0o600);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o664)).unwrap();
    std::os::unix::fs::chown(&path, Some(65_534), Some(65_534)).unwrap();
    drop(FORMAT.open(&path, BUSY).unwrap());
    assert_eq!(mode(&path), 0o664);
}
