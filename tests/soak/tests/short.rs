//! Ten seconds of it.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::time::Duration;

use soak::Plan;

#[test]
fn ten_seconds_of_everything_at_once_leave_the_books_right_and_nothing_behind() {
    let report = soak::run(Plan::lasting(Duration::from_secs(10))).unwrap();
    assert!(report.broken.is_empty(), "{report}");
}
