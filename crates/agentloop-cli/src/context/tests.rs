#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

use std::path::Path;

use super::*;
use crate::folder::Folder;

fn read(source: impl AsRef<Path>) -> Result<Context, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(Context::read(&[source.as_ref().to_string_lossy().into_owned()]))
}

fn names(context: &Context, folder: &Folder) -> Vec<String> {
    let start = format!("{}/", folder.path().display());
    context.items.iter().map(|item| item.name.replace(&start, "")).collect()
}

fn message(result: Result<Context, Failure>) -> String {
    match result {
        Err(Failure::Input { message, .. }) => message,
        other => panic!("expected wrong input, got {other:?}"),
    }
}

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";

#[test]
fn a_text_file_is_sent_as_text_with_its_name() {
    let folder = Folder::new();
    let path = folder.write("notes.md", "\u{feff}# Notes\n");
    let parts = read(&path).unwrap().into_parts();
    let [ContentPart::Text(text)] = &parts[..] else { panic!("{parts:?}") };
    let path = path.display();
    assert_eq!(text.text, format!("`{path}`:\n\n```md\n# Notes\n```\n"));
}

#[test]
fn an_image_is_a_part_whatever_its_name_says() {
    let folder = Folder::new();
    let path = folder.write("picture.txt", PNG);
    let parts = read(&path).unwrap().into_parts();
    assert!(matches!(&parts[..], [ContentPart::ImageUrl { .. }]), "{parts:?}");
}

#[test]
fn other_binary_files_are_refused_by_name() {
    let folder = Folder::new();
    let path = folder.write("data.bin", [0, 159, 146, 150]);
    assert!(message(read(&path)).contains("data.bin: neither text nor an image"));
}

#[test]
fn a_folder_leaves_out_what_git_ignores_and_what_is_not_text() {
    let folder = Folder::new();
    folder.write("b.rs", "b");
    folder.write("a/deep.rs", "a");
    folder.write("target/out.rs", "ignored");
    folder.write(".gitignore", "target/\n*.log\n");
    folder.write(".env", "KEY=secret");
    folder.write("noise.log", "ignored");
    folder.write("picture.png", PNG);
    let context = read(folder.join("")).unwrap();
    assert_eq!(names(&context, &folder), ["a/deep.rs", "b.rs"]);
    assert_eq!(context.skipped.len(), 1, "{:?}", context.skipped);
    assert!(context.skipped[0].ends_with("picture.png (not text)"));
}

#[test]
fn a_pattern_matches_across_folders_only_with_two_stars() {
    let folder = Folder::new();
    for name in ["a.rs", "b.txt", "src/c.rs", "src/deep/d.rs"] {
        folder.write(name, "x");
    }
    let found = |pattern: &str| names(&read(folder.join(pattern)).unwrap(), &folder);
    assert_eq!(found("*.rs"), ["a.rs"]);
    assert_eq!(found("**/*.rs"), ["a.rs", "src/c.rs", "src/deep/d.rs"]);
    assert_eq!(found("src/*"), ["src/c.rs"]);
    assert_eq!(found("{a,src/c}.r?"), ["a.rs", "src/c.rs"]);
    assert!(message(read(folder.join("*.py"))).contains("no file matches"));
    assert!(message(read(folder.join("[z-a]*"))).contains("not a pattern"));
}

#[test]
fn a_file_whose_name_looks_like_a_pattern_is_read() {
    let folder = Folder::new();
    let path = folder.write("what[1]?.txt", "found");
    assert_eq!(read(&path).unwrap().items.len(), 1);
}

#[test]
fn a_missing_file_and_an_empty_folder_are_errors() {
    let folder = Folder::new();
    assert!(message(read(folder.join("none.txt"))).contains("none.txt: No such file"));
    assert!(message(read(folder.join(""))).contains("no text files"));
}

#[test]
fn a_text_beyond_the_limit_is_refused_and_skipped_in_a_folder() {
    let folder = Folder::new();
    let path = folder.write("large.txt", "x".repeat(MAX_TEXT_BYTES + 1));
    assert!(message(read(&path)).contains("more than the limit of 4.2 MB"));
    folder.write("small.txt", "x");
    let context = read(folder.join("")).unwrap();
    assert_eq!(names(&context, &folder), ["small.txt"]);
    assert!(context.skipped[0].contains("larger than 4.2 MB"), "{:?}", context.skipped);
}

#[cfg(unix)]
#[test]
fn a_folder_does_not_follow_symbolic_links() {
    let folder = Folder::new();
    let outside = Folder::new();
    let secret = outside.write("secret.txt", "secret");
    folder.write("a.txt", "a");
    std::os::unix::fs::symlink(&secret, folder.join("link.txt")).unwrap();
    std::os::unix::fs::symlink(outside.path(), folder.join("linked")).unwrap();
    std::os::unix::fs::symlink(folder.path(), folder.join("loop")).unwrap();
    assert_eq!(names(&read(folder.join("")).unwrap(), &folder), ["a.txt"]);
}

#[cfg(unix)]
#[test]
fn an_endless_file_and_a_pipe_are_refused() {
    assert!(message(read("/dev/zero")).contains("not a regular file"));
    let folder = Folder::new();
    let pipe = folder.path().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    assert!(message(read(&pipe)).contains("not a regular file"));
    // The names of a folder are a stranger's: what they lead to is not waited for.
    std::os::unix::fs::symlink("/dev/zero", folder.path().join(".gitignore")).unwrap();
    assert!(message(read(folder.path())).contains(".gitignore: it is a pipe or a device"));
}
