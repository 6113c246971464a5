//! Models of a ring that is read while it is written to.
//!
//! The words of a note are relaxed, so that only the protocol orders them: a note that is seen half
//! was published too early, or looked at too early.

use super::*;
use crate::record::EventKind;
use loom::thread;

/// All of its words tell which one it is.
fn note(number: u64) -> Note {
    let strand = Some(crate::strand::StrandId(10 + number));
    Note::new(20 + number, EventKind::Run, strand).waited(5 + number, Some(number as usize))
}

/// Rule 2: what is found are the newest, whole and without a gap.
fn look(ring: &Ring) -> View {
    let view = ring.look();
    for (found, number) in view.notes(0).zip(view.dropped..) {
        assert_eq!(found, note(number), "an event was seen half");
    }
    view
}

/// A ring for so many events, one thread that writes and one that reads.
fn read_while_written(capacity: usize, events: u64, looks: usize) {
    loom::model(move || {
        let ring = Arc::new(Ring::new(capacity));
        let writing = thread::spawn({
            let mut writer = Writer::new(ring.clone());
            move || {
                (0..events).for_each(|number| writer.write(note(number)));
            }
        });
        let mut seen = 0;
        for _ in 0..looks {
            let view = look(&ring);
            let end = view.dropped + view.len() as u64;
            assert!(end >= seen, "an event that was seen is gone, and so is what came after it");
            seen = end;
        }
        writing.join().unwrap();
        let view = look(&ring);
        assert_eq!((view.dropped + view.len() as u64, view.len()), (events, capacity));
    });
}

#[test]
fn event_that_is_seen_is_seen_whole() {
    read_while_written(2, 2, 1);
}

/// Pages of one event: each of them is used again after one more.
#[test]
fn page_that_is_read_is_not_written_over() {
    read_while_written(1, 4, 2);
}

/// Rule 3: a reader sees the wait of a job's turn or does not; who sees what came after it, does.
#[test]
fn wait_is_seen_with_what_came_after_it() {
    loom::model(|| {
        let ring = Arc::new(Ring::new(2));
        let begun = Note::new(20, EventKind::Run, None);
        let writing = thread::spawn({
            let mut writer = Writer::new(ring.clone());
            move || {
                writer.write(begun);
                assert_eq!(writer.began_after(10), Some(20));
                writer.write(Note::new(30, EventKind::End, None));
            }
        });
        let view = ring.look();
        if view.len() > 0 {
            let (found, filled) = (view.note(0), begun.waited(10, None));
            assert!(found == filled || (found == begun && view.len() == 1), "{found:?}");
        }
        writing.join().unwrap();
    });
}

/// A new recording begins at some event, and has all from there on that there is room for.
#[test]
fn new_recording_begins_while_it_is_written_to() {
    loom::model(|| {
        let ring = Arc::new(Ring::new(2));
        let writing = thread::spawn({
            let mut writer = Writer::new(ring.clone());
            move || (0..4).for_each(|number| writer.write(note(number)))
        });
        ring.begin_anew(false);
        let early = ring.look();
        writing.join().unwrap();
        let late = ring.look();
        // What it has dropped and found is the end of all, so this is where it began.
        let began = 4 - late.dropped - late.len() as u64;
        assert!(late.len() as u64 == 2.min(4 - began), "there was room for more");
        for view in [early, late] {
            for (found, number) in view.notes(0).zip(began + view.dropped..) {
                assert_eq!(found, note(number));
            }
        }
    });
}
