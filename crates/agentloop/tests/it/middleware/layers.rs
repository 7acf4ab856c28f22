//! What middleware of a user can rely on.

use std::sync::{Arc, Mutex};

use agentloop::middleware::{Costs, Limit, Limits, Middleware, Next, Request, Response};
use agentloop::{BoxFuture, Result};

use crate::middleware::lab::{Kind, Lab, ask, builder, every};

type List = Arc<Mutex<Vec<String>>>;

/// Notes the streams that pass through it, and has nothing to do with anything else.
struct Streams(List);

impl Middleware for Streams {
    fn call<'a>(&'a self, request: Request, next: Next) -> BoxFuture<'a, Result<Response>> {
        self.0.lock().unwrap().push(request.model().to_owned());
        Box::pin(async move { next.run(request).await })
    }

    fn applies_to(&self, request: &Request) -> bool {
        matches!(request, Request::Stream(_))
    }
}

#[tokio::test(start_paused = true)]
async fn middleware_that_does_not_apply_is_skipped_and_the_inner_one_is_not() {
    for (kind, protocol) in every() {
        let lab = Lab::well("a").speaking(protocol);
        let (seen, inside) = (List::default(), List::default());
        let ai = builder([&lab])
            .layer(Streams(Arc::clone(&seen)))
            .middleware({
                let inside = Arc::clone(&inside);
                move |request, next| {
                    inside.lock().unwrap().push(request.model().to_owned());
                    async move { next.run(request).await }
                }
            })
            .layer(Streams(Arc::clone(&seen)))
            .build()
            .unwrap();
        assert!(ask(&ai, kind, "a").await.error.is_none());
        let times = if kind == Kind::Stream { 2 } else { 0 };
        assert_eq!(seen.lock().unwrap().len(), times, "{kind:?}");
        assert_eq!((inside.lock().unwrap().len(), lab.calls()), (1, 1), "{kind:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_model_that_middleware_sets_applies_to_all_inner_middleware() {
    for (kind, protocol) in every() {
        let labs = [Lab::well("a"), Lab::well("b").speaking(protocol)];
        let paid = List::default();
        let costs = Costs::new().on_call({
            let paid = Arc::clone(&paid);
            move |entry| paid.lock().unwrap().push(format!("{}/{}", entry.provider, entry.model))
        });
        let ai = builder(&labs)
            .middleware(|mut request, next| async move {
                let elsewhere = request.model().replace("a/", "b/");
                assert_eq!(next.resolve(request.model())?.provider.name, "a");
                assert_eq!(next.resolve(&elsewhere)?.provider.name, "b");
                request.set_model(elsewhere);
                next.run(request).await
            })
            .layer(costs)
            // The second call would be refused, if the limits were still those of the requested model.
            .layer(Limits::new().for_provider("a", Limit::new().requests_per_minute(1).queue(0)))
            .build()
            .unwrap();
        for _ in 0..2 {
            let seen = ask(&ai, kind, "a").await;
            assert!(seen.error.is_none() && seen.provider == "b", "{seen:?}");
        }
        let model = if kind == Kind::Embed { "b/vectors" } else { "b/long-8" };
        assert_eq!(*paid.lock().unwrap(), [model, model]);
        assert_eq!((labs[0].calls(), labs[1].calls()), (0, 2));
    }
}
