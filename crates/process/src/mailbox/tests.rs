//! One step after the other: does everything come out once, in order?

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::{
    stack::{Pushed, Refused},
    *,
};

struct Whole<M> {
    gauge: Gauge,
    stack: Stack<M>,
    store: Store<M>,
}

impl<M: Send> Whole<M> {
    fn new(bound: u16) -> Whole<M> {
        Whole { gauge: Gauge::new(bound, 0), stack: Stack::new(), store: Store::new() }
    }

    fn mail(&self) -> Mailbox<'_, M> {
        Mailbox { gauge: &self.gauge, stack: &self.stack, store: &self.store }
    }
}

impl<M> Drop for Whole<M> {
    fn drop(&mut self) {
        // SAFETY: it is the last.
        unsafe { Mailbox { gauge: &self.gauge, stack: &self.stack, store: &self.store }.empty() };
    }
}

/// SAFETY for all of these: the test is the only thread.
fn all<M: Send>(mail: &Mailbox<'_, M>) -> Vec<M> {
    // SAFETY: as above.
    std::iter::from_fn(|| unsafe { mail.take() }).collect()
}

#[test]
fn slot_then_stack_come_out_in_order() {
    let whole = Whole::new(0);
    let mail = whole.mail();
    // SAFETY: see `all`.
    unsafe {
        mail.leave(1);
        assert_eq!(mail.push(2).ok(), Some(Pushed::First));
        assert_eq!(mail.push(3).ok(), Some(Pushed::Later));
        mail.settle();
    }
    assert_eq!(all(&mail), [1, 2, 3]);
}

#[test]
fn what_is_left_with_a_claimed_process_comes_behind_slot_and_backlog() {
    let whole = Whole::new(0);
    let mail = whole.mail();
    // SAFETY: see `all`.
    unsafe {
        mail.leave(1);
        let _ = mail.push(2);
        mail.settle();
        mail.unsettle(); // a turn that reads nothing
        mail.leave(3);
        mail.leave_more(4);
        mail.leave_more(5);
        let _ = mail.push(6);
        mail.leave_more(7);
        assert_eq!(mail.len(), 7);
        mail.settle();
    }
    assert_eq!(all(&mail), [1, 2, 3, 4, 5, 6, 7]);
}

#[test]
fn an_unread_backlog_comes_before_a_new_slot() {
    let whole = Whole::new(0);
    let mail = whole.mail();
    // SAFETY: see `all`.
    unsafe {
        mail.leave(1);
        let _ = mail.push(2);
        mail.settle();
        mail.unsettle(); // a turn that reads nothing
        mail.leave(3);
        let _ = mail.push(4);
        mail.settle();
        assert_eq!(mail.take(), Some(1));
        mail.unsettle();
        mail.leave(5);
        mail.settle();
    }
    assert_eq!(all(&mail), [2, 3, 4, 5]);
}

#[test]
fn leaving_beside_a_stack_that_is_not_empty_goes_behind_it() {
    let whole = Whole::new(0);
    let mail = whole.mail();
    // SAFETY: see `all`.
    unsafe {
        let _ = mail.push(1); // its sender has not woken yet
        mail.leave(2);
        mail.settle();
    }
    assert_eq!(all(&mail), [1, 2]);
}

#[test]
fn the_bound_counts_what_waits_wherever_it_is() {
    let whole = Whole::new(3);
    let mail = whole.mail();
    assert!(mail.push(1).is_ok() && mail.push(2).is_ok());
    // SAFETY: see `all`.
    unsafe { mail.settle() };
    assert!(mail.push(3).is_ok());
    assert_eq!(mail.push(4).unwrap_err(), (Refused::Full, 4));
    assert!(mail.is_full());
    // SAFETY: see `all`.
    assert_eq!(unsafe { mail.take() }, Some(1));
    assert!(mail.push(5).is_ok());
    assert_eq!(all(&mail), [2, 3, 5]);
}

#[test]
fn selective_take_keeps_the_order_of_the_others_and_the_ends() {
    let whole = Whole::new(0);
    let mail = whole.mail();
    for number in 1..=5 {
        let _ = mail.push(number);
    }
    // SAFETY: see `all`.
    unsafe {
        assert_eq!(mail.take_if(|number| *number == 5), Some(5));
        let _ = mail.push(6);
        assert_eq!(mail.take_if(|number| *number == 1), Some(1));
        assert_eq!(mail.take_if(|number| *number == 3), Some(3));
        assert_eq!(mail.take_if(|number| *number == 9), None);
    }
    assert_eq!(all(&mail), [2, 4, 6]);
}

#[test]
fn a_predicate_that_panics_loses_nothing() {
    let whole = Whole::new(0);
    let mail = whole.mail();
    // SAFETY: see `all`.
    unsafe { mail.leave(1) };
    let _ = mail.push(2);
    // SAFETY: see `all`.
    let panicking = AssertUnwindSafe(|| unsafe { mail.take_if(|_| panic!("on purpose")) });
    assert!(catch_unwind(panicking).is_err());
    assert_eq!(all(&mail), [1, 2]);
}

#[test]
fn closing_drops_all_and_lets_nothing_in() {
    let whole = Whole::new(0);
    let mail = whole.mail();
    let message = std::sync::Arc::new(());
    // SAFETY: see `all`.
    unsafe {
        mail.leave(message.clone());
        let _ = mail.push(message.clone());
        mail.settle();
        let _ = mail.push(message.clone());
        assert_eq!(mail.close(), 3);
    }
    assert_eq!(std::sync::Arc::strong_count(&message), 1);
    assert_eq!(mail.push(message.clone()).unwrap_err().0, Refused::Closed);
    assert!(mail.is_closed());
}
