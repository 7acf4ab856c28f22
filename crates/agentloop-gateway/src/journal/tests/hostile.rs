//! Damaged files, and files of other programs.

use std::io::Write as _;

use super::*;

fn append(path: &Path, bytes: &[u8]) {
    fs::OpenOptions::new().append(true).open(path).unwrap().write_all(bytes).unwrap();
}

/// Writes three settled rows and one reservation, and returns the only segment.
fn filled(folder: &Folder) -> PathBuf {
    let journal = folder.open();
    for id in ["a", "b", "c"] {
        journal.reserve(&reserved(id)).unwrap();
        journal.settle(settled(id, 1));
    }
    journal.reserve(&reserved("d")).unwrap();
    drop(journal);
    folder.segments().remove(0)
}

#[test]
fn any_flipped_bit_loses_no_call() {
    let folder = Folder::new();
    let path = filled(&folder);
    let bytes = fs::read(&path).unwrap();
    // Every fifth byte, the first bytes of the file and all line breaks.
    let is_tried = |index: &usize| *index < 30 || index.is_multiple_of(5) || bytes[*index] == b'\n';
    for (index, bit) in (0..bytes.len()).filter(is_tried).map(|index| (index, index % 8)) {
        let mut flipped = bytes.clone();
        flipped[index] ^= 1 << bit;
        let folder = Folder::new();
        fs::create_dir_all(&folder.0).unwrap();
        fs::write(folder.0.join(path.file_name().unwrap()), &flipped).unwrap();
        let journal = folder.open();
        let mut ids = drain(&journal);
        ids.sort();
        ids.dedup();
        // Without its last line, a call is what it had reserved. Only the last line has no other line of its call.
        let missing: Vec<_> = ["a", "b", "c", "d"]
            .into_iter()
            .filter(|id| !ids.contains(&(*id).to_owned()))
            .collect();
        let is_last_line = bytes[index..].iter().filter(|byte| **byte == b'\n').count() == 1;
        assert!(missing.is_empty() || (missing == ["d"] && is_last_line), "{index} {missing:?}");
        let is_last_byte = index == bytes.len() - 1;
        assert!(is_last_byte || journal.health().damaged_lines >= 1, "{index}");
    }
}

#[test]
fn looking_for_lines_in_a_damaged_line_takes_little_time() {
    let text = b" R ".repeat(line::MAX_LINE / 3);
    assert_eq!(line::split_damaged(&text), None);
}

#[test]
fn files_of_others_stay_and_do_no_harm() {
    let folder = Folder::new();
    let path = filled(&folder);
    let others =
        ["keys.json", "journal-1.log", "journal-xxxxxxxxxxxx.log", "journal-000000000001.bak"];
    for name in others {
        fs::write(folder.0.join(name), b"whatever\n").unwrap();
    }
    // Segments that are empty or have something else in them, and a folder with the name of the next segment.
    fs::write(disk::segment_path(&folder.0, 2), b"").unwrap();
    fs::write(disk::segment_path(&folder.0, 3), b"\n\n\xff\xfe\0\n{}\n00000000 R {}\n").unwrap();
    fs::create_dir(disk::segment_path(&folder.0, 4)).unwrap();
    let journal = folder.open();
    assert_eq!(journal.health().damaged_lines, 5);
    assert_eq!(drain(&journal), ["a", "b", "c", "d"]);
    drop(journal);
    drop(folder.open());
    assert!(!path.exists());
    for name in others {
        assert!(folder.0.join(name).exists(), "{name}");
    }
}

#[test]
fn lines_that_make_no_sense_are_counted() {
    let folder = Folder::new();
    let path = filled(&folder);
    // Valid checksums, but not what this program writes.
    for body in [" R {}", " R []", " R ", " S 1", " S zz {}", " L 3", " A", " X 1", ""] {
        append(&path, format!("{:08x}{body}\n", crc32fast::hash(body.as_bytes())).as_bytes());
    }
    let journal = folder.open();
    assert_eq!(journal.health().damaged_lines, 9);
    assert_eq!(drain(&journal), ["a", "b", "c", "d"]);
}

#[test]
fn a_row_that_was_settled_twice_comes_with_its_first_end_first() {
    let folder = Folder::new();
    let journal = folder.open();
    journal.reserve(&reserved("a")).unwrap();
    journal.settle(settled("a", 1));
    journal.settle(settled("a", 2));
    journal.settle(settled("without reservation", 3));
    journal.release("a");
    journal.release("unknown");
    drop(journal);
    let rows = drain_rows(&folder.open());
    assert_eq!(rows, [settled("a", 1), settled("a", 2), settled("without reservation", 3)]);
}

#[test]
fn the_same_line_twice_is_one_row() {
    let folder = Folder::new();
    let path = filled(&folder);
    let bytes = fs::read(&path).unwrap();
    fs::write(disk::segment_path(&folder.0, 2), &bytes).unwrap();
    assert_eq!(drain(&folder.open()), ["a", "b", "c", "d"]);
}

#[test]
fn a_huge_number_of_a_row_does_not_stop_the_journal() {
    let folder = Folder::new();
    let path = filled(&folder);
    append(&path, &line::stored(line::MAX_NUMBER - 1));
    let journal = folder.open();
    // A line with a valid checksum is believed.
    assert_eq!(drain(&journal), ["d"]);
    journal.settle(settled("e", 1));
    assert_eq!(drain(&journal), ["e"]);
}

#[test]
fn a_segment_of_many_megabytes_without_lines_is_read_in_little_memory() {
    let folder = Folder::new();
    let path = filled(&folder);
    // A hole of zeros: it takes no space.
    let file = fs::OpenOptions::new().append(true).open(&path).unwrap();
    file.set_len(file.metadata().unwrap().len() + (1 << 26)).unwrap();
    append(&path, b"\n");
    append(&path, &{
        let mut line = line::settled(&settled("e", 1));
        line::set_number(&mut line, 4);
        line
    });
    let journal = folder.open();
    assert_eq!(journal.health().damaged_lines, 1);
    assert_eq!(drain(&journal), ["a", "b", "c", "e", "d"]);
}
