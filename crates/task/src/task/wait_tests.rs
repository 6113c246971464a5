//! Does the wait word do what its picture says, one step after the other?

use super::*;

/// Delivers to a wait that the test has claimed.
fn deliver(wait: &Wait, outcome: Outcome, bytes: &[u8]) {
    // SAFETY: by the caller's word, and there is one thread only.
    unsafe { wait.deliver(outcome, bytes) }
}

/// Takes the outcome as the task would.
fn take(wait: &Wait) -> Option<(Outcome, Vec<u8>)> {
    // SAFETY: there is one thread only.
    unsafe { wait.take(|outcome, bytes| (outcome, bytes.to_vec())) }
}

#[test]
fn a_wait_is_claimed_once() {
    let wait = Wait::default();
    let epoch = wait.begin(false).unwrap();
    assert_eq!(wait.claim(epoch), Some(Claim { timed: false }));
    assert_eq!(wait.claim(epoch), None);
    assert!(wait.claim_own().is_none());
}

#[test]
fn an_entry_that_was_left_behind_claims_nothing() {
    let wait = Wait::default();
    let old = wait.begin(true).unwrap();
    assert_eq!(wait.claim_own(), Some(Claim { timed: true }));
    assert_eq!(wait.claim(old), None);
    let new = wait.begin(false).unwrap();
    assert_eq!(wait.claim(old), None);
    assert!(!wait.waits(old) && wait.waits(new));
    assert_eq!(wait.claim(new), Some(Claim { timed: false }));
}

#[test]
fn woken_before_the_outcome_is_delivered_then_waits_on() {
    let wait = Wait::default();
    let epoch = wait.begin(false).unwrap();
    assert!(wait.is_waiting());
    wait.claim(epoch).unwrap();
    assert!(!wait.is_waiting());
    assert!(take(&wait).is_none());
    deliver(&wait, Outcome::Bytes, b"hello");
    assert_eq!(take(&wait).unwrap().1, b"hello");
    assert!(wait.begin(false).is_some());
}

#[test]
fn cancelled_while_it_waits_then_never_waits_again() {
    let wait = Wait::default();
    wait.begin(false).unwrap();
    assert_eq!(wait.cancel(), Some(Claim { timed: false }));
    assert_eq!(wait.cancel(), None);
    deliver(&wait, Outcome::Code(Code::Cancelled), &[]);
    assert!(take(&wait).is_some());
    assert!(wait.is_cancelled());
    assert!(wait.begin(false).is_none());
}

#[test]
fn cancelled_after_it_was_claimed_then_keeps_its_outcome() {
    let wait = Wait::default();
    let epoch = wait.begin(false).unwrap();
    wait.claim(epoch).unwrap();
    assert_eq!(wait.cancel(), None);
    deliver(&wait, Outcome::Value(7), &[]);
    assert!(matches!(take(&wait), Some((Outcome::Value(7), _))));
}

#[test]
fn doomed_whatever_it_waits_for() {
    let wait = Wait::default();
    assert_eq!(wait.doom(), None);
    wait.begin(false).unwrap();
    assert_eq!(wait.doom(), Some(Claim { timed: false }));
    assert!(wait.is_doomed());
}

#[test]
fn memory_of_a_large_message_is_given_back() {
    let wait = Wait::default();
    let epoch = wait.begin(false).unwrap();
    wait.claim(epoch).unwrap();
    deliver(&wait, Outcome::Bytes, &[7; 10_000]);
    take(&wait).unwrap();
    // SAFETY: there is one thread only.
    let kept = wait.delivery.with_mut(|delivery| unsafe { (*delivery).bytes.capacity() });
    assert_eq!(kept, 0);
}
