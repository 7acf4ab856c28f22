use std::path::Path;

use super::Root;
use super::list::{MAX_ENTRIES, list};
use super::read::{Asked, MAX_BYTES, read};
use crate::folder::Folder;

/// A folder that contains a secret and the folder `in`, which the tools may use.
pub(super) struct Place(pub(super) Folder);

impl Place {
    pub(super) fn new(text: &str) -> Self {
        let folder = Folder::with([("secret.txt", "secret"), ("in/a.txt", text)]);
        std::fs::create_dir(folder.join("in/sub")).unwrap();
        Self(folder)
    }

    pub(super) fn root(&self) -> Root {
        Root::open(&self.0.join("in")).unwrap()
    }
}

const LINES: &str = "one\ntwo\nthree\n";

fn text(root: &Root, path: &str) -> Result<String, String> {
    let asked = Asked { path: path.to_owned(), from_line: None, to_line: None };
    read(root, &asked).map_err(|error| error.message().to_owned())
}

#[test]
fn a_file_is_read_by_its_path_within_the_folder() {
    let place = Place::new(LINES);
    let root = place.root();
    let whole = place.0.path().canonicalize().unwrap().join("in/a.txt");
    for path in ["a.txt", "./sub/../a.txt", whole.to_str().unwrap()] {
        assert_eq!(text(&root, path).unwrap(), "one\ntwo\nthree\n", "{path}");
    }
}

#[test]
fn paths_outside_the_folder_are_refused_whether_they_exist_or_not() {
    let place = Place::new(LINES);
    let root = place.root();
    let whole = place.0.path().canonicalize().unwrap().join("secret.txt");
    for path in ["../secret.txt", "sub/../../secret.txt", "../nothing", "/etc/passwd", "/nothing"] {
        assert_eq!(text(&root, path).unwrap_err(), format!("`{path}` is outside the folder"));
    }
    assert!(text(&root, whole.to_str().unwrap()).unwrap_err().contains("outside"));
    assert!(list(&root, "..").is_err());
}

#[cfg(unix)]
#[test]
fn links_to_places_outside_are_refused_and_others_are_followed() {
    use std::os::unix::fs::symlink;
    let place = Place::new(LINES);
    let within = place.0.join("in");
    symlink("../secret.txt", within.join("out.txt")).unwrap();
    symlink("..", within.join("up")).unwrap();
    symlink("a.txt", within.join("same.txt")).unwrap();
    let root = place.root();
    assert!(text(&root, "out.txt").unwrap_err().contains("outside"));
    assert!(text(&root, "up/secret.txt").unwrap_err().contains("outside"));
    assert_eq!(text(&root, "same.txt").unwrap(), "one\ntwo\nthree\n");
    assert_eq!(
        list(&root, ".").unwrap(),
        "a.txt 14\nout.txt (a link to a place outside the folder)\nsame.txt 14\nsub/\n\
         up (a link to a place outside the folder)"
    );
}

#[test]
fn selected_lines_are_returned_with_their_numbers() {
    let place = Place::new(LINES);
    let root = place.root();
    let lines = |from, to| {
        let asked = Asked { path: "a.txt".to_owned(), from_line: from, to_line: to };
        read(&root, &asked).map_err(|error| error.message().to_owned())
    };
    assert_eq!(lines(Some(2), None).unwrap(), "two\nthree\n[lines 2 to 3 of 3]");
    assert_eq!(lines(None, Some(1)).unwrap(), "one\n[lines 1 to 1 of 3]");
    assert_eq!(lines(Some(3), Some(99)).unwrap(), "three\n[lines 3 to 3 of 3]");
    assert!(lines(Some(4), None).unwrap_err().contains("the file has 3 lines"));
    assert!(lines(Some(3), Some(2)).is_err());
}

#[test]
fn the_error_states_why_a_file_cannot_be_read() {
    let place = Place::new(LINES);
    place.0.write("in/picture", b"\x89PNG\xff");
    place.0.write("in/zeros", b"a\0b");
    place.0.write("in/empty", b"");
    let large = std::fs::File::create(place.0.join("in/large")).unwrap();
    large.set_len(MAX_BYTES + 1).unwrap();
    let root = place.root();
    for (path, words) in [
        ("picture", "not UTF-8 text"),
        ("zeros", "not UTF-8 text"),
        ("large", "larger than"),
        ("sub", "a folder"),
        ("nothing", "`nothing` does not exist"),
        ("a.txt/b", "does not exist"),
    ] {
        let message = text(&root, path).unwrap_err();
        assert!(message.contains(words), "{path}: {message}");
    }
    assert_eq!(text(&root, "empty").unwrap(), "[`empty` is empty]");
}

#[test]
fn a_long_list_is_truncated_and_reports_the_rest() {
    let place = Place::new(LINES);
    for number in 0..MAX_ENTRIES {
        place.0.write(format!("in/{number:05}"), "");
    }
    let listed = list(&place.root(), "").unwrap();
    assert_eq!(listed.lines().count(), MAX_ENTRIES + 1);
    assert!(listed.ends_with("[2 more entries are not shown]"), "{}", &listed[listed.len() - 60..]);
    assert_eq!(list(&place.root(), "sub").unwrap(), "[`sub` is empty]");
    assert!(list(&place.root(), "a.txt").is_err());
}

#[test]
fn a_root_that_is_not_a_folder_is_refused() {
    assert!(Root::open(Path::new("/nowhere/at/all")).is_err());
    let place = Place::new(LINES);
    assert!(Root::open(&place.0.join("secret.txt")).is_err());
}
