//! Whose virtual machine this is, as far as its firmware says so. Nothing is sent.

/// Returns whether a field of the firmware's description (DMI) starts with a text. Only Linux shows it.
pub(super) fn has_mark(field: &str, mark: &str) -> bool {
    let path = std::path::Path::new("/sys/class/dmi/id").join(field);
    std::fs::read_to_string(path).is_ok_and(|text| text.trim().starts_with(mark))
}
