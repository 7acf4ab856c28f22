#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

use std::fs;

use super::*;
use crate::folder::Folder;

/// The files below a folder, and what could not be visited.
fn visited(folder: &Folder) -> (Vec<String>, Vec<String>) {
    visited_below(folder.path(), folder)
}

fn visited_below(place: &Path, folder: &Folder) -> (Vec<String>, Vec<String>) {
    let start = format!("{}/", folder.path().display());
    let (mut files, mut errors) = (Vec::new(), Vec::new());
    match Walk::new(place, 10_000) {
        Err(error) => errors.push(error.to_string().replace(&start, "")),
        Ok(walk) => {
            for found in walk {
                match found {
                    Ok(path) => files.push(path.display().to_string().replace(&start, "")),
                    Err(error) => errors.push(error.to_string().replace(&start, "")),
                }
            }
        }
    }
    (files, errors)
}

/// A folder in which the files of the user and of the folders above have no rules.
fn repository() -> Folder {
    let folder = Folder::new();
    folder.write(".git/HEAD", "ref: refs/heads/main\n");
    folder
}

#[test]
fn files_come_in_the_order_of_their_names_without_hidden_ones_and_links() {
    let folder = repository();
    for name in ["b.rs", "a/z.rs", "a/y/x.rs", ".env", ".config/key", "c.rs"] {
        folder.write(name, "");
    }
    #[cfg(unix)]
    std::os::unix::fs::symlink("/etc", folder.path().join("etc")).unwrap();
    let (files, errors) = visited(&folder);
    assert_eq!(files, ["a/y/x.rs", "a/z.rs", "b.rs", "c.rs"]);
    assert!(errors.is_empty(), "{errors:?}");
}

#[test]
fn the_nearest_rule_decides_and_ignore_is_stronger_than_git() {
    let folder = repository();
    folder.write(".gitignore", "\u{feff}*.log\ntarget/\n/top\n!.kept\n");
    folder.write(".ignore", "!loud.log\n");
    folder.write(".git/info/exclude", "mine\n*.rs\n");
    folder.write("a/.gitignore", "!b.log\n!*.rs\n");
    let names = [
        "x.log", "loud.log", "target/o", "top", "a/top", ".kept", "mine", "a/b.log", "a/c.log",
        "a/m.rs", "m.rs",
    ];
    for name in names {
        folder.write(name, "");
    }
    let found = visited(&folder).0;
    assert_eq!(found, [".kept", "a/b.log", "a/m.rs", "a/top", "loud.log"]);
    // From a subfolder the rules of the folders above hold too.
    assert_eq!(visited_below(&folder.path().join("a"), &folder).0, ["a/b.log", "a/m.rs", "a/top"]);
    // They end with the repository.
    folder.write("a/.git/HEAD", "ref: refs/heads/main\n");
    assert_eq!(
        visited_below(&folder.path().join("a"), &folder).0,
        ["a/b.log", "a/c.log", "a/m.rs", "a/top"]
    );
}

#[test]
fn a_worktree_has_the_rules_of_its_repository() {
    let folder = Folder::new();
    folder.write("main/.git/info/exclude", "secret\n");
    folder.write("main/.git/worktrees/w/commondir", "../..\n");
    let place = folder.path().join("main/.git/worktrees/w");
    folder.write("w/.git", format!("gitdir: {}\n", place.display()));
    folder.write("w/secret", "");
    folder.write("w/file", "");
    assert_eq!(visited_below(&folder.path().join("w"), &folder).0, ["w/file"]);
}

#[cfg(unix)]
#[test]
fn rules_that_are_devices_pipes_or_too_large_are_errors_and_their_folder_is_not_visited() {
    let large = "#".repeat(2 << 20);
    let long = "a\n".repeat(10_001);
    for name in [".gitignore", ".ignore", ".git/info/exclude"] {
        for (kind, expected) in [
            ("zero", "a pipe or a device"),
            ("pipe", "a pipe or a device"),
            ("large", "1 MB"),
            ("long", "10,000 lines"),
        ] {
            let folder = repository();
            folder.write("kept/file", "");
            folder.write("bad/.git/HEAD", "ref: refs/heads/main\n");
            folder.write("bad/.git/info/other", "");
            folder.write("bad/secret", "");
            let place = folder.path().join("bad").join(name);
            match kind {
                "zero" => std::os::unix::fs::symlink("/dev/zero", &place).unwrap(),
                "pipe" => {
                    assert!(
                        std::process::Command::new("mkfifo")
                            .arg(&place)
                            .status()
                            .unwrap()
                            .success()
                    );
                }
                "large" => fs::write(&place, &large).unwrap(),
                _ => fs::write(&place, &long).unwrap(),
            }
            let (files, errors) = visited(&folder);
            assert_eq!(files, ["kept/file"], "{name}: {kind}");
            assert_eq!(errors.len(), 1, "{name}: {kind}: {errors:?}");
            assert!(errors[0].contains(name) && errors[0].contains(expected), "{errors:?}");
            // Also if it is the first folder, or one above it.
            for place in ["bad", "bad/below"] {
                fs::create_dir_all(folder.path().join("bad/below")).unwrap();
                let (files, errors) = visited_below(&folder.path().join(place), &folder);
                assert!(files.is_empty() && errors.len() == 1, "{place}: {files:?} {errors:?}");
            }
        }
    }
}

#[test]
fn rules_take_memory_only_on_the_way_to_a_file() {
    let folder = repository();
    let rules: String = (0..4_000).map(|number| format!("{number}*[a-z]?.txt\n")).collect();
    for name in ["a", "b", "c", "d"] {
        folder.write(format!("{name}/.gitignore"), &rules);
        folder.write(format!("{name}/file"), "");
    }
    let (files, errors) = visited(&folder);
    assert_eq!(files, ["a/file", "b/file", "c/file", "d/file"]);
    assert!(errors.is_empty(), "{errors:?}");
    for name in ["a/1", "a/1/2"] {
        folder.write(format!("{name}/.gitignore"), &rules);
        folder.write(format!("{name}/file"), "");
    }
    let (files, errors) = visited(&folder);
    assert_eq!(files, ["a/1/file", "a/file", "b/file", "c/file", "d/file"]);
    assert!(errors[0].contains("a/1/2/.gitignore: more than 10,000 lines"), "{errors:?}");
}

#[test]
fn patterns_of_any_shape_are_bounded_before_they_are_parsed() {
    for pattern in [
        "{a,".repeat(200),
        "{a,".repeat(1_000_000),
        format!("{}{}", "{a,".repeat(17), "}".repeat(17)),
        "[".repeat(5_000),
        "*".repeat(1 << 20),
        "**/".repeat(1 << 19),
    ] {
        assert!(pattern::parse(&pattern).is_err(), "{pattern:.20}");
        let folder = repository();
        folder.write(".gitignore", format!("{pattern}\nsecret\n"));
        folder.write("secret", "");
        let (files, errors) = visited(&folder);
        assert!(files.is_empty(), "{files:?} {errors:?}");
    }
    for pattern in ["{a,b{c,d}}*.rs", "src/**/*.rs", "[!a]?", "\\{a"] {
        assert!(pattern::parse(pattern).is_ok(), "{pattern}");
    }
}

#[test]
fn folders_that_are_too_deep_or_too_full_are_errors() {
    let folder = repository();
    folder.write(format!("{}file", "d/".repeat(70)), "");
    folder.write("file", "");
    let (files, errors) = visited(&folder);
    assert_eq!(files, ["file"]);
    assert!(errors[0].ends_with("deeper than 64 folders"), "{errors:?}");
    let folder = repository();
    for number in 0..20 {
        folder.write(format!("full/{number}"), "");
    }
    let walk = Walk::new(folder.path(), 10).unwrap();
    let found: Vec<_> = walk.collect();
    assert!(
        matches!(&found[..], [Err(error)] if error.to_string().ends_with("too many files and folders"))
    );
}
