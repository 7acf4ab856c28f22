//! Ports that belong to one test.

use std::net::SocketAddr;

use tokio::net::TcpSocket;

/// A port of this machine that no other program and no other test is given before it is dropped.
///
/// Connections to it are refused until a server listens on it, and again when that server has ended.
pub(crate) struct Port {
    address: SocketAddr,
    // It is bound and never listens. With `SO_REUSEADDR` servers can listen on it; the kernel does not choose it for others.
    _socket: TcpSocket,
}

impl Port {
    pub(crate) fn reserve() -> Self {
        let socket = TcpSocket::new_v4().unwrap();
        socket.set_reuseaddr(true).unwrap();
        socket.bind(SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
        Self { address: socket.local_addr().unwrap(), _socket: socket }
    }

    /// Returns the IP address and the port.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn number(&self) -> u16 {
        self.address.port()
    }
}
