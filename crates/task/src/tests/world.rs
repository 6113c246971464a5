//! The world as guests see it: time, chance, the log.

use super::*;
use crate::log::{LogLevel, LogSink};

#[test]
fn sleeping_takes_as_long_as_asked() {
    check(|| {
        Guests::new().add("main", |g, _| async move {
            for nanos in [1, 1_000, 1_000_000] {
                let before = g.now().await;
                g.sleep(nanos).await;
                assert!(g.now().await >= before + nanos);
            }
            for nanos in [0, -1, i64::MIN] {
                g.sleep(nanos).await;
            }
            0
        })
    });
}

#[test]
fn those_who_sleep_wake_in_the_order_of_their_deadlines() {
    let (tell, told) = channel();
    let guests = Guests::new().add("main", move |g, millis| {
        let tell = tell.clone();
        async move {
            g.sleep(millis * 1_000_000).await;
            tell.send(millis).unwrap();
            0
        }
    });
    let mut simulation = simulation(2, 0);
    let program = guests.load(&simulation, Options::default());
    for millis in [5, 1, 4, 2, 3] {
        program.spawn("main", [millis]).unwrap();
    }
    simulation.block_on(program.finished()).unwrap();
    assert_eq!(told.all(), [1, 2, 3, 4, 5]);
    assert_eq!(simulation.now().as_millis(), 5);
}

#[test]
fn chance_differs_between_tasks_and_comes_from_the_seed() {
    let roll = |seed| {
        let mut simulation = simulation(1, seed);
        let (tell, told) = channel();
        let guests = Guests::new().add("main", move |g, _| {
            let tell = tell.clone();
            async move {
                tell.send((g.random(13).await, g.random(8).await)).unwrap();
                0
            }
        });
        let program = guests.load(&simulation, Options::default());
        program.spawn("main", [0]).unwrap();
        program.spawn("main", [0]).unwrap();
        simulation.block_on(program.finished()).unwrap();
        told.all()
    };
    let rolled = roll(1);
    assert_eq!(rolled, roll(1));
    assert_ne!(rolled, roll(2));
    assert_ne!(rolled[0], rolled[1]);
    assert_ne!(rolled[0].0[..8], rolled[0].1[..]);
    assert_ne!(rolled[0].0[8..], [0; 5], "all bytes are filled");
}

#[test]
fn lines_go_to_the_sink_with_their_task_and_level() {
    let (tell, told) = channel();
    let log = LogSink::new(move |line| {
        tell.send((line.task.get(), line.level, line.text.to_owned())).unwrap();
    });
    let options = Options { log, ..Options::default() };
    let guests = Guests::new().add("main", |g, _| async move {
        for level in [0, 1, 2, 3, 4, 5, -1] {
            g.log(level, b"hello").await;
        }
        g.log(2, b"\xffz").await;
        0
    });
    simulate(options, guests, 0);
    use LogLevel::*;
    let levels = [Error, Warn, Info, Debug, Trace, Trace, Error];
    let mut expected: Vec<_> =
        levels.map(|level| (1, level, "hello".to_owned())).into_iter().collect();
    expected.push((1, Info, "\u{fffd}z".to_owned()));
    assert_eq!(told.all(), expected);
}
