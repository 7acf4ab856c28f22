use std::path::{Path, PathBuf};

use super::Root;
use super::list::{MAX_ENTRIES, list};
use super::read::{Asked, MAX_BYTES, read};

/// A folder with a folder `in` that may be read, beside a secret.
struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Self {
        let place =
            std::env::temp_dir().join(format!("agentloop-run-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&place);
        std::fs::create_dir_all(place.join("in/sub")).unwrap();
        std::fs::write(place.join("secret.txt"), "secret").unwrap();
        std::fs::write(place.join("in/a.txt"), "one\ntwo\nthree\n").unwrap();
        Self(place)
    }

    fn root(&self) -> Root {
        Root::open(&self.0.join("in")).unwrap()
    }

    fn write(&self, path: &str, bytes: &[u8]) {
        std::fs::write(self.0.join("in").join(path), bytes).unwrap();
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn text(root: &Root, path: &str) -> Result<String, String> {
    let asked = Asked { path: path.to_owned(), from_line: None, to_line: None };
    read(root, &asked).map_err(|error| error.message().to_owned())
}

#[test]
fn a_file_is_read_by_its_path_within_the_folder() {
    let place = Place::new("read");
    let root = place.root();
    let whole = place.0.canonicalize().unwrap().join("in/a.txt");
    for path in ["a.txt", "./sub/../a.txt", whole.to_str().unwrap()] {
        assert_eq!(text(&root, path).unwrap(), "one\ntwo\nthree\n", "{path}");
    }
}

#[test]
fn nothing_leads_out_of_the_folder_and_nothing_is_learnt_of_what_is_there() {
    let place = Place::new("out");
    let root = place.root();
    let whole = place.0.canonicalize().unwrap().join("secret.txt");
    for path in ["../secret.txt", "sub/../../secret.txt", "../nothing", "/etc/passwd", "/nothing"] {
        assert_eq!(text(&root, path).unwrap_err(), format!("`{path}` is outside of the folder"));
    }
    assert!(text(&root, whole.to_str().unwrap()).unwrap_err().contains("outside"));
    assert!(list(&root, "..").is_err());
}

#[cfg(unix)]
#[test]
fn links_that_lead_out_are_refused_and_those_within_are_followed() {
    use std::os::unix::fs::symlink;
    let place = Place::new("links");
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
        "a.txt 14\nout.txt (a link that leads out of the folder)\nsame.txt 14\nsub/\n\
         up (a link that leads out of the folder)"
    );
}

#[test]
fn lines_are_chosen_and_named() {
    let place = Place::new("lines");
    let root = place.root();
    let lines = |from, to| {
        let asked = Asked { path: "a.txt".to_owned(), from_line: from, to_line: to };
        read(&root, &asked).map_err(|error| error.message().to_owned())
    };
    assert_eq!(lines(Some(2), None).unwrap(), "two\nthree\n[lines 2 to 3 of 3]");
    assert_eq!(lines(None, Some(1)).unwrap(), "one\n[lines 1 to 1 of 3]");
    assert_eq!(lines(Some(3), Some(99)).unwrap(), "three\n[lines 3 to 3 of 3]");
    assert!(lines(Some(4), None).unwrap_err().contains("the file has 3"));
    assert!(lines(Some(3), Some(2)).is_err());
}

#[test]
fn what_is_no_text_too_large_or_no_file_is_told() {
    let place = Place::new("kinds");
    place.write("picture", b"\x89PNG\xff");
    place.write("zeros", b"a\0b");
    place.write("empty", b"");
    let large = std::fs::File::create(place.0.join("in/large")).unwrap();
    large.set_len(MAX_BYTES + 1).unwrap();
    let root = place.root();
    for (path, words) in [
        ("picture", "no UTF-8 text"),
        ("zeros", "no UTF-8 text"),
        ("large", "larger than"),
        ("sub", "a folder"),
        ("nothing", "there is no `nothing`"),
        ("a.txt/b", "there is no"),
    ] {
        let told = text(&root, path).unwrap_err();
        assert!(told.contains(words), "{path}: {told}");
    }
    assert_eq!(text(&root, "empty").unwrap(), "[`empty` is empty]");
}

#[test]
fn a_long_list_is_cut_and_says_so() {
    let place = Place::new("long");
    for number in 0..MAX_ENTRIES {
        place.write(&format!("{number:05}"), b"");
    }
    let listed = list(&place.root(), "").unwrap();
    assert_eq!(listed.lines().count(), MAX_ENTRIES + 1);
    assert!(listed.ends_with("[2 more are left out]"), "{}", &listed[listed.len() - 60..]);
    assert_eq!(list(&place.root(), "sub").unwrap(), "[`sub` is empty]");
    assert!(list(&place.root(), "a.txt").is_err());
}

#[test]
fn a_root_that_is_no_folder_is_refused() {
    assert!(Root::open(Path::new("/nowhere/at/all")).is_err());
    let place = Place::new("root");
    assert!(Root::open(&place.0.join("secret.txt")).is_err());
}
