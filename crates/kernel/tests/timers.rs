//! Timers: they fire in order, not early, and not at all once they are cancelled.

mod common;

use std::{
    future,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    time::Duration,
};

use common::{Dice, Log, alone, real, until};
use kernel::{Discipline, Handle, Runtime, Step, TURN_COST};

const MS: Duration = Duration::from_millis(1);

#[test]
fn sleep_ends_exactly_when_its_time_has_come() {
    let mut simulation = alone(Discipline::Stealing);
    let handle = Handle::clone(&simulation);
    let woke = simulation.block_on(async move {
        handle.sleep(MS * 7).await;
        handle.now()
    });
    assert_eq!(woke, Ok(MS * 7));
}

#[test]
fn sleeps_end_in_order_of_their_deadlines_and_equal_ones_in_order_of_making() {
    let mut simulation = alone(Discipline::Fifo);
    let log = Log::new();
    let mut dice = Dice::new(1);
    let mut expected = Vec::new();
    for number in 0..500 {
        let wait = MS * dice.below(50) as u32;
        expected.push((wait, number));
        let (handle, log) = (Handle::clone(&simulation), log.clone());
        let sleeper = async move {
            handle.sleep_until(wait).await;
            log.push((wait, number));
        };
        drop(simulation.spawn(sleeper).unwrap());
    }
    expected.sort();
    simulation.run();
    assert_eq!(log.all(), expected);
}

#[test]
fn sleep_of_no_time_ends_at_once() {
    let mut simulation = alone(Discipline::Stealing);
    let handle = Handle::clone(&simulation);
    simulation.block_on(handle.sleep(Duration::ZERO)).unwrap();
    simulation.block_on(handle.sleep_until(Duration::ZERO)).unwrap();
    assert_eq!(simulation.now(), Duration::ZERO);
}

#[test]
fn sleep_that_is_dropped_leaves_no_timer() {
    let mut simulation = alone(Discipline::Stealing);
    let handle = Handle::clone(&simulation);
    let mut join = simulation
        .spawn(async move {
            let elapsed = handle.timeout(MS, handle.sleep(MS * 1000)).await;
            (elapsed.is_err(), handle.metrics().timers)
        })
        .unwrap();
    simulation.run();
    // The sleep was dropped with the time-out that lost patience.
    assert_eq!(join.join(), Ok((true, 0)));
    assert_eq!(simulation.now(), MS + TURN_COST);
}

#[test]
fn longest_sleep_there_is_does_not_end() {
    let mut simulation = alone(Discipline::Stealing);
    let handle = Handle::clone(&simulation);
    let mut join = simulation.spawn(async move { handle.sleep(Duration::MAX).await }).unwrap();
    simulation.run_for(Duration::from_secs(1_000_000));
    assert!(!join.is_finished());
    assert_eq!(simulation.metrics().timers, 1);
    join.abort();
    simulation.run_for(MS);
    assert_eq!(join.join(), Err(kernel::JoinError::Cancelled));
    assert_eq!(simulation.metrics().timers, 0);
}

#[test]
fn timeout_lets_a_future_pass_that_is_ready_in_time() {
    let mut simulation = alone(Discipline::Stealing);
    let handle = Handle::clone(&simulation);
    let in_time = simulation.block_on(handle.timeout(MS * 2, handle.sleep(MS)));
    assert_eq!(in_time, Ok(Ok(())));
    // Ready at the very moment of the deadline counts as in time.
    assert_eq!(simulation.block_on(handle.timeout(MS, handle.sleep(MS))), Ok(Ok(())));
    let late = simulation.block_on(handle.timeout(MS, future::pending::<()>())).unwrap();
    assert_eq!(late.unwrap_err().to_string(), "not ready within 1ms");
    assert_eq!(simulation.metrics().timers, 0);
}

#[test]
fn future_that_gives_way_at_the_end_of_the_quantum_has_one_more_turn_before_its_time_is_over() {
    let runtime = real(Runtime::builder().workers(1));
    let handle = Handle::clone(&runtime);
    let gives_way = future::poll_fn(move |context| {
        if handle.turn_expired() {
            context.waker().wake_by_ref();
            return std::task::Poll::Pending;
        }
        std::task::Poll::Ready(())
    });
    let handle = Handle::clone(&runtime);
    let mut late = runtime
        .spawn(async move {
            while !handle.turn_expired() {}
            handle.timeout(Duration::ZERO, gives_way).await
        })
        .unwrap();
    assert_eq!(late.join(), Ok(Ok(())));
}

#[test]
fn interval_ticks_at_regular_times_and_skips_what_was_missed() {
    let mut simulation = alone(Discipline::Stealing);
    let handle = Handle::clone(&simulation);
    let ticks = simulation.block_on(async move {
        let mut interval = handle.interval(MS * 10);
        let mut ticks = Vec::new();
        for wait in [0, 0, 4, 35, 0, 0] {
            handle.sleep(MS * wait).await;
            interval.tick().await;
            ticks.push(handle.now().as_millis());
        }
        ticks
    });
    // After 30 it is late by 35: the tick of 40 is taken at 65, those of 50 and 60 are skipped.
    assert_eq!(ticks, Ok(vec![10, 20, 30, 65, 70, 80]));
}

#[test]
fn wake_after_wakes_a_strand_when_its_time_has_come() {
    let mut simulation = alone(Discipline::Stealing);
    let log = Log::new();
    let theirs = log.clone();
    let strand = simulation.strand().idle(move |turn| -> Step<()> {
        theirs.push(turn.now());
        Step::Pause
    });
    let strand = strand.unwrap().0;
    let timers = [3, 1, 2].map(|wait| simulation.wake_after(MS * wait, &strand).unwrap());
    assert_eq!(simulation.metrics().timers, 3);
    simulation.run();
    assert_eq!(log.all(), [MS, MS * 2, MS * 3]);
    assert!(timers.into_iter().all(|timer| !timer.cancel()), "they have fired");
}

#[test]
fn wake_after_that_is_cancelled_or_dropped_does_not_fire() {
    let mut simulation = alone(Discipline::Stealing);
    let (strand, mut join) = simulation.strand().idle(|turn| Step::End(turn.now())).unwrap();
    let [first, second, third] =
        [1, 2, 3].map(|wait| simulation.wake_after(MS * wait, &strand).unwrap());
    assert!(first.cancel());
    drop(second);
    simulation.run();
    assert_eq!(join.join(), Ok(MS * 3));
    assert!(!third.cancel());
}

#[test]
fn wake_after_from_inside_a_turn_counts_from_the_time_that_turn_has_come_to() {
    let mut simulation = alone(Discipline::Stealing);
    let mut timer = None;
    let (_strand, mut join) = simulation
        .strand()
        .start(move |turn| {
            if timer.is_some() {
                return Step::End(turn.now());
            }
            turn.simulate(MS * 5);
            timer = Some(turn.handle().wake_after(MS, &turn.strand().unwrap()).unwrap());
            Step::Pause
        })
        .unwrap();
    simulation.run();
    assert_eq!(join.join(), Ok(MS * 6));
}

#[test]
fn timer_is_over_once_its_time_has_come_fired_or_not() {
    let mut simulation = alone(Discipline::Stealing);
    let strand = simulation.strand().idle(|_| -> Step<()> { Step::Pause }).unwrap().0;
    let late = simulation.wake_after(MS * 9, &strand).unwrap();
    let mut timer = Some(simulation.wake_after(MS * 3, &strand).unwrap());
    let (_, mut join) = simulation
        .strand()
        .start(move |turn| {
            let timer = timer.take().unwrap();
            let before = timer.is_over();
            turn.simulate(MS * 3);
            // It fires between turns only.
            Step::End((before, timer.is_over(), timer.cancel()))
        })
        .unwrap();
    simulation.run();
    assert_eq!(join.join(), Ok((false, true, true)));
    assert!(late.is_over() && !late.cancel());
}

/// Who drops a timer that has fired does not look for it, and so takes out no other.
#[test]
fn timer_that_is_dropped_after_it_has_fired_leaves_the_next_one_alone() {
    let mut simulation = alone(Discipline::Stealing);
    let log = Log::new();
    let theirs = log.clone();
    let strand = simulation.strand().idle(move |turn| -> Step<()> {
        theirs.push(turn.now());
        Step::Pause
    });
    let strand = strand.unwrap().0;
    let fired = simulation.wake_after(MS, &strand).unwrap();
    simulation.run();
    let _next = simulation.wake_after(MS, &strand).unwrap();
    drop(fired);
    assert_eq!(simulation.metrics().timers, 1);
    simulation.run();
    // The first turn has taken its time.
    assert_eq!(log.all(), [MS, MS * 2 + TURN_COST]);
}

#[test]
fn timer_keeps_its_strand_alive_until_it_has_fired() {
    let mut simulation = alone(Discipline::Stealing);
    let log = Log::new();
    let theirs = log.clone();
    let strand = simulation.strand().idle(move |_| -> Step<()> {
        theirs.push("woken");
        Step::Pause
    });
    let (strand, join) = strand.unwrap();
    let _timer = simulation.wake_after(MS, &strand).unwrap();
    drop((strand, join));
    simulation.run();
    assert_eq!(log.all(), ["woken"]);
}

#[test]
fn removing_the_first_of_many_equal_timers_leaves_the_others() {
    let mut simulation = alone(Discipline::Stealing);
    let log = Log::new();
    let make = |number: u32| {
        let log = log.clone();
        let strand = simulation.strand().idle(move |_| -> Step<()> {
            log.push(number);
            Step::Pause
        });
        let strand = strand.unwrap().0;
        let timer = simulation.wake_after(MS, &strand).unwrap();
        (strand, timer)
    };
    let mut made: Vec<_> = (0..10).map(make).collect();
    // The first added, the last added, and one between.
    for at in [9, 4, 0] {
        assert!(made.remove(at).1.cancel());
    }
    simulation.run();
    let mut woken = log.all();
    woken.sort();
    assert_eq!(woken, [1, 2, 3, 5, 6, 7, 8]);
}

#[test]
fn million_pending_timers_fire_in_order_but_for_those_that_are_cancelled() {
    const MANY: usize = 1_000_000;
    let mut simulation = alone(Discipline::Stealing);
    let fired = Arc::new(AtomicUsize::new(0));
    let (theirs, mut last) = (fired.clone(), Duration::ZERO);
    let strand = simulation.strand().idle(move |turn| -> Step<()> {
        assert!(turn.now() >= last);
        last = turn.now();
        theirs.fetch_add(1, Relaxed);
        Step::Pause
    });
    let strand = strand.unwrap().0;
    let mut dice = Dice::new(3);
    let mut timers: Vec<_> = (0..MANY)
        .map(|_| {
            let after = Duration::from_micros(dice.below(3_600_000_000));
            simulation.wake_after(after, &strand).unwrap()
        })
        .collect();
    assert_eq!(simulation.metrics().timers, MANY);
    let kept = timers.split_off(MANY / 2);
    assert!(timers.into_iter().all(kernel::Timer::cancel));
    assert_eq!(simulation.metrics().timers, MANY / 2);
    simulation.run();
    assert_eq!(simulation.metrics().timers, 0);
    // Timers of the same microsecond wake once; there are few of those.
    assert!(fired.load(Relaxed) > MANY / 2 * 99 / 100);
    assert!(kept.into_iter().all(|timer| !timer.cancel()));
}

// ---- On real threads: only that, and in which order, never how long.

async fn nap(handle: Handle, log: Log<u32>, number: u32) {
    let start = handle.now();
    handle.sleep(MS * number).await;
    assert!(handle.now() >= start + MS * number, "it woke early");
    log.push(number);
}

#[test]
fn timers_fire_on_real_threads_and_none_early() {
    let runtime = real(Runtime::builder().workers(2));
    let log = Log::new();
    let mut joins: Vec<_> = (0..20)
        .rev()
        .map(|number| runtime.spawn(nap(runtime.handle(), log.clone(), number)).unwrap())
        .collect();
    for join in &mut joins {
        assert_eq!(join.join(), Ok(()));
    }
    assert_eq!(log.len(), 20);
    assert_eq!(runtime.metrics().timers, 0);
}

#[test]
fn earlier_timer_added_later_fires_first_on_real_threads() {
    let runtime = real(Runtime::builder().workers(1));
    let (strand, mut far) = runtime.strand().idle(|_| Step::End(())).unwrap();
    let _far = runtime.wake_after(Duration::from_secs(3600), &strand).unwrap();
    let handle = runtime.handle();
    let mut near = runtime.spawn(async move { handle.sleep(MS).await }).unwrap();
    assert_eq!(near.join(), Ok(()));
    assert!(far.try_join().is_none());
}

#[test]
fn sleep_works_outside_of_the_runtime_too() {
    let runtime = real(Runtime::builder().workers(1));
    let other = real(Runtime::builder().workers(1));
    let sleep = runtime.sleep(MS);
    assert_eq!(other.spawn(sleep).unwrap().join(), Ok(()));
}

#[test]
fn thousand_timers_cancelled_and_added_again_on_real_threads() {
    let runtime = real(Runtime::builder().workers(2));
    let (strand, mut join) = runtime.strand().idle(|_| Step::End("fired")).unwrap();
    for _ in 0..1000 {
        assert!(runtime.wake_after(Duration::from_secs(3600), &strand).unwrap().cancel());
    }
    assert_eq!(runtime.metrics().timers, 0);
    let timer = runtime.wake_after(MS, &strand).unwrap();
    assert_eq!(join.join(), Ok("fired"));
    until(|| runtime.metrics().timers == 0);
    assert!(!timer.cancel());
}
