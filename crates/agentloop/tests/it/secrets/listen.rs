//! Everything that is traced, at every level.

use std::fmt::Write as _;
use std::sync::{Arc, Mutex};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing_subscriber::layer::{Context, SubscriberExt as _};
use tracing_subscriber::{Layer, Registry};

#[derive(Clone, Default)]
pub(crate) struct Listener(Arc<Mutex<String>>);

impl Listener {
    /// Listens on this thread for as long as what is returned lives.
    pub(crate) fn start() -> (Self, tracing::subscriber::DefaultGuard) {
        let listener = Self::default();
        let subscriber = Registry::default().with(listener.clone());
        (listener, tracing::subscriber::set_default(subscriber))
    }

    pub(crate) fn heard(&self) -> String {
        self.0.lock().unwrap().clone()
    }
}

struct Fields<'a>(&'a mut String);

impl Visit for Fields<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        writeln!(self.0, "{}={value:?}", field.name()).unwrap();
    }
}

impl<S: tracing::Subscriber> Layer<S> for Listener {
    fn on_new_span(&self, attributes: &Attributes<'_>, _: &Id, _: Context<'_, S>) {
        attributes.record(&mut Fields(&mut self.0.lock().unwrap()));
    }

    fn on_record(&self, _: &Id, values: &Record<'_>, _: Context<'_, S>) {
        values.record(&mut Fields(&mut self.0.lock().unwrap()));
    }

    fn on_event(&self, event: &tracing::Event<'_>, _: Context<'_, S>) {
        event.record(&mut Fields(&mut self.0.lock().unwrap()));
    }
}
