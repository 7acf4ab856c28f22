//! Media types by the ends of names.

/// File extensions and their media types. Of several extensions of one type, the first is the one to write.
const BY_NAME: &[(&str, &str)] = &[
    ("png", "image/png"),
    ("jpg", "image/jpeg"),
    ("jpeg", "image/jpeg"),
    ("webp", "image/webp"),
    ("gif", "image/gif"),
    ("heic", "image/heic"),
    ("heif", "image/heif"),
    ("avif", "image/avif"),
    ("bmp", "image/bmp"),
    ("tiff", "image/tiff"),
    ("tif", "image/tiff"),
    ("svg", "image/svg+xml"),
    ("pdf", "application/pdf"),
    ("json", "application/json"),
    ("zip", "application/zip"),
    ("docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"),
    ("xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"),
    ("pptx", "application/vnd.openxmlformats-officedocument.presentationml.presentation"),
    ("txt", "text/plain"),
    ("log", "text/plain"),
    ("md", "text/markdown"),
    ("html", "text/html"),
    ("htm", "text/html"),
    ("css", "text/css"),
    ("csv", "text/csv"),
    ("xml", "text/xml"),
    ("rtf", "text/rtf"),
    ("py", "text/x-python"),
    ("js", "text/javascript"),
    ("mp4", "video/mp4"),
    ("m4v", "video/mp4"),
    ("mpeg", "video/mpeg"),
    ("mpg", "video/mpeg"),
    ("mov", "video/quicktime"),
    ("avi", "video/avi"),
    ("flv", "video/x-flv"),
    ("webm", "video/webm"),
    ("mkv", "video/x-matroska"),
    ("wmv", "video/wmv"),
    ("3gp", "video/3gpp"),
    ("mp3", "audio/mpeg"),
    ("mp3", "audio/mp3"),
    ("wav", "audio/wav"),
    ("wav", "audio/x-wav"),
    ("aac", "audio/aac"),
    ("aiff", "audio/aiff"),
    ("aif", "audio/aiff"),
    ("ogg", "audio/ogg"),
    ("oga", "audio/ogg"),
    ("opus", "audio/opus"),
    ("flac", "audio/flac"),
    ("m4a", "audio/mp4"),
    ("m4a", "audio/m4a"),
    ("pcm", "audio/l16"),
    ("pcm", "audio/pcm"),
    ("pcm", "audio/pcm16"),
    ("pcm", "audio/pcm_s16le"),
];

/// Returns the media type of a file name or a URL by its extension. A query and a fragment are ignored.
///
/// ```
/// use agentloop::media::mime_of_name;
///
/// assert_eq!(mime_of_name("https://x.example/cat.PNG?size=2#top"), Some("image/png"));
/// assert_eq!(mime_of_name("cat"), None);
/// ```
pub fn mime_of_name(name: &str) -> Option<&'static str> {
    let (_, end) = file_name(name)?.rsplit_once('.')?;
    BY_NAME.iter().find(|(known, _)| known.eq_ignore_ascii_case(end)).map(|(_, mime)| *mime)
}

/// Returns the usual file extension of a media type, without the dot.
///
/// ```
/// assert_eq!(agentloop::media::extension_of("audio/L16;rate=24000"), Some("pcm"));
/// ```
pub fn extension_of(mime: &str) -> Option<&'static str> {
    let mime = essence(mime);
    BY_NAME.iter().find(|(_, known)| known.eq_ignore_ascii_case(mime)).map(|(end, _)| *end)
}

/// Returns the file name at the end of a path or a URL.
pub(crate) fn file_name(name: &str) -> Option<&str> {
    let path = match name.split_once("://") {
        Some((_, rest)) => rest.split_once('/')?.1.split(['?', '#']).next()?,
        None => name.split(['?', '#']).next()?,
    };
    path.rsplit(['/', '\\']).next().filter(|name| !name.is_empty())
}

/// Returns a media type without parameters.
pub(crate) fn essence(mime: &str) -> &str {
    mime.split(';').next().unwrap_or_default().trim()
}

/// Returns the short name of an audio media type.
pub(crate) fn audio_format(mime: &str) -> String {
    let mime = essence(mime).to_ascii_lowercase();
    match mime.as_str() {
        "audio/mpeg" | "audio/mp3" => "mp3".to_owned(),
        "audio/wav" | "audio/x-wav" | "audio/wave" | "audio/vnd.wave" => "wav".to_owned(),
        "audio/mp4" | "audio/x-m4a" => "m4a".to_owned(),
        other => other.strip_prefix("audio/").unwrap_or(other).to_owned(),
    }
}
