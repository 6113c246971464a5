//! Does the simulated disk forget what it should, and nothing else?

use std::collections::BTreeSet;

use super::*;

fn file(disk: &SimDisk) -> Box<dyn File> {
    disk.open("a").expect("the disk is healthy")
}

fn after(disk: &SimDisk, unsynced: Unsynced) -> Vec<u8> {
    disk.crash(unsynced).read("a").expect("names are on disk at once")
}

#[test]
fn what_was_synced_stays_and_what_was_not_is_lost_kept_or_torn() {
    let disk = SimDisk::new(1);
    let file = file(&disk);
    file.write_at(0, &[1; 2_000]).expect("the disk is healthy");
    file.sync().expect("the disk is healthy");
    file.write_at(0, &[2; 2_000]).expect("the disk is healthy");
    assert_eq!(after(&disk, Unsynced::Lost), [1; 2_000]);
    assert_eq!(after(&disk, Unsynced::Kept), [2; 2_000]);

    let mut seen = BTreeSet::new();
    for _ in 0..200 {
        let torn = after(&disk, Unsynced::Torn);
        for sector in torn.chunks(SECTOR) {
            assert!(sector.iter().all(|byte| *byte == sector[0]), "a sector was torn");
        }
        seen.insert(torn.iter().step_by(SECTOR).copied().collect::<Vec<u8>>());
    }
    assert_eq!(seen.len(), 16, "each of four sectors is old or new, whatever the others are");
}

#[test]
fn a_sector_that_was_written_twice_may_be_found_after_either_write() {
    let disk = SimDisk::new(1);
    let file = file(&disk);
    for byte in [1, 2] {
        file.write_at(0, &[byte; SECTOR]).expect("the disk is healthy");
    }
    let firsts = (0..100).map(|_| after(&disk, Unsynced::Torn).first().copied());
    let seen: BTreeSet<Option<u8>> = firsts.collect();
    // Nothing, when not even the length is there; zeros, when only the length is.
    assert_eq!(seen, BTreeSet::from([None, Some(0), Some(1), Some(2)]));
}

#[test]
fn a_cut_is_there_whole_or_not_at_all_and_nothing_behind_it_without_it() {
    let disk = SimDisk::new(1);
    let file = file(&disk);
    file.write_at(0, &[1; 2_048]).expect("the disk is healthy");
    file.sync().expect("the disk is healthy");
    file.set_len(512).expect("the disk is healthy");
    file.write_at(512, &[2; 512]).expect("the disk is healthy");
    let mut seen = BTreeSet::new();
    for _ in 0..100 {
        let found = after(&disk, Unsynced::Torn);
        seen.insert((found.len(), found.get(512).copied()));
    }
    let cut = [(512, None), (1_024, Some(0)), (1_024, Some(2))];
    assert_eq!(seen, BTreeSet::from_iter(cut.into_iter().chain([(2_048, Some(1))])));
}

#[test]
fn what_a_failed_sync_gave_up_is_not_written_by_the_next_one() {
    let gave_up = (0..20).filter(|seed| {
        let disk = SimDisk::new(*seed);
        let file = file(&disk);
        file.write_at(0, &[1; SECTOR]).expect("the disk is healthy");
        file.sync().expect("the disk is healthy");
        file.write_at(0, &[2; SECTOR]).expect("the disk is healthy");
        disk.fail_syncs(true);
        assert!(file.sync().is_err());
        disk.fail_syncs(false);
        file.sync().expect("the disk is healthy again");
        assert_eq!(disk.read("a"), Some(vec![2; SECTOR]), "it reads well");
        let lost = after(&disk, Unsynced::Lost)[0] == 1;
        file.write_at(0, &[2; SECTOR]).expect("the disk is healthy");
        file.sync().expect("the disk is healthy");
        assert_eq!(after(&disk, Unsynced::Lost), [2; SECTOR], "written again, it is there");
        lost
    });
    let count = gave_up.count();
    assert!(0 < count && count < 20, "some syncs lose and some do not, but {count} of 20");
}

#[test]
fn the_nth_call_fails_once_or_from_then_on() {
    for (how, expected) in [
        (Fails::Once, [true, true, false, true, true]),
        (Fails::FromThenOn, [true, true, false, false, false]),
    ] {
        let disk = SimDisk::new(1);
        let file = file(&disk);
        disk.fail_after(2, how);
        let done = [0; 5].map(|_| {
            let mut byte = [0; 1];
            let _ = file.read_at(0, &mut byte);
            file.write_at(0, &[1]).is_ok()
        });
        assert_eq!(done, expected, "{how:?}");
        assert!(disk.has_failed());
        disk.repair();
        assert!(file.write_at(0, &[1]).is_ok(), "{how:?}");
    }
}

#[test]
fn reads_fail_when_asked_to() {
    let disk = SimDisk::new(1);
    let file = file(&disk);
    file.write_at(0, &[1]).expect("the disk is healthy");
    disk.fail_reads(true);
    assert!(file.read_at(0, &mut [0]).is_err());
    disk.repair();
    assert!(file.read_at(0, &mut [0]).is_ok());
    assert!(file.read_at(1, &mut [0]).is_err(), "the file ends there");
}

#[test]
fn a_full_disk_takes_no_more_but_what_is_there_may_be_written_over() {
    let disk = SimDisk::new(1);
    let file = file(&disk);
    disk.set_capacity(1_000);
    file.write_at(0, &[1; 1_000]).expect("there is room");
    let error = file.write_at(999, &[2; 2]).expect_err("there is no room");
    assert_eq!(error.kind(), io::ErrorKind::StorageFull);
    assert!(file.set_len(1_001).is_err());
    file.write_at(0, &[3; 1_000]).expect("nothing grows");
    file.set_len(10).expect("it shrinks");
    disk.open("b").and_then(|other| other.write_at(0, &[4; 990])).expect("there is room again");
}

#[test]
fn each_call_is_told_before_it_is_done() {
    let disk = SimDisk::new(1);
    let told = Arc::new(Mutex::new(Vec::new()));
    disk.on_call({
        let (disk, told) = (disk.clone(), told.clone());
        move |call| {
            let mut told = told.lock().expect("nobody panics");
            told.push((call.operation, call.bytes, disk.used()));
        }
    });
    let file = file(&disk);
    file.write_at(0, &[1; 600]).expect("the disk is healthy");
    file.sync().expect("the disk is healthy");
    disk.remove("a").expect("it is there");
    let expected = [
        (Operation::Create, 0, 0),
        (Operation::Write, 600, 0),
        (Operation::Sync, 1_024, 600),
        (Operation::Remove, 0, 600),
    ];
    assert_eq!(*told.lock().expect("nobody panics"), expected);
}

#[test]
fn the_same_seed_and_calls_give_the_same_bytes() {
    let run = |seed| {
        let disk = SimDisk::new(seed);
        let file = file(&disk);
        for n in 0..50u8 {
            file.write_at(u64::from(n) * 700, &[n; 3_000]).expect("the disk is healthy");
        }
        after(&disk, Unsynced::Torn)
    };
    assert_eq!(run(5), run(5));
    assert_ne!(run(5), run(6));
}
