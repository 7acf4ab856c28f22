//! Which version of HTTP a client speaks.

use std::io;
use std::time::Duration;

use tokio::net::TcpStream;

/// What a connection of HTTP/2 begins with. It is not the start of any method.
const PREFACE: [u8; 3] = *b"PRI";

/// How long to wait for more, if only a part of these bytes has arrived. The system reports what it has at once, again and again.
const PAUSE: Duration = Duration::from_millis(2);

/// A version of HTTP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Version {
    Http1,
    Http2,
}

impl Version {
    /// Returns the version by the first bytes, which stay unread: a reader that gives them back to hyper makes it use a buffer of twice
    /// the size for the rest of the connection.
    pub(super) async fn of(stream: &TcpStream) -> io::Result<Self> {
        let mut start = [0; PREFACE.len()];
        loop {
            let read = stream.peek(&mut start).await?;
            if read == 0 || start[..read] != PREFACE[..read] {
                return Ok(Self::Http1);
            }
            if read == PREFACE.len() {
                return Ok(Self::Http2);
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Returns the version that was chosen in the handshake of TLS.
    pub(super) fn of_name(alpn: Option<&[u8]>) -> Self {
        match alpn {
            Some(b"h2") => Self::Http2,
            _ => Self::Http1,
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    use super::*;

    async fn pair() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        (client, listener.accept().await.unwrap().0)
    }

    #[tokio::test]
    async fn the_first_bytes_decide_and_stay_unread() {
        for (sent, version) in [
            (&b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"[..], Version::Http2),
            (b"POST /v1/messages HTTP/1.1\r\n", Version::Http1),
            (b"PR", Version::Http1),
            (b"", Version::Http1),
        ] {
            let (mut client, mut server) = pair().await;
            client.write_all(sent).await.unwrap();
            // The rest of what begins like HTTP/2 comes later, and is not HTTP/2.
            if sent == b"PR" {
                let looking = tokio::spawn(async move { (Version::of(&server).await, server) });
                tokio::time::sleep(3 * PAUSE).await;
                client.write_all(b"OPFIND / HTTP/1.1\r\n").await.unwrap();
                let (found, rest) = looking.await.unwrap();
                assert_eq!(found.unwrap(), version);
                server = rest;
            } else {
                client.shutdown().await.unwrap();
                assert_eq!(Version::of(&server).await.unwrap(), version);
            }
            let mut read = vec![0; sent.len()];
            server.read_exact(&mut read).await.unwrap();
            assert_eq!(read, sent);
        }
    }

    #[test]
    fn tls_names_the_version() {
        assert_eq!(Version::of_name(Some(b"h2")), Version::Http2);
        assert_eq!(Version::of_name(Some(b"http/1.1")), Version::Http1);
        assert_eq!(Version::of_name(None), Version::Http1);
    }
}
