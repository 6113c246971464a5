//! The steps of the state word one by one, and all sequences of them up to a length.

use super::*;

#[test]
fn many_wakes_make_one_push() {
    let state = State::idle(1);
    assert_eq!(state.wake(), Wake::Push);
    assert_eq!(state.wake(), Wake::Nothing);
    assert_eq!(state.pop(), Pop::Run);
}

#[test]
fn wake_during_a_turn_makes_one_more_turn() {
    let state = State::queued(1);
    assert_eq!(state.pop(), Pop::Run);
    assert_eq!(state.wake(), Wake::Nothing);
    assert_eq!(state.pause(), Rest::Push);
    assert_eq!(state.pop(), Pop::Run);
    assert_eq!(state.pause(), Rest::Nothing);
    assert_eq!(state.phase(), Phase::Idle);
}

#[test]
fn claim_while_queued_leaves_a_stale_entry_behind() {
    let state = State::queued(1);
    assert_eq!(state.claim(), Claim::Run);
    assert_eq!(state.pop(), Pop::Stale);
    assert_eq!(state.pause(), Rest::Nothing);
    assert_eq!(state.wake(), Wake::Push);
}

#[test]
fn wake_after_a_claimed_turn_uses_the_entry_that_is_still_there() {
    let state = State::queued(1);
    assert_eq!(state.claim(), Claim::Run);
    assert_eq!(state.pause(), Rest::Nothing);
    assert_eq!(state.wake(), Wake::Nothing);
    assert_eq!(state.pop(), Pop::Run);
}

#[test]
fn yield_after_a_claimed_turn_moves_the_old_entry_to_the_back_once() {
    let state = State::queued(1);
    assert_eq!(state.claim(), Claim::Run);
    assert_eq!(state.requeue(), Rest::Nothing);
    assert_eq!(state.pop(), Pop::Requeue);
    assert_eq!(state.pop(), Pop::Run);
}

#[test]
fn claim_of_a_running_strand_is_a_wake_and_of_an_ended_one_nothing() {
    let state = State::queued(1);
    assert_eq!(state.pop(), Pop::Run);
    assert_eq!(state.claim(), Claim::Woken);
    assert_eq!(state.pause(), Rest::Push);
    assert_eq!(state.pop(), Pop::Run);
    assert_eq!(state.end(0), Rest::Nothing);
    assert_eq!(state.claim(), Claim::Done);
    assert_eq!(state.wake(), Wake::Nothing);
}

#[test]
fn last_handle_dropped_while_idle_frees() {
    let state = State::idle(1);
    state.retain();
    assert!(!state.release());
    assert!(state.release());
}

#[test]
fn last_handle_dropped_while_running_leaves_freeing_to_the_end_of_the_turn() {
    let state = State::queued(1);
    assert_eq!(state.pop(), Pop::Run);
    assert!(!state.release());
    assert_eq!(state.pause(), Rest::Free);
}

#[test]
fn stale_entry_of_an_ended_strand_without_handles_frees() {
    let state = State::queued(1);
    assert_eq!(state.claim(), Claim::Run);
    assert!(!state.release());
    assert_eq!(state.end(0), Rest::Nothing);
    assert_eq!(state.pop(), Pop::Free);
}

#[test]
fn handle_of_a_strand_that_is_being_freed_is_refused() {
    let state = State::idle(1);
    assert!(state.try_retain());
    assert!(!state.release());
    assert!(state.release());
    assert!(!state.try_retain());
}

/// What a strand is, told from outside: the reference that every sequence is compared with.
#[derive(Clone, Copy, Default)]
struct Outside {
    entries: u32,
    running: bool,
    done: bool,
    owed: bool,
    handles: u32,
    freed: bool,
}

/// Invariants 1 to 4, for every sequence of eight steps from both starts.
#[test]
fn every_sequence_of_steps_keeps_the_invariants() {
    const STEPS: u32 = 8;
    const KINDS: u32 = 7;
    for start_queued in [false, true] {
        for mut sequence in 0..KINDS.pow(STEPS) {
            let state = if start_queued { State::queued(1) } else { State::idle(1) };
            let mut out = Outside {
                entries: u32::from(start_queued),
                owed: start_queued,
                handles: 1,
                ..Outside::default()
            };
            for _ in 0..STEPS {
                apply(&state, &mut out, sequence % KINDS);
                sequence /= KINDS;
                if out.freed {
                    break;
                }
                assert!(out.entries <= 1, "more than one entry");
                assert!(
                    !out.owed || out.entries == 1 || out.running,
                    "a turn is owed and nothing stands for it"
                );
            }
        }
    }
}

fn apply(state: &State, out: &mut Outside, kind: u32) {
    let rest = |out: &mut Outside, rest: Rest, owed: bool| {
        out.running = false;
        out.owed = owed;
        match rest {
            Rest::Push => out.entries += 1,
            Rest::Nothing => {}
            Rest::Free => free(out),
        }
    };
    match kind {
        0 if out.handles > 0 => {
            let push = state.wake() == Wake::Push;
            out.entries += u32::from(push);
            out.owed |= !out.done;
        }
        1 if out.entries > 0 => match state.pop() {
            Pop::Run => {
                assert!(!out.running, "two turns at once");
                (out.entries, out.running, out.owed) = (out.entries - 1, true, false);
            }
            Pop::Requeue => {}
            Pop::Stale => out.entries -= 1,
            Pop::Free => {
                out.entries -= 1;
                free(out);
            }
        },
        2 if out.handles > 0 => match state.claim() {
            Claim::Run => {
                assert!(!out.running, "two turns at once");
                (out.running, out.owed) = (true, false);
            }
            Claim::Woken => out.owed = true,
            Claim::Done => assert!(out.done),
        },
        3 if out.running => {
            let owed = out.owed;
            rest(out, state.pause(), owed);
        }
        4 if out.running => rest(out, state.requeue(), true),
        5 if out.running => {
            out.done = true;
            rest(out, state.end(0), false);
        }
        6 if out.handles > 0 => {
            out.handles -= 1;
            if state.release() {
                free(out);
            }
        }
        _ => {}
    }
}

fn free(out: &mut Outside) {
    assert!(!out.freed && !out.running && out.entries == 0 && out.handles == 0, "freed too early");
    out.freed = true;
}
