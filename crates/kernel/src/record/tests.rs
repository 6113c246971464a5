//! What does a ring keep, and what does a reader get while it is written to?

use super::*;

fn ring(capacity: u64) -> Mutex<Ring> {
    let capacity = capacity as usize;
    Mutex::new(Ring { capacity, notes: Vec::new(), place: 0, next: 0, first: 0 })
}

fn write(ring: &Mutex<Ring>, times: std::ops::Range<u64>) {
    for at in times {
        ring.lock().write(Note::new(at, EventKind::Park, None));
    }
}

fn times(notes: &[Note]) -> Vec<u64> {
    notes.iter().map(|note| note.at).collect()
}

#[test]
fn ring_keeps_the_newest_and_counts_the_rest() {
    for capacity in [1, 2, 7, 10] {
        let ring = ring(capacity);
        for n in 0..25 {
            let (notes, dropped) = copy(&ring, || ());
            let kept = n.min(capacity);
            assert_eq!(times(&notes), (n - kept..n).collect::<Vec<_>>());
            assert_eq!(dropped, n - kept);
            write(&ring, n..n + 1);
            assert_eq!(ring.lock().last().map(|note| note.at), Some(n));
        }
    }
}

/// The writer overtakes the reader between two chunks: what is read has no gap.
#[test]
fn ring_that_is_overwritten_while_it_is_read_gives_what_came_last() {
    let capacity = 3 * CHUNK;
    for overwritten in [0, 1, CHUNK, CHUNK + 1, 2 * CHUNK, 5 * CHUNK] {
        let ring = ring(capacity);
        write(&ring, 0..capacity);
        let mut chunks = 0;
        let (notes, dropped) = copy(&ring, || {
            chunks += 1;
            if chunks == 1 {
                write(&ring, capacity..capacity + overwritten);
            }
        });
        // One chunk was copied before. It stays unless something behind it is gone.
        let first = if overwritten <= CHUNK { 0 } else { overwritten.min(capacity) };
        assert_eq!(times(&notes), (first..capacity).collect::<Vec<_>>());
        assert_eq!(dropped, first);
    }
}

#[test]
fn new_recording_while_an_old_one_is_read_leaves_nothing_of_the_old() {
    let recorder = Recorder::new(1, Some(4 * CHUNK as usize), false);
    for at in 0..3 * CHUNK {
        recorder.write(Some(0), Note::new(at, EventKind::Park, None));
    }
    let (notes, _) = copy(&recorder.rings[0], || {
        recorder.switch(false);
        recorder.switch(true);
    });
    assert!(notes.is_empty());
}

#[test]
fn recorder_without_room_keeps_one_event() {
    let recorder = Recorder::new(1, Some(0), false);
    for at in 0..3 {
        recorder.write(Some(0), Note::new(at, EventKind::Park, None));
    }
    let recording = recorder.read(0, &Mutex::default());
    assert_eq!((recording.events.len(), recording.dropped), (1, 2));
}
