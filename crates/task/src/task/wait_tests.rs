//! Does the wait word do what its picture says, one step after the other?

use super::*;

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
    assert!(wait.take(|_, _| ()).is_none());
    wait.deliver(Outcome::Bytes, b"hello");
    assert_eq!(wait.take(|_, bytes| bytes.to_vec()).unwrap(), b"hello");
    assert!(wait.begin(false).is_some());
}

#[test]
fn cancelled_while_it_waits_then_never_waits_again() {
    let wait = Wait::default();
    wait.begin(false).unwrap();
    assert_eq!(wait.cancel(), Some(Claim { timed: false }));
    assert_eq!(wait.cancel(), None);
    wait.deliver(Outcome::Code(Code::Cancelled), &[]);
    assert!(wait.take(|_, _| ()).is_some());
    assert!(wait.is_cancelled());
    assert!(wait.begin(false).is_none());
}

#[test]
fn cancelled_after_it_was_claimed_then_keeps_its_outcome() {
    let wait = Wait::default();
    let epoch = wait.begin(false).unwrap();
    wait.claim(epoch).unwrap();
    assert_eq!(wait.cancel(), None);
    wait.deliver(Outcome::Value(7), &[]);
    assert!(matches!(wait.take(|outcome, _| outcome), Some(Outcome::Value(7))));
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
    wait.deliver(Outcome::Bytes, &[7; 10_000]);
    wait.take(|_, _| ()).unwrap();
    assert_eq!(wait.delivery.lock().bytes.capacity(), 0);
}
