use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::time::{advance, sleep};

use super::*;

const HOUR: Duration = Duration::from_secs(3600);

fn valid_for(value: u32, time: Duration) -> Fetched<u32> {
    Fetched { value, expires: Some(SystemTime::now() + time) }
}

fn down() -> Error {
    Error::new(ErrorKind::Connection, "the service is down")
}

/// A source that counts how often it is asked, and returns the count.
#[derive(Default)]
struct Source(AtomicUsize);

impl Source {
    async fn number(&self) -> Result<Fetched<u32>> {
        let number = u32::try_from(self.0.fetch_add(1, Ordering::SeqCst)).unwrap() + 1;
        Ok(valid_for(number, HOUR))
    }

    fn asked(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

#[tokio::test(start_paused = true)]
async fn a_value_is_kept_until_shortly_before_it_expires() {
    let (cache, source) = (Refreshing::default(), Source::default());
    for _ in 0..3 {
        assert_eq!(*cache.get(|| source.number()).await.unwrap(), 1);
    }
    advance(HOUR - CREDENTIAL_AHEAD - Duration::from_secs(5)).await;
    assert_eq!(*cache.get(|| source.number()).await.unwrap(), 1);
    advance(Duration::from_secs(10)).await;
    assert_eq!(*cache.get(|| source.number()).await.unwrap(), 2);
    assert_eq!(source.asked(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_value_without_an_end_is_obtained_once() {
    let cache = Refreshing::default();
    let forever = || async { Ok(Fetched { value: 1, expires: None }) };
    assert_eq!(*cache.get(forever).await.unwrap(), 1);
    advance(1000 * HOUR).await;
    let never = || async { Err::<Fetched<i32>, _>(down()) };
    assert_eq!(*cache.get(never).await.unwrap(), 1);
}

#[tokio::test(start_paused = true)]
async fn concurrent_callers_obtain_the_value_once() {
    let (cache, source) = (Refreshing::default(), Source::default());
    let slow = || async {
        sleep(Duration::from_secs(2)).await;
        source.number().await
    };
    let calls = futures_util::future::join_all((0..50).map(|_| cache.get(slow))).await;
    assert!(calls.into_iter().all(|value| *value.unwrap() == 1));
    assert_eq!(source.asked(), 1);
}

#[tokio::test(start_paused = true)]
async fn callers_that_wait_for_a_failing_attempt_share_its_error() {
    let (cache, tries) = (Refreshing::<u32>::default(), AtomicUsize::new(0));
    let failing = || async {
        tries.fetch_add(1, Ordering::SeqCst);
        sleep(Duration::from_secs(3)).await;
        Err(down())
    };
    let began = Instant::now();
    let calls = futures_util::future::join_all((0..50).map(|_| cache.get(failing))).await;
    assert!(calls.into_iter().all(|call| call.unwrap_err().kind() == ErrorKind::Connection));
    assert_eq!(tries.load(Ordering::SeqCst), 1);
    assert!(began.elapsed() < Duration::from_secs(4));
    // A later call tries again.
    assert!(cache.get(failing).await.is_err());
    assert_eq!(tries.load(Ordering::SeqCst), 2);
}

#[tokio::test(start_paused = true)]
async fn while_a_refresh_fails_the_old_value_is_used_as_long_as_it_is_valid() {
    let (cache, tries) = (Refreshing::default(), AtomicUsize::new(0));
    cache.get(|| async { Ok(valid_for(1, HOUR)) }).await.unwrap();
    advance(HOUR - CREDENTIAL_AHEAD + Duration::from_secs(1)).await;
    let failing = || async {
        tries.fetch_add(1, Ordering::SeqCst);
        Err(down())
    };
    for _ in 0..10 {
        assert_eq!(*cache.get(failing).await.unwrap(), 1);
    }
    assert_eq!(tries.load(Ordering::SeqCst), 1, "the next attempt waits");
    advance(CREDENTIAL_RETRY).await;
    assert_eq!(*cache.get(failing).await.unwrap(), 1);
    assert_eq!(tries.load(Ordering::SeqCst), 2);
    advance(CREDENTIAL_AHEAD).await;
    let error = cache.get(failing).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Connection, "it has expired");
    assert_eq!(*cache.get(|| async { Ok(valid_for(2, HOUR)) }).await.unwrap(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_slow_refresh_delays_a_call_with_a_valid_value_only_briefly() {
    let cache = Refreshing::default();
    cache.get(|| async { Ok(valid_for(1, HOUR)) }).await.unwrap();
    advance(HOUR - CREDENTIAL_AHEAD + Duration::from_secs(1)).await;
    let began = Instant::now();
    let hanging = || async {
        sleep(HOUR).await;
        Ok(valid_for(2, HOUR))
    };
    let (first, second) = tokio::join!(cache.get(hanging), cache.get(hanging));
    assert_eq!((*first.unwrap(), *second.unwrap()), (1, 1));
    assert!(began.elapsed() <= CREDENTIAL_AHEAD_WAIT + Duration::from_millis(1));
}

#[tokio::test(start_paused = true)]
async fn a_source_that_hangs_is_an_error_after_a_limit() {
    let cache = Refreshing::<u32>::default();
    let began = Instant::now();
    let hanging = std::future::pending::<Result<Fetched<u32>>>;
    let (first, second) = tokio::join!(cache.get(hanging), cache.get(hanging));
    assert_eq!(first.unwrap_err().kind(), ErrorKind::Timeout);
    assert_eq!(second.unwrap_err().kind(), ErrorKind::Timeout);
    assert!(began.elapsed() <= CREDENTIAL_WAIT + Duration::from_secs(1));
}

#[tokio::test(start_paused = true)]
async fn a_caller_that_is_dropped_leaves_the_attempt_to_the_next_one() {
    let (cache, source) = (Refreshing::default(), Source::default());
    {
        let hanging = cache.get(std::future::pending::<Result<Fetched<u32>>>);
        let dropped = timeout(Duration::from_millis(5), hanging).await;
        assert!(dropped.is_err());
    }
    assert_eq!(*cache.get(|| source.number()).await.unwrap(), 1);
}

#[tokio::test(start_paused = true)]
async fn of_hundreds_of_callers_those_that_are_not_cancelled_get_the_value() {
    let (cache, source) = (Refreshing::default(), Source::default());
    let slow = || async {
        sleep(Duration::from_secs(1)).await;
        source.number().await
    };
    let callers = (0..600_u64).map(|number| {
        let (cache, slow) = (&cache, &slow);
        async move {
            sleep(Duration::from_millis(number * 13 % 997)).await;
            // Two of three are cancelled, most of them before the value can be there.
            let patience = match number % 3 {
                0 => 2 * CREDENTIAL_WAIT,
                _ => Duration::from_millis(number * 37 % 1500),
            };
            (number % 3 == 0, timeout(patience, cache.get(slow)).await)
        }
    });
    for (is_patient, result) in futures_util::future::join_all(callers).await {
        match result {
            Ok(value) => assert!(*value.unwrap() >= 1),
            Err(_) => assert!(!is_patient),
        }
    }
    assert_eq!(source.asked(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_value_that_has_already_expired_is_an_error() {
    let cache = Refreshing::default();
    let expired = SystemTime::now() - Duration::from_secs(1);
    let old = || async { Ok(Fetched { value: 1, expires: Some(expired) }) };
    assert_eq!(cache.get(old).await.unwrap_err().kind(), ErrorKind::Auth);
}

#[tokio::test(start_paused = true)]
async fn a_value_that_expires_soon_is_not_replaced_at_every_call() {
    let (cache, tries) = (Refreshing::default(), AtomicUsize::new(0));
    let short = || async {
        tries.fetch_add(1, Ordering::SeqCst);
        Ok(valid_for(1, Duration::from_secs(100)))
    };
    for _ in 0..20 {
        cache.get(short).await.unwrap();
    }
    assert_eq!(tries.load(Ordering::SeqCst), 1);
}

#[tokio::test(start_paused = true)]
async fn a_value_that_was_just_obtained_is_not_forgotten() {
    let (cache, source) = (Refreshing::default(), Source::default());
    cache.get(|| source.number()).await.unwrap();
    let forget = || cache.forget(Instant::now().into_std(), Duration::from_secs(30));
    assert!(!forget());
    advance(Duration::from_secs(30)).await;
    assert!(forget());
    assert_eq!(*cache.get(|| source.number()).await.unwrap(), 2);
    assert!(!forget());
}

/// Found by 20 concurrent calls whose token was revoked: the first one replaced it, and the others failed.
#[tokio::test(start_paused = true)]
async fn requests_with_a_value_that_another_call_has_replaced_are_worth_sending_again() {
    let (cache, source) = (Refreshing::default(), Source::default());
    cache.get(|| source.number()).await.unwrap();
    advance(Duration::from_secs(60)).await;
    let authorized = Instant::now().into_std();
    advance(Duration::from_secs(1)).await;
    let age = Duration::from_secs(30);
    assert!(cache.forget(authorized, age));
    assert!(cache.forget(authorized, age), "the first call has not replaced it yet");
    assert_eq!(*cache.get(|| source.number()).await.unwrap(), 2);
    assert!(cache.forget(authorized, age), "it is replaced");
    assert_eq!(*cache.get(|| source.number()).await.unwrap(), 2, "the new one stays");
}

/// A caller whose leader was cancelled late began its own wait again, and waited for 30 seconds.
#[tokio::test(start_paused = true)]
async fn a_caller_waits_no_longer_if_others_are_cancelled_while_it_waits() {
    let cache = Refreshing::<u32>::default();
    let began = Instant::now();
    let hanging = std::future::pending::<Result<Fetched<u32>>>;
    let leader = timeout(CREDENTIAL_WAIT - Duration::from_secs(1), cache.get(hanging));
    let waiter = async {
        sleep(Duration::from_secs(1)).await;
        let waited = Instant::now();
        (cache.get(hanging).await, waited.elapsed())
    };
    // It came later, and has time for an attempt of its own.
    let later = async {
        sleep(Duration::from_secs(10)).await;
        cache.get(|| async { Ok(valid_for(7, HOUR)) }).await
    };
    let (cancelled, (waiter, waited), later) = tokio::join!(leader, waiter, later);
    assert!(cancelled.is_err());
    assert_eq!(waiter.unwrap_err().kind(), ErrorKind::Timeout);
    assert!(waited <= CREDENTIAL_WAIT + Duration::from_millis(10), "{waited:?}");
    assert_eq!(*later.unwrap(), 7, "the error of an attempt that had little time is not its error");
    assert!(began.elapsed() < 2 * CREDENTIAL_WAIT);
}
