//! What does a ring keep, and what does a reader get while it is written to?

use super::*;
use std::ops::Range;

const PAGE: u64 = ring::PAGE as u64;

/// A ring and who writes to it.
struct Log {
    ring: Arc<Ring>,
    writer: Writer,
}

impl Log {
    fn new(capacity: u64) -> Log {
        let ring = Arc::new(Ring::new(capacity as usize));
        Log { writer: Writer::new(ring.clone()), ring }
    }

    fn write(&mut self, times: Range<u64>) {
        for at in times {
            self.writer.write(Note::new(at, EventKind::Park, None));
        }
    }
}

fn times(view: &View) -> Vec<u64> {
    view.notes(0).map(|note| note.at()).collect()
}

fn taken(view: &View, since: Nanos) -> (Vec<u64>, u64) {
    let mut taken = Vec::new();
    let missing = part(view, since, since, |note| taken.push(note.at()));
    (taken, missing)
}

fn all(range: Range<u64>) -> Vec<u64> {
    range.collect()
}

#[test]
fn ring_keeps_the_newest_and_counts_the_rest() {
    for capacity in [1, 2, 7, 10, PAGE, PAGE + 1, 3 * PAGE + 5] {
        let mut log = Log::new(capacity);
        let step = capacity.div_ceil(7);
        for n in (0..25).map(|n| n * step) {
            let view = log.ring.look();
            let kept = n.min(capacity);
            assert_eq!(times(&view), all(n - kept..n));
            assert_eq!(
                (0..kept).map(|i| view.note(i as usize).at()).collect::<Vec<_>>(),
                times(&view)
            );
            assert_eq!((view.dropped, view.len() as u64), (n - kept, kept));
            log.write(n..n + step);
        }
    }
}

/// However much is written meanwhile, what a reader has found stays as it was.
#[test]
fn ring_that_is_overwritten_while_it_is_read_leaves_the_reader_what_it_found() {
    let capacity = 3 * PAGE;
    for overwritten in [0, 1, PAGE, PAGE + 1, 2 * PAGE, 9 * PAGE] {
        let mut log = Log::new(capacity);
        log.write(0..capacity + 7);
        let view = log.ring.look();
        log.write(capacity + 7..capacity + 7 + overwritten);
        assert_eq!((times(&view), view.dropped), (all(7..capacity + 7), 7));
        let next = log.ring.look();
        assert_eq!(times(&next), all(7 + overwritten..capacity + 7 + overwritten));
        assert_eq!(next.dropped, 7 + overwritten);
    }
}

#[test]
fn full_ring_uses_its_pages_again_as_soon_as_nobody_reads_them() {
    let mut log = Log::new(3 * PAGE);
    log.write(0..9 * PAGE);
    assert_eq!(log.ring.pages(), 4);
    let view = log.ring.look();
    log.write(9 * PAGE..20 * PAGE);
    assert_eq!(log.ring.pages(), 4);
    drop(view);
    log.write(20 * PAGE..30 * PAGE);
    assert_eq!((log.ring.pages(), times(&log.ring.look())), (4, all(27 * PAGE..30 * PAGE)));
}

#[test]
fn new_recording_has_nothing_of_the_old_one_and_leaves_it_to_its_reader() {
    let mut log = Log::new(4 * PAGE);
    for written in [3, PAGE, 2 * PAGE + 5, 11 * PAGE] {
        log.ring.begin_anew(true);
        assert_eq!(log.ring.pages(), 5);
        log.write(0..written);
        let view = log.ring.look();
        let first = written.saturating_sub(4 * PAGE);
        assert_eq!((times(&view), view.dropped), (all(first..written), first));
        log.ring.begin_anew(false);
        let next = log.ring.look();
        assert_eq!((next.len(), next.dropped), (0, 0));
        assert_eq!(times(&view), all(first..written));
    }
}

#[test]
fn recorder_without_room_keeps_one_event() {
    let recorder = Recorder::new(1, Some(0), false);
    for at in 0..3 {
        recorder.write_outside(|| at, |at| Note::new(at, EventKind::Park, None));
    }
    let recording = recorder.read(0, &Mutex::default());
    assert_eq!((recording.events.len(), recording.dropped), (1, 2));
}

/// A reader who looks again and again does not read the whole ring each time.
#[test]
fn what_came_long_before_is_not_looked_at() {
    let back = LOOK_BACK as u64;
    for (capacity, written) in [(8 * PAGE, 7 * PAGE), (8 * PAGE, 19 * PAGE + 5)] {
        let mut log = Log::new(capacity);
        // Each is the beginning of a turn that does not end: all that are looked at are taken.
        for at in 0..written {
            log.writer.write(Note::new(at, EventKind::Run, None));
        }
        let (view, oldest) = (log.ring.look(), written.saturating_sub(capacity));
        for last in [0, 1, 100, 3 * PAGE] {
            let since = written - last;
            let (mut times, missing) = taken(&view, since);
            times.sort_unstable();
            assert_eq!(times, all(oldest.max(since - back)..written));
            assert_eq!(missing, 0);
        }
    }
}

/// A turn that was under way is there with its beginning, or else with its end at least.
#[test]
fn turn_that_was_under_way_is_seen() {
    for (meanwhile, seen) in [(10, vec![0, 20_001]), (LOOK_BACK as u64 + 1, vec![20_001])] {
        let mut log = Log::new(1 << 16);
        log.writer.write(Note::new(0, EventKind::Run, None));
        log.write(20_000 - meanwhile..20_000);
        log.writer.write(Note::new(20_001, EventKind::End, None));
        assert_eq!(taken(&log.ring.look(), 20_000).0, seen);
    }
}

#[test]
fn wait_is_filled_in_only_where_a_job_has_just_begun() {
    let mut log = Log::new(2);
    assert_eq!(log.writer.began_after(5), None, "nothing was written");
    let strand = Some(StrandId(1));
    for (note, began) in [
        (Note::new(7, EventKind::Run, None), Some(7)),
        (Note::new(3, EventKind::Run, None), Some(5)),
        (Note::new(7, EventKind::Run, strand), None),
        (Note::new(7, EventKind::Run, None).waited(6, None), None),
        (Note::new(7, EventKind::Park, None), None),
    ] {
        log.writer.write(note);
        assert_eq!(log.writer.began_after(5), began);
        let view = log.ring.look();
        let last = view.note(view.len() - 1);
        match began {
            Some(began) => assert_eq!(last, note.waited(5, None), "at {began}"),
            None => assert_eq!(last, note),
        }
    }
}

#[test]
fn forgotten_recording_leaves_a_page_at_most_and_nothing_to_read() {
    let recorder = Recorder::new(1, Some(10), false);
    let mut writer = recorder.writer(0).expect("this is no simulation");
    let mut write = |times: Range<u64>| {
        for at in times {
            writer.write(Note::new(at, EventKind::Park, None));
        }
    };
    let read = || {
        let recording = recorder.read(0, &Mutex::default());
        let times = recording.events.iter().map(|event| event.at.as_nanos() as u64);
        (times.collect::<Vec<_>>(), recording.dropped)
    };
    write(0..25);
    recorder.forget();
    assert_eq!(read(), (all(15..25), 15), "it is on");
    recorder.switch(false);
    recorder.forget();
    assert_eq!(recorder.rings.iter().map(|ring| ring.pages()).collect::<Vec<_>>(), [1, 0]);
    assert_eq!(read(), (vec![], 0));
    // A turn that ends now says so still.
    write(25..26);
    recorder.switch(true);
    write(26..29);
    assert_eq!(read(), (all(26..29), 0));
    write(29..45);
    assert_eq!(read(), (all(35..45), 9));
}

/// One writes without a pause, another reads: what is found are always the newest, without a gap, and
/// none is half of one and half of another.
#[test]
fn whoever_reads_while_another_writes_finds_whole_events_in_their_order() {
    let (ring, events) = (Arc::new(Ring::new(2 * ring::PAGE)), 200 * PAGE);
    let note = |at| {
        let strand = Some(StrandId(at * 3));
        Note::new(at, EventKind::Run, strand).waited(at / 2 + 1, Some(at as usize % 1000))
    };
    std::thread::scope(|threads| {
        let writing = threads.spawn(|| {
            let mut writer = Writer::new(ring.clone());
            (0..events).for_each(|at| writer.write(note(at)));
        });
        loop {
            let ended = writing.is_finished();
            let view = ring.look();
            let first = view.dropped;
            for (found, at) in view.notes(0).zip(first..) {
                assert_eq!(found, note(at));
            }
            if ended {
                assert_eq!(first + view.len() as u64, events);
                break;
            }
        }
    });
}
