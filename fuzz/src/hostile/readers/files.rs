//! Files, and what programs and services other than providers send.

use agentloop::agent::Saved;
use agentloop::media::{DataUrl, mime_of_bytes};
use agentloop::protocol::serve::frame;
use agentloop::{AgentLoop, Config, ContentPart, ModelCatalog, Protocol};
use agentloop_sim::{Recording, Script, Simulator};
use bytes::Bytes;

use super::super::{Form, Reader, Words};
use crate::targets::laws::Nowhere;
use crate::targets::{aws, config, mcp, models, readers, structured, suspended, tasks};

/// The words of a TOML document.
pub(super) const TOML: Words = Words {
    nests: &[
        ("a = [", "1", "]"),
        ("[", "", "]"),
        ("a.", "b = 1", ""),
        ("x = ", "1", ""),
        ("{a = ", "1", "}"),
        ("x = [", "1", "]"),
        ("x = {a = [", "1", "]}"),
    ],
    repeats: &[
        "[t\0]\n",
        "[[t]]\n",
        "k\0 = 1\n",
        "k = 1\n",
        "[providers.p\0]\nbase_url = \"http://a\"\n",
        "\"",
        "\"\"\"",
        "'",
        "#",
        "\n",
        "[a.b.c\0]\n",
        "[limits.l\0]\nconcurrency = 1\n",
        "[aliases]\n",
        "a\0.b = 1\n",
        "[models.\"lab/m\0\"]\ncontext_window = 1\n",
    ],
};

const TREES: &str = "a value of JSON that has two bytes, such as `1,`, is 72 bytes in a tree";

const VALIDATOR: &str = "a schema that has a `{\"type\":\"string\"}` is a node of jsonschema, with its way and its keywords";

/// What is in files of the user, of a repository, or of a provider's tools.
pub(super) const FILES: &[Reader] = &[
    Reader::new(
        "configuration",
        Form::Text(TOML),
        config::seeds,
        |input| {
            let Ok(text) = std::str::from_utf8(input) else { return };
            let Ok(config) = Config::parse(text) else { return };
            let builder = AgentLoop::builder().config(&config);
            drop(builder.transport(Nowhere).media_transport(Nowhere).build());
        },
        &["agentloop/src/config/", "agentloop/src/settings/"],
    ).held(600, "the parser's tree of TOML; a file has at most MAX_CONFIG_FILE_BYTES"),
    Reader::new(
        "data of models",
        Form::Json,
        models::documents,
        |input| {
            let Ok(text) = std::str::from_utf8(input) else { return };
            drop(ModelCatalog::parse(text));
        },
        &["agentloop/src/models/"],
    ).held(96, TREES),
    Reader::new(
        "saved run",
        Form::Json,
        || super::requests::without_head(suspended::seeds()),
        |input| {
            let Ok(text) = std::str::from_utf8(input) else { return };
            drop(Saved::from_json(text));
        },
        &["agentloop/src/agent/"],
    ).held(96, TREES),
    Reader::new(
        "tools of a server",
        Form::Events("\n"),
        mcp::seeds,
        mcp::check,
        &["agentloop/src/agent/mcp/"],
    ).held(400, VALIDATOR),
    Reader::new(
        "structured output",
        Form::Events("\n"),
        || super::requests::without_head(structured::seeds()),
        |input| structured::check(&[&[16, 0], input].concat()),
        &["agentloop/src/structured/"],
    ).held(400, VALIDATOR).growth(8, "a set of jsonschema doubles"),
    Reader::new(
        "profiles of Amazon Web Services",
        Form::Text(Words {
            nests: &[("[", "a", "]"), ("s =\n  ", "a = 1", "")],
            repeats: &["[profile p\0]\n", "[default]\n", "k\0 = 1\n", "region = a\n", "  a = \0\n", "\n", "#", "=", " "],
        }),
        || super::requests::without_head(aws::seeds()),
        |input| aws::check(&[&[0, 0], input].concat()),
        &["agentloop/src/credential/"],
    ),
    Reader::new(
        "lists of models, files and batches",
        Form::Json,
        || [
            r#"{"object":"list","data":[{"id":"m","object":"model","created":1,"owned_by":"o","bytes":1,"filename":"f","purpose":"p","status":"completed","request_counts":{"total":1,"completed":1}}],"has_more":true,"last_id":"m"}"#,
            r#"{"models":[{"name":"models/m","displayName":"M","inputTokenLimit":1,"supportedGenerationMethods":["generateContent"],"details":{"family":"f"},"modified_at":"2026-01-01T00:00:00Z"}],"nextPageToken":"2"}"#,
            r#"{"modelSummaries":[{"modelId":"m","modelName":"M","inputModalities":["TEXT"]}],"inferenceProfileSummaries":[],"nextToken":"2"}"#,
            r#"{"files":[{"name":"files/f","mimeType":"image/png","sizeBytes":"12","state":"ACTIVE","uri":"https://x.test/f","createTime":"2026-01-01T00:00:00Z"}],"operations":[{"name":"batches/b","metadata":{"state":"BATCH_STATE_SUCCEEDED","batchStats":{"requestCount":"1"}}}],"nextPageToken":"2"}"#,
        ].map(|seed| seed.as_bytes().to_vec()).to_vec(),
        tasks::read_lists,
        &["agentloop/src/protocol/files.rs", "agentloop/src/client/files.rs", "agentloop/src/client/models.rs"],
    ).held(96, TREES),
    Reader::new(
        "media",
        Form::Text(Words {
            nests: &[],
            repeats: &["A", "=", ";", ",", "data:", "data:image/png;base64,", ";a=b", "%41", "%", "\u{ff}", "RIFF", "\u{89}PNG", "ftyp"],
        }),
        || vec![
            b"data:image/png;base64,iVBORw0KGgo=".to_vec(), b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01".to_vec(),
            b"GIF89a\x01\0\x01\0".to_vec(), b"\xff\xd8\xff\xe0\0\x10JFIF\0".to_vec(), b"RIFF\0\0\0\0WAVEfmt ".to_vec(), b"\0\0\0\x18ftypmp42".to_vec(), b"%PDF-1.7".to_vec(),
        ],
        |input| {
            drop((mime_of_bytes(input), ContentPart::image_bytes(input), ContentPart::audio_bytes(input)));
            let Ok(text) = std::str::from_utf8(input) else { return };
            if let Some(url) = DataUrl::parse(text) {
                drop((url.known_mime(), url.base64().len(), url.bytes()));
            }
        },
        &["agentloop/src/media/", "agentloop/src/percent.rs"],
    ),
    Reader::new(
        "script of the simulator",
        Form::Json,
        || vec![br#"{"turns":[{"parts":[{"type":"text","text":"Hello."},{"type":"tool_call","id":"c","name":"n","arguments":"{}"}],"delta_size":3,"fault":"cut-events=2"}],"scenes":[{"when":"a","turns":[{"parts":[]}]}]}"#.to_vec()],
        |input| {
            let Ok(text) = std::str::from_utf8(input) else { return };
            drop(Script::from_json(text));
        },
        &["agentloop-sim/src/script.rs", "agentloop-sim/src/fault/"],
    ).held(96, TREES),
    Reader::new(
        "recording",
        Form::Json,
        || vec![br#"{"agentloop_recording":1,"exchanges":[{"request":{"method":"POST","url":"https://api.openai.com/v1/chat/completions","headers":[["a","b"]],"json":{"model":"m","messages":[{"role":"user","content":"Hi"}]}},"response":{"status":200,"headers":[["content-type","text/event-stream"]],"body":["data: {}\n\n",{"base64":"AAAA"}]}},{"request":{"method":"GET","url":"https://a.test/","body":"a"},"failure":{"kind":"timeout","message":"m"}}]}"#.to_vec()],
        |input| {
            let path = std::env::temp_dir().join(format!("agentloop-hostile-{}.json", std::process::id()));
            std::fs::write(&path, input).unwrap();
            if let Ok(recording) = Recording::replay(&path) {
                drop((recording.unused(), recording.client()));
            }
            std::fs::remove_file(path).unwrap();
        },
        &["agentloop-sim/src/recording/"],
    ).held(96, TREES),
    Reader::new(
        "request to the simulator",
        Form::Json,
        || super::requests::without_head(readers::seeds(Protocol::OpenAiChat)),
        |input| {
            let body = Bytes::copy_from_slice(input);
            for path in ["/v1/chat/completions", "/v1/embeddings", "/v1/files", "/v1/batches", "/v1/rerank"] {
                let request = http::Request::post(path).body(body.clone()).unwrap();
                drop(Simulator::new().respond(Protocol::OpenAiChat, &request));
            }
            drop(frame(Protocol::OpenAiChat, input));
        },
        &["agentloop-sim/src/received.rs", "agentloop-sim/src/storage/", "agentloop-sim/src/tasks.rs"],
    ).held(96, TREES),
];
