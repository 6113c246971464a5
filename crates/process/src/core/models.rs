//! Two threads that make, use and mark the extras of one process.

use super::*;
use loom::thread;
use std::sync::Arc;

fn core() -> Arc<Core> {
    Arc::new(Core::new::<u32>(Pid::new(0, 1), 0, Gauge::new(0, 0)))
}

fn join_group(core: &Core, name: &str) {
    core.with_extras(|state| state.groups.push(name.into()));
}

/// Whoever comes second uses what the first has made.
#[test]
fn extras_made_by_two_at_once_are_the_same() {
    loom::model(|| {
        let core = core();
        let other = thread::spawn({
            let core = core.clone();
            move || join_group(&core, "one")
        });
        join_group(&core, "other");
        other.join().unwrap();
        assert_eq!(core.if_extras(|state| state.groups.len()), Some(2));
    });
}

/// Whoever finds extras finds them whole.
#[test]
fn extras_are_whole_for_one_who_looks() {
    loom::model(|| {
        let core = core();
        let other = thread::spawn({
            let core = core.clone();
            move || join_group(&core, "one")
        });
        // By itself loom would not let the other go first.
        thread::yield_now();
        let seen = core.if_extras(|state| state.groups.len());
        assert!(matches!(seen, None | Some(0 | 1)));
        other.join().unwrap();
    });
}

/// What is given up before the mark is given up for whoever sees the mark.
fn exit_is_seen_after_all_is_given_up(reason: &'static ExitReason) {
    loom::model(move || {
        let core = core();
        let given_up = Arc::new(loom::sync::atomic::AtomicBool::new(false));
        let exiting = thread::spawn({
            let (core, given_up) = (core.clone(), given_up.clone());
            move || {
                given_up.store(true, Relaxed);
                core.mark_exit(reason).is_some()
            }
        });
        if core.exit_reason().is_some() {
            assert!(given_up.load(Relaxed), "it has exited, and has not given up its name");
        }
        let told = exiting.join().unwrap();
        assert_eq!(core.exit_reason().as_ref(), Some(reason));
        assert_eq!(told, !reason.is_normal());
    });
}

#[test]
fn normal_exit_is_seen_after_all_is_given_up() {
    exit_is_seen_after_all_is_given_up(&ExitReason::Normal);
}

#[test]
fn killed_exit_is_seen_after_all_is_given_up() {
    exit_is_seen_after_all_is_given_up(&ExitReason::Killed);
}

/// Whoever ties itself to a process that exits is told of it, or finds it exited.
#[test]
fn watched_while_it_exits_is_told_or_finds_it_exited() {
    loom::model(|| {
        let core = core();
        let exiting = thread::spawn({
            let core = core.clone();
            move || core.mark_exit(&ExitReason::Normal).is_some_and(|told| !told.groups.is_empty())
        });
        let tied = core.with_extras(|state| {
            let alive = state.exit.is_none();
            if alive {
                state.groups.push("told".into());
            }
            alive
        });
        let told = exiting.join().unwrap();
        assert_eq!(told, tied == Some(true));
    });
}
