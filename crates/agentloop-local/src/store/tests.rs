use std::fs;

use super::*;

/// A folder that is removed at the end of a test.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("agentloop-{name}-{}", std::process::id()));
        drop(fs::remove_dir_all(&path));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn write(&self, path: &str, text: &str) -> PathBuf {
        let path = self.0.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.0));
    }
}

fn names(models: &[LocalModel]) -> Vec<&str> {
    models.iter().map(|model| model.name.as_str()).collect()
}

#[test]
fn files_of_the_folder_are_found_by_their_names() {
    let scratch = Scratch::new("folder");
    scratch.write("SmolLM2.gguf", "x");
    scratch.write("team/big-00001-of-00002.gguf", "x");
    scratch.write("team/big-00002-of-00002.gguf", "x");
    scratch.write("mmproj-vision.gguf", "x");
    scratch.write(".hidden.gguf.part", "x");
    scratch.write("notes.txt", "x");
    let folders = Folders::new(&scratch.0);
    assert_eq!(names(&folders.models()), ["SmolLM2", "team/big"]);
    for name in ["SmolLM2", "smollm2", "SMOLLM2.gguf"] {
        assert_eq!(folders.find(name).unwrap().name, "SmolLM2");
    }
}

#[test]
fn a_name_that_is_a_path_is_that_file() {
    let scratch = Scratch::new("path");
    let file = scratch.write("any.bin", "x");
    let found = Folders::default().find(file.to_str().unwrap()).unwrap();
    assert_eq!((found.path, found.source), (file, ModelSource::Path));
    let error = Folders::default().find("./no-such.gguf").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    let error = Folders::default().find(scratch.0.to_str().unwrap()).unwrap_err();
    assert!(error.message().contains("is not a file"), "{error}");
}

#[test]
fn the_cache_of_hugging_face_is_read() {
    let scratch = Scratch::new("hub");
    scratch.write("models--owner--repo/snapshots/abc/small-q8.gguf", "x");
    scratch.write("models--owner--repo/blobs/ignored.gguf", "x");
    scratch.write("datasets--owner--repo/snapshots/abc/ignored.gguf", "x");
    let folders = Folders::default().with_hugging_face(&scratch.0);
    let models = folders.models();
    assert_eq!(names(&models), ["small-q8"]);
    assert_eq!(models[0].source, ModelSource::HuggingFace);
}

#[test]
fn the_store_of_ollama_is_read() {
    let scratch = Scratch::new("ollama");
    let digest = "a".repeat(64);
    let manifest = format!(
        r#"{{"layers":[{{"mediaType":"application/vnd.ollama.image.license","digest":"sha256:{digest}"}},
           {{"mediaType":"application/vnd.ollama.image.model","digest":"sha256:{digest}"}}]}}"#
    );
    let library = "manifests/registry.ollama.ai/library";
    scratch.write(&format!("{library}/llama3.2/latest"), &manifest);
    scratch.write(&format!("{library}/llama3.2/1b"), &manifest);
    scratch.write(&format!("{library}/broken/latest"), "not JSON");
    scratch.write(&format!("blobs/sha256-{digest}"), "x");
    let folders = Folders::default().with_ollama(&scratch.0);
    assert_eq!(names(&folders.models()), ["llama3.2:1b", "llama3.2:latest"]);
    assert_eq!(folders.find("llama3.2").unwrap().name, "llama3.2:latest");
    assert!(folders.find("llama3.2:1b").unwrap().path.ends_with(format!("sha256-{digest}")));
}

#[test]
fn a_manifest_cannot_name_a_file_outside_of_the_store() {
    let scratch = Scratch::new("traversal");
    scratch.write("secret", "x");
    for digest in ["sha256:../secret", "sha256:/etc/passwd", "../../secret", "sha256:"] {
        let manifest = format!(
            r#"{{"layers":[{{"mediaType":"application/vnd.ollama.image.model","digest":"{digest}"}}]}}"#
        );
        scratch.write("manifests/registry.ollama.ai/library/m/latest", &manifest);
        assert!(Folders::default().with_ollama(&scratch.0).models().is_empty(), "{digest}");
    }
}

#[test]
fn the_first_of_two_models_with_the_same_name_counts() {
    let scratch = Scratch::new("twice");
    scratch.write("own/same.gguf", "x");
    scratch.write("hub/models--a--b/snapshots/1/same.gguf", "xx");
    let folders = Folders::new(scratch.0.join("own")).with_hugging_face(scratch.0.join("hub"));
    let models = folders.models();
    assert_eq!((models.len(), models[0].source), (1, ModelSource::Folder));
}

#[test]
fn an_unknown_name_lists_what_there_is() {
    let scratch = Scratch::new("unknown");
    (0..30).for_each(|index| drop(scratch.write(&format!("m{index:02}.gguf"), "x")));
    let error = Folders::new(&scratch.0).find("other").unwrap_err();
    assert!(error.message().contains("m00, m01"), "{error}");
    assert!(error.message().contains("and 10 more"), "{error}");
    assert!(error.hint().unwrap().contains("agentloop pull"));
}

#[cfg(unix)]
#[test]
fn added_folders_are_searched_after_the_users_own() {
    let scratch = Scratch::new("added");
    for path in ["own/a.gguf", "more/a.gguf", "more/b.gguf"] {
        scratch.write(path, "x");
    }
    let folders = Folders::new(scratch.0.join("own"));
    let folders = folders.with_folder(scratch.0.join("more")).with_folder(scratch.0.join("none"));
    assert_eq!(names(&folders.models()), ["a", "b"]);
    assert_eq!(folders.find("a").unwrap().path, scratch.0.join("own/a.gguf"));
}

#[test]
fn folders_that_contain_themselves_end_the_walk() {
    let scratch = Scratch::new("loop");
    scratch.write("a.gguf", "x");
    std::os::unix::fs::symlink(&scratch.0, scratch.0.join("again")).unwrap();
    std::os::unix::fs::symlink("nowhere", scratch.0.join("dangling.gguf")).unwrap();
    assert_eq!(names(&Folders::new(&scratch.0).models()), ["a"]);
}

#[test]
fn the_variables_of_the_tools_name_their_folders() {
    let of = |set: &[(&str, &str)]| {
        let set: std::collections::HashMap<String, PathBuf> =
            set.iter().map(|(name, value)| ((*name).to_owned(), (*value).into())).collect();
        Folders::from_variables(&move |name| set.get(name).cloned())
    };
    let plain = of(&[("HOME", "/home/me")]);
    assert_eq!(plain.models.as_deref(), Some(Path::new("/home/me/.local/share/agentloop/models")));
    assert_eq!(plain.hugging_face.as_deref(), Some(Path::new("/home/me/.cache/huggingface/hub")));
    assert_eq!(plain.ollama[0], Path::new("/home/me/.ollama/models"));
    let set = of(&[
        ("HOME", "/home/me"),
        ("AGENTLOOP_DATA", "/data"),
        ("HF_HOME", "/hf"),
        ("OLLAMA_MODELS", "/ollama"),
    ]);
    assert_eq!(set.models.as_deref(), Some(Path::new("/data/models")));
    assert_eq!(set.hugging_face.as_deref(), Some(Path::new("/hf/hub")));
    assert_eq!(set.ollama, [Path::new("/ollama")]);
    let named = of(&[("AGENTLOOP_DATA", "/data"), ("AGENTLOOP_MODELS", "/models")]);
    assert_eq!(named.models.as_deref(), Some(Path::new("/models")));
    assert_eq!(of(&[("HOME", "relative")]).models, None);
}

/// Each repository had the whole limit for itself, so a cache of many took as long as it had files.
#[test]
fn the_limit_of_visited_files_is_that_of_the_whole_cache() {
    let scratch = Scratch::new("many");
    for repository in 0..4 {
        for file in 0..50 {
            scratch.write(&format!("models--o--r{repository}/snapshots/x/f{file}.txt"), "");
        }
    }
    let mut left = 120;
    let count = |left: &mut usize, number: usize| {
        walk::files(&scratch.0.join(format!("models--o--r{number}/snapshots")), left);
        *left
    };
    let counts: Vec<usize> = (0..4).map(|number| count(&mut left, number)).collect();
    assert_eq!(counts, [69, 18, 0, 0]);
}

#[cfg(unix)]
#[test]
fn pipes_loops_of_links_and_folders_that_cannot_be_read_do_not_stop_the_list() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    let scratch = Scratch::new("odd");
    let pipe = |path: &str| {
        let path = scratch.0.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(path).status().unwrap().success());
    };
    pipe("models/pipe.gguf");
    pipe("ollama/manifests/registry.ollama.ai/library/pipe/latest");
    scratch.write("models/real.gguf", "x");
    symlink("loop.gguf", scratch.0.join("models/loop.gguf")).unwrap();
    symlink("..", scratch.0.join("models/up")).unwrap();
    symlink("/", scratch.0.join("models/root.gguf")).unwrap();
    scratch.write("models/closed/x.gguf", "x");
    let closed = scratch.0.join("models/closed");
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o000)).unwrap();
    let digest = "sha256:../../../../models/real.gguf";
    let manifest = format!(
        r#"{{"layers":[{{"mediaType":"application/vnd.ollama.image.model","digest":"{digest}"}}]}}"#
    );
    scratch.write("ollama/manifests/registry.ollama.ai/library/evil/latest", &manifest);
    let folders = Folders::new(scratch.0.join("models")).with_ollama(scratch.0.join("ollama"));
    let models = folders.models();
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o755)).unwrap();
    let found = names(&models);
    // The administrator can read every folder.
    assert!(found == ["real"] || found == ["closed/x", "real"], "{found:?}");
    let path = scratch.0.join("models/pipe.gguf");
    assert!(Folders::default().find(path.to_str().unwrap()).is_err());
    assert!(crate::gguf::check(&path).is_err());
}
