//! Images on terminals that can show them.
//!
//! The terminal is recognized by environment variables: a query would block on a terminal that does not reply, and its reply
//! could be mixed with what the user types.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// The largest image that is shown, in bytes.
const MAX_BYTES: usize = 16 << 20;

/// The largest piece of an image in one escape sequence of Kitty's protocol.
const PIECE: usize = 4_096;

/// How a terminal receives images.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ImageProtocol {
    /// Kitty, Ghostty: PNG only.
    Kitty,
    /// iTerm2, WezTerm.
    Iterm,
}

impl ImageProtocol {
    /// Returns the protocol of the terminal, if it has one.
    pub(crate) fn detect() -> Option<Self> {
        Self::detect_by(|name| std::env::var(name).ok().filter(|value| !value.is_empty()))
    }

    fn detect_by(variable: impl Fn(&str) -> Option<String>) -> Option<Self> {
        let is_set = |name: &str| variable(name).is_some();
        let is = |name: &str, values: &[&str]| {
            variable(name).is_some_and(|value| values.contains(&value.as_str()))
        };
        if let Some(name) = variable("AGENTLOOP_IMAGES") {
            return match name.as_str() {
                "kitty" => Some(Self::Kitty),
                "iterm2" => Some(Self::Iterm),
                _ => None,
            };
        }
        // A multiplexer inherits the variables of the terminal, but does not pass images through.
        if is_set("TMUX") || is_set("STY") || is_set("ZELLIJ") {
            return None;
        }
        if is_set("KITTY_WINDOW_ID")
            || is("TERM", &["xterm-kitty", "xterm-ghostty"])
            || is("TERM_PROGRAM", &["ghostty"])
        {
            return Some(Self::Kitty);
        }
        let is_iterm =
            is("TERM_PROGRAM", &["iTerm.app", "WezTerm"]) || is("LC_TERMINAL", &["iTerm2"]);
        is_iterm.then_some(Self::Iterm)
    }

    /// Returns the escape sequences that show an image. Returns `None` if the terminal cannot show its format.
    pub(crate) fn encode(self, image: &[u8]) -> Option<String> {
        if image.len() > MAX_BYTES {
            return None;
        }
        let is_png = image.starts_with(b"\x89PNG\r\n\x1a\n");
        match self {
            Self::Kitty if is_png => Some(encode_for_kitty(&STANDARD.encode(image))),
            Self::Iterm if is_png || is_jpeg(image) || image.starts_with(b"GIF8") => {
                let size = image.len();
                let data = STANDARD.encode(image);
                Some(format!("\x1b]1337;File=inline=1;size={size}:{data}\x07"))
            }
            _ => None,
        }
    }
}

fn is_jpeg(image: &[u8]) -> bool {
    image.starts_with(&[0xff, 0xd8, 0xff])
}

fn encode_for_kitty(data: &str) -> String {
    let mut out = String::with_capacity(data.len() + data.len() / 100 + 64);
    let mut rest = data;
    // q=2: the terminal must not reply, because the reply would be read as input.
    let mut control = "a=T,f=100,q=2,";
    while !rest.is_empty() {
        let (piece, more) = rest.split_at(rest.len().min(PIECE));
        let has_more = u8::from(!more.is_empty());
        out.push_str(&format!("\x1b_G{control}m={has_more};{piece}\x1b\\"));
        (rest, control) = (more, "q=2,");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn detect(variables: &[(&str, &str)]) -> Option<ImageProtocol> {
        ImageProtocol::detect_by(|name| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn the_terminal_is_recognized_by_its_variables() {
        assert_eq!(detect(&[]), None);
        assert_eq!(detect(&[("TERM", "xterm-256color")]), None);
        assert_eq!(detect(&[("TERM", "xterm-kitty")]), Some(ImageProtocol::Kitty));
        assert_eq!(detect(&[("TERM_PROGRAM", "iTerm.app")]), Some(ImageProtocol::Iterm));
        assert_eq!(detect(&[("TERM_PROGRAM", "iTerm.app"), ("TMUX", "/tmp/x")]), None);
        let chosen = [("AGENTLOOP_IMAGES", "kitty"), ("TMUX", "/tmp/x")];
        assert_eq!(detect(&chosen), Some(ImageProtocol::Kitty));
        assert_eq!(detect(&[("AGENTLOOP_IMAGES", "none"), ("TERM", "xterm-kitty")]), None);
        assert_eq!(detect(&[("TERM", "foot")]), None);
    }

    #[test]
    fn large_images_are_sent_in_pieces() {
        let mut png = b"\x89PNG\r\n\x1a\n".to_vec();
        png.resize(10_000, 7);
        let shown = ImageProtocol::Kitty.encode(&png).unwrap();
        assert_eq!(shown.matches("\x1b_G").count(), 4);
        assert!(shown.starts_with("\x1b_Ga=T,f=100,q=2,m=1;"), "{shown}");
        assert!(shown.contains("\x1b_Gq=2,m=0;"), "{shown}");
        let iterm = ImageProtocol::Iterm.encode(&png).unwrap();
        assert!(iterm.starts_with("\x1b]1337;File=inline=1;size=10000:iVBORw0KGgo"), "{iterm}");
    }

    #[test]
    fn what_is_not_an_image_is_not_sent() {
        for protocol in [ImageProtocol::Kitty, ImageProtocol::Iterm] {
            assert_eq!(protocol.encode(b"\x1b]0;title\x07"), None);
            assert_eq!(protocol.encode(&vec![0x89; MAX_BYTES + 1]), None);
        }
        assert_eq!(ImageProtocol::Kitty.encode(&[0xff, 0xd8, 0xff, 0]), None);
    }
}
