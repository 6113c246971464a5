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
            let Copied { notes, dropped, .. } = copy(&ring, 0, || ());
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
        let Copied { notes, dropped, .. } = copy(&ring, 0, || {
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
    let copied = copy(&recorder.rings[0], 0, || {
        recorder.switch(false);
        recorder.switch(true);
    });
    assert!(copied.notes.is_empty());
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

/// A reader who looks again and again does not read the whole ring each time.
#[test]
fn what_came_long_before_is_not_copied() {
    for (capacity, written) in [(8 * CHUNK, 7 * CHUNK), (8 * CHUNK, 19 * CHUNK + 5)] {
        let ring = ring(capacity);
        write(&ring, 0..written);
        for last in [0, 1, 100, 3 * CHUNK] {
            let copied = copy(&ring, written - last, || ());
            let from = written - last - LOOK_BACK;
            if from > written.saturating_sub(capacity) {
                assert_eq!(times(&copied.notes), (from..written).collect::<Vec<_>>());
                assert!(copied.skipped && copied.dropped == 0);
            }
            let mut taken = Vec::new();
            assert_eq!(part(&copied, written - last, |note| taken.push(note.at)), 0);
            assert_eq!(taken, (written - last..written).collect::<Vec<_>>());
        }
    }
}

/// A turn that was under way is there with its beginning, or else with its end at least.
#[test]
fn turn_that_was_under_way_is_seen() {
    for (meanwhile, seen) in [(10, vec![0, 20_001]), (LOOK_BACK + 1, vec![20_001])] {
        let ring = ring(1 << 16);
        ring.lock().write(Note::new(0, EventKind::Run, None));
        write(&ring, 20_000 - meanwhile..20_000);
        ring.lock().write(Note::new(20_001, EventKind::End, None));
        let mut taken = Vec::new();
        part(&copy(&ring, 20_000, || ()), 20_000, |note| taken.push(note.at));
        assert_eq!(taken, seen);
    }
}

#[test]
fn forgotten_recording_leaves_no_memory_and_nothing_to_read() {
    let recorder = Recorder::new(1, Some(10), false);
    let write = |at| recorder.write(Some(0), Note::new(at, EventKind::Park, None));
    (0..25).for_each(write);
    recorder.forget();
    assert_eq!(recorder.read(0, &Mutex::default()).events.len(), 10, "it is on");
    recorder.switch(false);
    recorder.forget();
    assert!(recorder.rings.iter().all(|ring| ring.lock().notes.capacity() == 0));
    assert!(recorder.ring(Some(0)).last().is_none());
    let nothing = recorder.read(0, &Mutex::default());
    assert_eq!((nothing.events.len(), nothing.dropped), (0, 0));
    // A turn that ends now says so still.
    write(25);
    recorder.switch(true);
    (26..29).for_each(write);
    let recording = recorder.read(0, &Mutex::default());
    let times: Vec<_> = recording.events.iter().map(|event| event.at.as_nanos()).collect();
    assert_eq!((times, recording.dropped), (vec![26, 27, 28], 0));
    (29..45).for_each(write);
    let recording = recorder.read(0, &Mutex::default());
    let times: Vec<_> = recording.events.iter().map(|event| event.at.as_nanos()).collect();
    assert_eq!((times, recording.dropped), ((35..45).collect::<Vec<_>>(), 9));
}

#[test]
fn recording_that_is_forgotten_while_it_is_read_ends_there() {
    let recorder = Recorder::new(1, Some(4 * CHUNK as usize), false);
    for at in 0..3 * CHUNK {
        recorder.write(Some(0), Note::new(at, EventKind::Park, None));
    }
    let copied = copy(&recorder.rings[0], 0, || {
        recorder.switch(false);
        recorder.forget();
    });
    assert!(copied.notes.is_empty());
}
