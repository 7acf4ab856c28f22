#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

use std::fs;

use super::edit::{apply, edit};
use super::search::{Search, find};
use super::tests::Place;

impl Place {
    fn edit(&self, path: &str, old: &str, new: &str) -> Result<String, String> {
        apply(&self.root(), &edit(path, old, new)).map_err(|error| error.message().to_owned())
    }

    fn read(&self, path: &str) -> String {
        self.0.read(path).unwrap()
    }
}

const LINES: &str = "one\ntwo\ntwo too\n";

#[test]
fn one_passage_is_replaced_and_nothing_else() {
    let place = Place::new(LINES);
    assert_eq!(place.edit("a.txt", "two too", "three").unwrap(), "edited `a.txt`");
    assert_eq!(place.read("in/a.txt"), "one\ntwo\nthree\n");
    assert_eq!(fs::read_dir(place.0.join("in")).unwrap().count(), 2, "no temporary file is left");
}

#[test]
fn a_passage_must_occur_exactly_once() {
    let place = Place::new(LINES);
    assert!(place.edit("a.txt", "two", "x").unwrap_err().contains("occurs 2 times"));
    assert!(place.edit("a.txt", "four", "x").unwrap_err().contains("does not occur"));
    assert!(place.edit("none.txt", "x", "y").unwrap_err().contains("does not exist"));
    assert_eq!(place.read("in/a.txt"), "one\ntwo\ntwo too\n");
}

#[test]
fn a_new_file_is_created_with_its_folders_and_an_existing_one_is_kept() {
    let place = Place::new(LINES);
    assert_eq!(place.edit("new/deep/b.txt", "", "text").unwrap(), "created `new/deep/b.txt`");
    assert_eq!(place.read("in/new/deep/b.txt"), "text");
    assert!(place.edit("a.txt", "", "text").unwrap_err().contains("exists"));
    assert!(place.edit("sub", "", "text").unwrap_err().contains("exists"));
}

#[test]
fn nothing_outside_the_folder_is_changed() {
    let place = Place::new(LINES);
    for path in ["../secret.txt", "sub/../../secret.txt", "/etc/hosts", "../new.txt", "sub/../../x"]
    {
        let error = place.edit(path, "secret", "x").unwrap_err();
        assert_eq!(error, format!("`{path}` is outside the folder"));
        let error = place.edit(path, "", "x").unwrap_err();
        assert_eq!(error, format!("`{path}` is outside the folder"));
    }
    for path in ["", ".", "sub/../b.txt", "sub/.."] {
        assert!(place.edit(path, "", "x").is_err(), "{path}");
    }
    assert_eq!(place.read("secret.txt"), "secret");
}

#[cfg(unix)]
#[test]
fn links_that_lead_out_of_the_folder_are_not_followed() {
    let place = Place::new(LINES);
    let inside = place.0.join("in");
    std::os::unix::fs::symlink(place.0.join("secret.txt"), inside.join("link.txt")).unwrap();
    std::os::unix::fs::symlink(place.0.path(), inside.join("up")).unwrap();
    std::os::unix::fs::symlink(place.0.join("nowhere"), inside.join("dangling")).unwrap();
    for (path, old) in
        [("link.txt", "secret"), ("up/secret.txt", "secret"), ("up/new.txt", ""), ("dangling", "")]
    {
        assert!(place.edit(path, old, "x").is_err(), "{path}");
    }
    assert_eq!(place.read("secret.txt"), "secret");
    assert!(!place.0.join("new.txt").exists() && !place.0.join("nowhere").exists());
}

#[cfg(unix)]
#[test]
fn an_edit_keeps_the_permissions_of_the_file() {
    use std::os::unix::fs::PermissionsExt as _;
    let place = Place::new(LINES);
    let path = place.0.join("in/a.txt");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    place.edit("a.txt", "one", "1").unwrap();
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o755);
}

#[test]
fn a_search_finds_lines_with_their_numbers() {
    let place = Place::new(LINES);
    place.0.write("in/sub/b.txt", "Two\n");
    place.0.write("in/binary", b"two\0");
    place.0.write("in/.gitignore", "ignored.txt\n");
    place.0.write("in/ignored.txt", "two\n");
    let search = |text: &str, path: Option<&str>, ignore_case| {
        let search = Search { text: text.to_owned(), path: path.map(str::to_owned), ignore_case };
        find(&place.root(), &search).map_err(|error| error.message().to_owned())
    };
    assert_eq!(search("two", None, false).unwrap(), "a.txt:2: two\na.txt:3: two too");
    assert_eq!(search("two", Some("sub"), true).unwrap(), "sub/b.txt:1: Two");
    assert_eq!(search("nine", None, false).unwrap(), "[`nine` does not occur in any file]");
    assert!(search("", None, false).is_err());
    assert!(search("x", Some(".."), false).unwrap_err().contains("outside"));
}

#[test]
fn a_search_with_many_matches_is_cut() {
    let place = Place::new(LINES);
    place.0.write("in/many.txt", "match\n".repeat(10_000));
    place.0.write("in/z.txt", format!("match{}", "x".repeat(100_000)));
    let search = Search { text: "match".to_owned(), path: None, ignore_case: false };
    let found = find(&place.root(), &search).unwrap();
    assert_eq!(found.lines().count(), 201);
    assert!(found.ends_with("[more than 200 lines match; search for a longer text]"));
}
