//! Checks the sharing of an HTTP/2 connection (ADR 14) under every order in which its threads can run.
//!
//! The two modules under test are compiled here from the library's own files, with loom's locks and atomics. The connection is a
//! small stand-in: messages arrive on a socket, and polling the connection passes each to its stream. Loom reports a deadlock if a task
//! waits for a message that has arrived, that is, if a wake-up was lost.
//!
//! `cargo test --manifest-path tests/loom/Cargo.toml` runs the checks.

#[path = "../../crates/agentloop/src/transport/http/http2/driver.rs"]
mod driver;
#[path = "../../crates/agentloop/src/transport/http/http2/shared_waker.rs"]
mod shared_waker;
mod sync;

use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

use loom::future::block_on;
use loom::thread;

use driver::{Drive, Driver};
use shared_waker::{SharedWaker, Watchdog};
use sync::{Mutex, lock};

/// Where messages arrive, each for the stream of its number.
#[derive(Default)]
struct Socket {
    arrived: Vec<usize>,
    waker: Option<Waker>,
}

/// What the connection has passed to one stream.
#[derive(Default)]
struct Inbox {
    messages: usize,
    waker: Option<Waker>,
}

struct World {
    socket: Mutex<Socket>,
    inboxes: Vec<Mutex<Inbox>>,
    /// The timer of the watchdog: its waker, while it runs.
    timer: Mutex<Option<Waker>>,
}

struct Connection {
    world: Arc<World>,
    waker: Waker,
    watchdog: Waker,
}

impl Drive for Connection {
    fn poll(&mut self) -> Poll<()> {
        let arrived = {
            let mut socket = lock(&self.world.socket);
            socket.waker = Some(self.waker.clone());
            std::mem::take(&mut socket.arrived)
        };
        for stream in arrived {
            let waker = {
                let mut inbox = lock(&self.world.inboxes[stream]);
                inbox.messages += 1;
                inbox.waker.take()
            };
            if let Some(waker) = waker {
                waker.wake();
            }
        }
        Poll::Pending
    }

    fn set_watchdog(&mut self, waker: &SharedWaker) {
        *lock(&self.world.timer) = Some(self.watchdog.clone());
        waker.set_watched();
    }
}

/// One stream of the connection, as a request holds it.
struct Stream {
    number: usize,
    slot: usize,
    world: Arc<World>,
    driver: Arc<Driver<Connection>>,
}

impl Stream {
    fn poll_message(&self, context: &mut Context<'_>) -> Poll<()> {
        self.driver.poll_stream(self.slot, context, |context| {
            let mut inbox = lock(&self.world.inboxes[self.number]);
            if inbox.messages > 0 {
                inbox.messages -= 1;
                return Poll::Ready(());
            }
            inbox.waker = Some(context.waker().clone());
            Poll::Pending
        })
    }

    fn read(&self, messages: usize) {
        for _ in 0..messages {
            block_on(poll_fn(|context| self.poll_message(context)));
            // As after each piece of a body, which lets the server send more.
            self.driver.apply(|| ());
        }
        assert!(!self.driver.has_ended());
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.driver.apply_in_drop(self.slot, || ());
        self.driver.waker().remove_stream(self.slot);
    }
}

/// Opens a connection with `count` streams.
fn connect(count: usize) -> (Arc<World>, Vec<Stream>) {
    let waker = SharedWaker::new();
    let world = Arc::new(World {
        socket: Mutex::new(Socket::default()),
        inboxes: (0..count).map(|_| Mutex::new(Inbox::default())).collect(),
        timer: Mutex::new(None),
    });
    let connection = Connection {
        world: world.clone(),
        waker: Waker::from(waker.clone()),
        watchdog: Waker::from(Arc::new(Watchdog(waker.clone()))),
    };
    let driver = Arc::new(Driver::new(connection, waker));
    let streams = (0..count)
        .map(|number| Stream {
            number,
            slot: driver.waker().add_stream(),
            world: world.clone(),
            driver: driver.clone(),
        })
        .collect();
    (world, streams)
}

impl World {
    fn deliver(&self, stream: usize) {
        let waker = {
            let mut socket = lock(&self.socket);
            socket.arrived.push(stream);
            socket.waker.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Lets the timer of the watchdog run out, if it runs.
    fn expire(&self) {
        let watchdog = lock(&self.timer).take();
        if let Some(watchdog) = watchdog {
            watchdog.wake();
        }
    }
}

/// Explores the orders in which threads can run, with at most so many switches from a thread that could have gone on.
fn explore(switches: usize, check: impl Fn() + Send + Sync + 'static) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(switches);
    model.check(check);
}

#[test]
fn a_message_that_arrives_while_a_task_begins_to_wait_is_read() {
    explore(4, || {
        let (world, mut streams) = connect(1);
        let stream = streams.remove(0);
        let reader = thread::spawn(move || stream.read(2));
        world.deliver(0);
        world.deliver(0);
        reader.join().unwrap();
    });
}

#[test]
fn two_tasks_read_their_messages_in_any_order_of_arrival() {
    explore(3, || {
        let (world, mut streams) = connect(2);
        let (second, first) = (streams.remove(1), streams.remove(0));
        let readers = [thread::spawn(move || first.read(1)), thread::spawn(move || second.read(1))];
        world.deliver(1);
        world.deliver(0);
        for reader in readers {
            reader.join().unwrap();
        }
    });
}

#[test]
fn a_task_that_has_its_message_and_keeps_its_stream_does_not_delay_another() {
    explore(3, || {
        let (world, mut streams) = connect(2);
        let (second, first) = (streams.remove(1), streams.remove(0));
        let first = thread::spawn(move || {
            first.read(1);
            first
        });
        let second = thread::spawn(move || second.read(1));
        world.deliver(0);
        let first = first.join().unwrap();
        world.deliver(1);
        second.join().unwrap();
        drop(first);
    });
}

#[test]
fn a_task_that_drops_its_stream_does_not_take_the_wake_up_of_another_with_it() {
    explore(3, || {
        let (world, mut streams) = connect(2);
        let (second, first) = (streams.remove(1), streams.remove(0));
        let dropping = thread::spawn(move || {
            let _ = first.poll_message(&mut Context::from_waker(Waker::noop()));
            drop(first);
        });
        let reader = thread::spawn(move || second.read(1));
        world.deliver(1);
        dropping.join().unwrap();
        reader.join().unwrap();
    });
}

/// A waker of a task that is woken and does not poll its stream.
struct Idle;

impl Wake for Idle {
    fn wake(self: Arc<Self>) {}
}

#[test]
fn a_task_that_is_woken_and_does_not_poll_delays_the_others_only_until_the_watchdog() {
    explore(3, || {
        let (world, mut streams) = connect(2);
        let (second, idle) = (streams.remove(1), streams.remove(0));
        // It drives the connection last, so it is the first to be woken.
        let asleep = Waker::from(Arc::new(Idle));
        let reader = thread::spawn(move || second.read(1));
        assert!(idle.poll_message(&mut Context::from_waker(&asleep)).is_pending());
        world.deliver(1);
        // Time passes, and the timer runs out.
        world.expire();
        reader.join().unwrap();
        drop(idle);
    });
}
