//! Sends an image, and saves one that a model makes: `cargo run --example images [MODEL]`.

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use agentloop::{AgentLoop, ChatRequest, ContentPart};

/// A PNG of one pixel. `ContentPart::image_path("photo.jpg")` reads a file, `image_url` names a URL.
const PIXEL: [u8; 70] = [
    0x89, b'P', b'N', b'G', 13, 10, 26, 10, 0, 0, 0, 13, b'I', b'H', b'D', b'R', 0, 0, 0, 1, 0, 0,
    0, 1, 8, 6, 0, 0, 0, 31, 21, 196, 137, 0, 0, 0, 13, b'I', b'D', b'A', b'T', 120, 218, 99, 100,
    96, 248, 95, 15, 0, 2, 135, 1, 128, 235, 71, 186, 146, 0, 0, 0, 0, b'I', b'E', b'N', b'D', 174,
    66, 96, 130,
];

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let ai = AgentLoop::builder().provider(agentloop_sim::provider()).build()?;
    let model = std::env::args().nth(1).unwrap_or_else(|| "sim/image".to_owned());

    // The kind of a medium is read from its first bytes, not from its name.
    let image = ContentPart::image_bytes(PIXEL)?;
    let parts = vec![ContentPart::text("Draw this again, larger."), image];
    let response = ai.chat(ChatRequest::new(model).user(parts)).await?;

    let media = response.choices.iter().flat_map(|choice| choice.media());
    for (at, part) in media.enumerate() {
        let name =
            format!("agentloop-{}-{at}.{}", std::process::id(), part.extension().unwrap_or("bin"));
        let path = std::env::temp_dir().join(name);
        // `save_new` never replaces a file.
        if let Some(bytes) = part.save_new(&path)? {
            println!("{}: {bytes} bytes", part.mime_type().unwrap_or("unknown"));
            std::fs::remove_file(&path)?;
        }
    }
    Ok(())
}
