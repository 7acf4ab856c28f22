use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::*;

fn round_trip<T: DeserializeOwned + serde::Serialize + PartialEq + std::fmt::Debug>(value: &T) {
    let text = serde_json::to_string(value).unwrap();
    assert_eq!(&serde_json::from_str::<T>(&text).unwrap(), value, "{text}");
}

#[test]
fn requests_round_trip() {
    let file = MediaFile::new("a \"b\".png", vec![0, 255]).mime_type("image/png");
    round_trip(
        &ImageRequest::new("a/b", "a cat")
            .n(2)
            .size("1x1")
            .aspect_ratio("1:1")
            .quality("low")
            .background("opaque")
            .output_format("png")
            .seed(-1)
            .image(file.clone())
            .mask(MediaFile::from_url("https://a.test/m.png"))
            .user_id("u")
            .tag("t")
            .extra("x", 1)
            .header("h", "v")
            .fallbacks(["c/d"])
            .include_raw(),
    );
    round_trip(
        &SpeechRequest::new("a/b", "hi").voice("v").instructions("i").format("wav").speed(2.0),
    );
    round_trip(
        &TranscribeRequest::new("a/b", file)
            .language("en")
            .prompt("p")
            .temperature(0.5)
            .timestamps([Timestamps::Word, Timestamps::Segment])
            .translate(),
    );
    round_trip(&RerankRequest::new("a/b", "q", ["d"]).top_n(3));
    round_trip(&ModerateRequest::new("a/b", ["x"]));
}

#[test]
fn a_misspelled_field_is_an_error() {
    for (name, value) in [
        ("image", json!({ "model": "m", "prompt": "p", "sice": "x" })),
        ("file", json!({ "model": "m", "audio": { "file": "x" } })),
    ] {
        let is_err = match name {
            "image" => serde_json::from_value::<ImageRequest>(value).is_err(),
            _ => serde_json::from_value::<TranscribeRequest>(value).is_err(),
        };
        assert!(is_err, "{name}");
    }
}

#[test]
fn bytes_that_are_not_base64_are_an_error_and_are_never_printed() {
    for data in [json!("%%%"), json!("AAA"), json!(7), json!(["A"])] {
        let file: Result<MediaFile, _> = serde_json::from_value(json!({ "data": data }));
        assert!(file.is_err());
    }
    let shown = format!("{:?}", MediaFile::new("a", &b"secret-content"[..]));
    assert!(!shown.contains("secret-content") && shown.contains("14"));
}

#[test]
fn responses_round_trip_in_camel_case() {
    let mut response = SpeechResponse::new("m", "lab");
    response.mime_type = "audio/wav".to_owned();
    response.audio = vec![1, 2, 3].into();
    response.request_id = Some("r".to_owned());
    round_trip(&response);
    let value: Value = serde_json::to_value(&response).unwrap();
    assert_eq!(value["requestId"], "r");
    assert_eq!(value["mimeType"], "audio/wav");
    let mut response = RerankResponse::new("m", "lab");
    response.results = vec![RankedDocument::new(1, 0.25)];
    response.search_units = Some(1);
    round_trip(&response);
    let mut response = TranscribeResponse::new("m", "lab");
    response.segments = vec![TranscriptSegment::new("a", 0.0, 1.0)];
    round_trip(&response);
    let mut response = ImageResponse::new("m", "lab");
    response.images = vec![GeneratedImage::default()];
    round_trip(&response);
    let mut response = ModerateResponse::new("m", "lab");
    response.results = vec![Moderation::new([("hate", true, 0.5)])];
    round_trip(&response);
}
