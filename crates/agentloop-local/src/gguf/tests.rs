use super::*;

/// Writes GGUF files for tests.
pub(crate) struct Builder {
    entries: Vec<Vec<u8>>,
    tensors: Vec<Vec<u8>>,
    data: usize,
}

fn text(text: &str) -> Vec<u8> {
    let mut bytes = (text.len() as u64).to_le_bytes().to_vec();
    bytes.extend(text.as_bytes());
    bytes
}

impl Builder {
    pub(crate) fn new() -> Self {
        Self { entries: Vec::new(), tensors: Vec::new(), data: 0 }.entry(
            "general.architecture",
            8,
            &text("llama"),
        )
    }

    fn entry(mut self, key: &str, kind: u32, value: &[u8]) -> Self {
        let mut bytes = text(key);
        bytes.extend(kind.to_le_bytes());
        bytes.extend(value);
        self.entries.push(bytes);
        self
    }

    fn number(self, key: &str, value: u32) -> Self {
        self.entry(key, 4, &value.to_le_bytes())
    }

    fn tensor(mut self, name: &str, dimensions: &[u64], kind: u32, offset: u64) -> Self {
        let mut bytes = text(name);
        bytes.extend(u32::try_from(dimensions.len()).unwrap().to_le_bytes());
        dimensions.iter().for_each(|length| bytes.extend(length.to_le_bytes()));
        bytes.extend(kind.to_le_bytes());
        bytes.extend(offset.to_le_bytes());
        self.tensors.push(bytes);
        self
    }

    pub(crate) fn data(mut self, bytes: usize) -> Self {
        self.data = bytes;
        self
    }

    pub(crate) fn build(&self) -> Vec<u8> {
        let mut bytes = b"GGUF".to_vec();
        bytes.extend(3_u32.to_le_bytes());
        bytes.extend((self.tensors.len() as u64).to_le_bytes());
        bytes.extend((self.entries.len() as u64).to_le_bytes());
        bytes.extend(self.entries.iter().flatten());
        bytes.extend(self.tensors.iter().flatten());
        bytes.resize(bytes.len().next_multiple_of(32), 0);
        bytes.resize(bytes.len() + self.data, 0);
        bytes
    }
}

fn read(bytes: &[u8]) -> std::result::Result<Head, String> {
    read_head(&mut Reader::new(bytes, bytes.len() as u64))
}

fn refused(builder: &Builder) -> String {
    read(&builder.build()).unwrap_err()
}

fn whole() -> Builder {
    Builder::new()
        .number("llama.context_length", 2_048)
        .tensor("a", &[64, 2], 8, 0)
        .tensor("b", &[8], 0, 160)
        .data(192)
}

#[test]
fn a_whole_file_is_read() {
    let head = read(&whole().build()).unwrap();
    assert_eq!(head.architecture, "llama");
    assert_eq!(head.context_length, Some(2_048));
    assert!(!head.is_embedder());
}

#[test]
fn a_model_for_embeddings_is_recognized() {
    let pooled = Builder::new().number("bert.pooling_type", 2);
    assert!(read(&pooled.build()).unwrap().is_embedder());
    let both_ways = Builder::new().entry("bert.attention.causal", 7, &[0]);
    assert!(read(&both_ways.build()).unwrap().is_embedder());
}

#[test]
fn a_file_that_is_cut_anywhere_is_refused() {
    let bytes = whole().build();
    for length in 0..bytes.len() {
        assert!(read(&bytes[..length]).is_err(), "{length} of {} bytes", bytes.len());
    }
}

#[test]
fn a_changed_byte_never_panics() {
    let bytes = whole().build();
    for at in 0..bytes.len() {
        for value in [0, 1, 0x7f, 0x80, 0xff] {
            let mut changed = bytes.clone();
            changed[at] = value;
            drop(read(&changed));
        }
    }
}

#[test]
fn lengths_and_counts_that_lie_are_refused_without_allocating() {
    let mut bytes = b"GGUF".to_vec();
    bytes.extend(3_u32.to_le_bytes());
    bytes.extend(u64::MAX.to_le_bytes());
    bytes.extend(0_u64.to_le_bytes());
    assert!(read(&bytes).unwrap_err().contains("tensors"));
    let long = u64::MAX.to_le_bytes();
    assert!(refused(&Builder::new().entry("x", 8, &long)).contains("too large"));
    let mut array = 8_u32.to_le_bytes().to_vec();
    array.extend((u64::MAX / 16).to_le_bytes());
    assert!(refused(&Builder::new().entry("x", 9, &array)).contains("elements"));
    let mut numbers = 4_u32.to_le_bytes().to_vec();
    numbers.extend(u64::MAX.to_le_bytes());
    assert!(refused(&Builder::new().entry("x", 9, &numbers)).contains("too large"));
    assert!(refused(&Builder::new().entry("x", 99, &[])).contains("unknown type"));
}

#[test]
fn arrays_in_arrays_are_bounded() {
    let mut nested = Vec::new();
    for _ in 0..100 {
        nested.extend(9_u32.to_le_bytes());
        nested.extend(1_u64.to_le_bytes());
    }
    nested.resize(nested.len() + 4_096, 0);
    assert!(refused(&Builder::new().entry("x", 9, &nested)).contains("unknown type 9"));
}

#[test]
fn tensors_outside_of_the_file_are_refused() {
    let one = |dimensions: &[u64], kind, offset| {
        refused(&Builder::new().tensor("t", dimensions, kind, offset).data(64))
    };
    assert!(one(&[1_000], 0, 0).contains("its tensors need"));
    assert!(one(&[8], 0, 1 << 40).contains("its tensors need"));
    assert!(one(&[8], 0, u64::MAX - 31).contains("too large"));
    assert!(one(&[1 << 62, 1 << 62], 0, 0).contains("too large"));
    assert!(one(&[0], 0, 0).contains("dimension of 0"));
    assert!(one(&[1; 5], 0, 0).contains("5 dimensions"));
    assert!(one(&[33], 8, 0).contains("whole blocks"));
    assert!(one(&[8], 7_777, 0).contains("unknown type"));
    assert!(one(&[8], 0, 3).contains("aligned"));
    let twice = Builder::new().tensor("t", &[8], 0, 0).tensor("t", &[8], 0, 32).data(64);
    assert!(refused(&twice).contains("same name"));
}

#[test]
fn senseless_settings_are_refused() {
    assert!(refused(&Builder::new().number("general.alignment", 3)).contains("alignment"));
    assert!(refused(&Builder::new().number("general.alignment", 0)).contains("alignment"));
    let context = Builder::new().number("llama.context_length", u32::MAX);
    assert!(refused(&context).contains("context length"));
    assert!(refused(&Builder::new().number("split.count", 1_000_000)).contains("files"));
    let mut nameless = Builder::new();
    nameless.entries.clear();
    assert!(refused(&nameless).contains("architecture"));
    let mut old = Builder::new().build();
    old[4] = 1;
    assert!(read(&old).unwrap_err().contains("version"));
}

#[test]
fn a_split_model_needs_all_its_files() {
    let folder = std::env::temp_dir().join(format!("agentloop-split-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let bytes = Builder::new().number("split.count", 2).build();
    let first = folder.join("m-00001-of-00002.gguf");
    std::fs::write(&first, &bytes).unwrap();
    assert!(check(&first).unwrap_err().message().contains("m-00002-of-00002.gguf"));
    // As llama.cpp writes it: only the first file names the architecture.
    let later = Builder { entries: Vec::new(), tensors: Vec::new(), data: 0 };
    let later = later.number("split.no", 1).number("split.count", 2).build();
    std::fs::write(folder.join("m-00002-of-00002.gguf"), &later).unwrap();
    assert!(check(&first).is_ok());
    let other = folder.join("other.gguf");
    std::fs::write(&other, &bytes).unwrap();
    assert!(check(&other).unwrap_err().message().contains("not the first"));
    std::fs::remove_dir_all(&folder).unwrap();
}
