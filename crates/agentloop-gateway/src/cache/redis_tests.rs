//! Cached responses in a real Redis.

use http::HeaderMap;
use tokio::time::Instant;

use super::*;
use crate::servers::patience::PATIENCE;
use crate::servers::redis::RedisServer;

const TTL: Duration = Duration::from_secs(60);

fn cache(redis: &RedisServer) -> Arc<Cache> {
    let url = Secret::new(redis.url());
    Cache::with(in_redis(&url).unwrap(), PATIENCE, Some(url))
}

fn key() -> CacheKey {
    CacheKey::new([9; 32])
}

fn entry(text: &str) -> Entry {
    Entry {
        headers: HeaderMap::new(),
        is_stream: true,
        pieces: vec![text.to_owned().into(), "data: [DONE]\n\n".into()],
        provider: Some("lab".to_owned()),
        served: Some("lab/m".to_owned()),
        is_relayed: true,
    }
}

async fn put(cache: &Cache, key: &CacheKey, entry: &Entry) {
    cache.store.put(key, entry.write(key).unwrap(), TTL).await;
}

#[tokio::test]
async fn nodes_share_responses_and_redis_removes_them_in_time() {
    let Some(redis) = RedisServer::start() else { return };
    let (here, there) = (cache(&redis), cache(&redis));
    put(&here, &key(), &entry("data: 1\n\n")).await;
    assert_eq!(there.load(&key()).await.unwrap(), entry("data: 1\n\n"));
    assert_eq!(there.load(&CacheKey::new([8; 32])).await, None);
    let name = format!("{PREFIX}{}", key());
    let left = redis.say(&["PTTL", &name]).unwrap();
    let left: u64 = left.trim_start_matches(':').trim().parse().unwrap();
    assert!((1..=60_000).contains(&left), "{left}");
}

/// Others can write to the server: what was changed there is not a response.
#[tokio::test]
async fn a_value_that_was_changed_in_redis_is_not_used() {
    let Some(redis) = RedisServer::start() else { return };
    let cache = cache(&redis);
    put(&cache, &key(), &entry("data: 1\n\n")).await;
    let name = format!("{PREFIX}{}", key());
    let good = entry("data: 1\n\n").write(&key()).unwrap();
    let other = CacheKey::new([8; 32]);
    let moved = entry("data: another\n\n").write(&other).unwrap();
    let mut changed = good.to_vec();
    *changed.last_mut().unwrap() ^= 1;
    let long = [&good[..], &vec![0; 8 << 20]].concat();
    let values: [&[u8]; 7] =
        [b"", b"{}", &changed, &good[..good.len() - 1], &moved, &long, &[0xff; 99]];
    for value in values {
        redis.say_bytes(&[b"SET", name.as_bytes(), value]).unwrap();
        assert_eq!(cache.load(&key()).await, None);
    }
    redis.say_bytes(&[b"SET", name.as_bytes(), &good]).unwrap();
    assert_eq!(cache.load(&key()).await.unwrap(), entry("data: 1\n\n"));
}

#[tokio::test]
async fn a_redis_that_stops_makes_no_request_fail() {
    let Some(redis) = RedisServer::start() else { return };
    let url = Secret::new(redis.url());
    let deadline = PATIENCE / 100;
    let cache = Cache::with(in_redis(&url).unwrap(), deadline, Some(url));
    put(&cache, &key(), &entry("data: 1\n\n")).await;
    drop(redis);
    let began = Instant::now();
    for _ in 0..100 {
        assert_eq!(cache.load(&key()).await, None);
        put(&cache, &key(), &entry("data: 1\n\n")).await;
    }
    // If each of them waited for the deadline, it would take twice as long.
    assert!(began.elapsed() < PATIENCE, "{:?}", began.elapsed());
}

#[test]
fn the_url_is_read_from_its_variable_and_never_printed() {
    let open = |routes: &str, url: Option<&str>| {
        let text = format!("[gateway.redis]\nurl_env='CACHE_URL'\n{routes}");
        let config = agentloop::Config::parse(&text).unwrap().gateway.unwrap();
        Cache::open(&config, &|name| url.filter(|_| name == "CACHE_URL").map(str::to_owned))
    };
    let route = "[gateway.routes.one]\nmodels=['a/b']\ncache={}\n";
    let cache = open(route, Some("redis://:hunter2@localhost:1")).unwrap();
    assert!(cache.url.is_some() && !format!("{cache:?}").contains("hunter2"));
    assert!(open("", Some("nonsense")).unwrap().url.is_none(), "no route has a cache");
    let error = open(route, None).unwrap_err().to_string();
    assert!(error.contains("CACHE_URL is not set"), "{error}");
    let error = format!("{:?}", open(route, Some("http://:hunter2@localhost")).unwrap_err());
    assert!(error.contains("gateway.redis") && !error.contains("hunter2"), "{error}");
    // A reload keeps the responses if they stay where they are.
    let same = open(route, Some("redis://:hunter2@localhost:1")).unwrap();
    let other = open(route, Some("redis://localhost:2")).unwrap();
    assert!(cache.has_same_place(&same) && !cache.has_same_place(&other));
}
