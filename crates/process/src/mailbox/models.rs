//! All interleavings of two or three threads that send, hand off and take turns.
//!
//! The mailbox and the strand's state word are the real ones. A message carries a cell that loom
//! watches, so that a missing ordering shows as a race.

use super::{stack::Pushed, *};
use kernel::model::ModelStrand;
use loom::thread;
use std::sync::{Arc, Mutex, atomic::AtomicUsize};

struct Message {
    from: usize,
    number: usize,
    text: loom::cell::UnsafeCell<usize>,
}

fn message(from: usize, number: usize) -> Message {
    let text = loom::cell::UnsafeCell::new(0);
    // SAFETY: it is ours. Written by itself: loom does not always see that it was made.
    text.with_mut(|text| unsafe { *text = number });
    Message { from, number, text }
}

struct Front {
    gauge: Gauge,
    stack: Stack<Message>,
    store: Store<Message>,
    /// What was read, in order. Not loom's: turns do not overlap.
    read: Mutex<Vec<(usize, usize)>>,
    /// Some of its turns read nothing.
    lazy: bool,
}

impl Front {
    fn mail(&self) -> Mailbox<'_, Message> {
        Mailbox { gauge: &self.gauge, stack: &self.stack, store: &self.store }
    }

    /// A turn that reads all it finds, or nothing at all.
    fn turn(&self, reads: bool) {
        let mail = self.mail();
        // SAFETY: the strand's state lets one turn at a time in; loom checks it.
        unsafe {
            mail.settle();
            while let Some(message) = reads.then(|| mail.take()).flatten() {
                // SAFETY: the message is ours; loom checks that its sender's writes are seen.
                let text = message.text.with(|text| *text);
                assert_eq!(text, message.number);
                self.read.lock().unwrap().push((message.from, message.number));
            }
            mail.unsettle();
        }
    }
}

type Strand = ModelStrand<Front>;

fn strand(lazy: bool) -> Arc<Strand> {
    Arc::new(ModelStrand::idle(Front {
        gauge: Gauge::new(0, 0),
        stack: Stack::new(),
        store: Store::new(),
        read: Mutex::default(),
        lazy,
    }))
}

/// As `Addr::send`.
fn send(strand: &Strand, message: Message) {
    // SAFETY: in `wake_with`.
    let left = strand.wake_with(message, |front, m| unsafe { front.mail().leave(m) });
    if let Err(message) = left
        && let Ok(Pushed::First) = strand.open().mail().push(message)
    {
        strand.wake();
    }
}

/// As `Addr::hand_off`, and the turn that follows.
fn hand_off(strand: &Strand, message: Message) {
    hand_off_then(strand, message, |front| front.turn(true));
}

fn hand_off_then(strand: &Strand, message: Message, turn: impl FnOnce(&Front)) {
    let settled = |front: &Front| front.mail().is_settled();
    // SAFETY: in `hand_off_with`.
    let leave = |front: &Front, m| unsafe { front.mail().leave(m) };
    let left = strand.hand_off_with(message, settled, leave, turn);
    if let Err(message) = left {
        send(strand, message);
    }
}

/// One more turn at least, as a timer would bring it; then all must have been read.
fn finish(strand: &Strand, expected: usize) {
    while strand.run(|front| front.turn(true)) {}
    let so_far = strand.open().read.lock().unwrap().len();
    strand.wake();
    while strand.run(|front| front.turn(true)) {}
    let read = std::mem::take(&mut *strand.open().read.lock().unwrap());
    assert_eq!(read.len(), expected, "lost or doubled: {read:?}");
    assert!(so_far == expected || strand.open().lazy, "read only since something else came");
    for sender in 0..2 {
        let own: Vec<usize> =
            read.iter().filter(|(from, _)| *from == sender).map(|(_, number)| *number).collect();
        assert!(own.is_sorted(), "out of order: {own:?}");
    }
}

/// Idle against send: what is sent while the process goes idle is read, in order.
#[test]
fn sent_while_the_process_goes_idle_is_read_in_order() {
    loom::model(|| {
        let strand = strand(false);
        send(&strand, message(1, 0));
        let sender = thread::spawn({
            let strand = strand.clone();
            move || {
                send(&strand, message(0, 0));
                send(&strand, message(0, 1));
            }
        });
        strand.run(|front| front.turn(true));
        sender.join().unwrap();
        finish(&strand, 3);
    });
}

/// The same with turns that read nothing: the backlog is older than what comes.
#[test]
fn sent_to_a_process_that_does_not_read_is_read_in_order_later() {
    loom::model(|| {
        let strand = strand(true);
        let sender = thread::spawn({
            let strand = strand.clone();
            move || {
                send(&strand, message(0, 0));
                send(&strand, message(0, 1));
            }
        });
        strand.run(|front| front.turn(false));
        strand.run(|front| front.turn(false));
        sender.join().unwrap();
        finish(&strand, 2);
    });
}

/// Two senders, of whom one may push without waking: the other's wake stands for both.
#[test]
fn two_send_at_once_and_both_are_read_in_order() {
    loom::model(|| {
        let strand = strand(false);
        let sender = thread::spawn({
            let strand = strand.clone();
            move || send(&strand, message(1, 0))
        });
        send(&strand, message(0, 0));
        send(&strand, message(0, 1));
        sender.join().unwrap();
        finish(&strand, 3);
    });
}

/// A hand-off beside a sender that fills the slot at the same moment.
#[test]
fn handed_off_while_another_sends_is_read_in_order() {
    loom::model(|| {
        let strand = strand(false);
        let sender = thread::spawn({
            let strand = strand.clone();
            move || {
                send(&strand, message(1, 0));
                send(&strand, message(1, 1));
            }
        });
        hand_off(&strand, message(0, 0));
        sender.join().unwrap();
        finish(&strand, 3);
    });
}

/// The same, where the slot goes behind what was not read before.
#[test]
fn handed_off_beside_a_backlog_while_another_sends_is_read_in_order() {
    loom::model(|| {
        let strand = strand(true);
        send(&strand, message(0, 0));
        strand.run(|front| front.turn(false));
        let sender = thread::spawn({
            let strand = strand.clone();
            move || send(&strand, message(1, 0))
        });
        hand_off(&strand, message(0, 1));
        sender.join().unwrap();
        finish(&strand, 3);
    });
}

/// A hand-off beside a sender that fills the slot, and a turn that takes nothing: it moves what lies in the
/// slot, at its end or to look for what is wanted.
#[test]
fn handed_off_beside_one_that_fills_and_not_taken_is_read_later() {
    let looks: [fn(&Front); 2] = [
        |front| front.turn(false),
        |front| {
            // SAFETY: as in `turn`.
            let found = unsafe {
                front.mail().settle();
                front.mail().take_if(|_| false)
            };
            assert!(found.is_none());
        },
    ];
    for look in looks {
        loom::model(move || {
            let strand = strand(true);
            let sender = thread::spawn({
                let strand = strand.clone();
                move || send(&strand, message(1, 0))
            });
            hand_off_then(&strand, message(0, 0), look);
            sender.join().unwrap();
            finish(&strand, 2);
        });
    }
}

/// A second message goes with a hand-off, beside a sender that fills the slot and pushes.
#[test]
fn handed_off_twice_while_another_sends_is_read_in_order() {
    loom::model(|| {
        let strand = strand(false);
        let sender = thread::spawn({
            let strand = strand.clone();
            move || {
                send(&strand, message(1, 0));
                send(&strand, message(1, 1));
            }
        });
        let settled = |front: &Front| front.mail().is_settled();
        // SAFETY: in `hand_off_with`.
        let leave = |front: &Front, m| unsafe { front.mail().leave(m) };
        let left = strand.hand_off_with(message(0, 0), settled, leave, |front| {
            // SAFETY: the strand is claimed, and its turn begins afterwards.
            unsafe { front.mail().leave_more(message(0, 1)) };
            front.turn(true);
        });
        if let Err(first) = left {
            send(&strand, first);
            send(&strand, message(0, 1));
        }
        sender.join().unwrap();
        finish(&strand, 4);
    });
}

/// Two that hand off at once.
#[test]
fn two_hand_off_at_once_and_both_are_read() {
    loom::model(|| {
        let strand = strand(false);
        let other = thread::spawn({
            let strand = strand.clone();
            move || {
                hand_off(&strand, message(1, 0));
                hand_off(&strand, message(1, 1));
            }
        });
        hand_off(&strand, message(0, 0));
        other.join().unwrap();
        finish(&strand, 3);
    });
}

/// A message that looks at what its sender wrote when it is dropped, and then counts.
struct Dropped(Message, Arc<AtomicUsize>);

impl Drop for Dropped {
    fn drop(&mut self) {
        // SAFETY: the message is ours; loom checks that its sender's writes are seen. Who drops
        // messages contains panics, so the count tells.
        assert_eq!(self.0.text.with(|text| unsafe { *text }), self.0.number);
        self.1.fetch_add(1, Relaxed);
    }
}

/// A message is dropped by the close, or by who sent it, or refused: it is nowhere afterwards.
fn sent_while_closing(drops_above: Option<usize>, sender_first: bool) {
    loom::model(move || {
        let (gauge, store) = match drops_above {
            Some(bound) => Store::dropping(bound, 0),
            None => (Gauge::new(0, 0), Store::new()),
        };
        let front = Arc::new((gauge, store, Stack::new()));
        let dropped = Arc::new(AtomicUsize::new(0));
        let sender = thread::spawn({
            let (front, dropped) = (front.clone(), dropped.clone());
            move || {
                let mail = Mailbox { gauge: &front.0, stack: &front.2, store: &front.1 };
                drop(mail.push(Dropped(message(0, 7), dropped)));
            }
        });
        if sender_first {
            thread::yield_now(); // by itself loom would not let it
        }
        let mail = Mailbox { gauge: &front.0, stack: &front.2, store: &front.1 };
        // SAFETY: this is the only reader.
        unsafe { mail.close() };
        sender.join().unwrap();
        assert_eq!(dropped.load(Relaxed), 1, "it is still somewhere, or was not whole");
        // SAFETY: the sender has ended. The ring goes, too, now that it is known what was in it.
        unsafe { mail.empty() };
    });
}

#[test]
fn sent_while_the_mailbox_closes_is_dropped_or_given_back() {
    sent_while_closing(None, false);
    sent_while_closing(None, true);
}

#[test]
fn sent_while_a_ring_closes_is_dropped_or_given_back() {
    sent_while_closing(Some(2), false);
    sent_while_closing(Some(2), true);
}
