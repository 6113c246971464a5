//! Select: which channel is told, when it is over, and that nothing is left behind.

use super::*;
use crate::{abi::Call, object::table::Lookup};

const MAIN: &str = "main";
const OTHER: u32 = 1;

#[test]
fn the_first_channel_of_the_list_that_is_ready_is_told() {
    check(|| {
        Guests::new().add(MAIN, |g, _| async move {
            let (a, b, c) = (g.open(1).await, g.open(1).await, g.open(1).await);
            assert_eq!(g.select(&[a, b, c], 0).await, -2);
            g.send(c, b"x").await;
            assert_eq!(g.select(&[a, b, c], -1).await, 2);
            g.send(b, b"x").await;
            assert_eq!(g.select(&[a, b, c], -1).await, 1);
            assert_eq!(g.select(&[c, b, a], -1).await, 0);
            g.close(a).await;
            assert_eq!(g.select(&[a, b, c], -1).await, 0);
            0
        })
    });
}

#[test]
fn nothing_is_reserved() {
    check(|| {
        Guests::new().add(MAIN, |g, _| async move {
            let channel = g.open(1).await;
            g.send(channel, b"x").await;
            assert_eq!(g.select(&[channel], -1).await, 0);
            assert_eq!(g.select(&[channel, channel], -1).await, 0);
            assert_eq!(g.receive(channel, 1).await, Ok(b"x".to_vec()));
            assert_eq!(g.select(&[channel], 0).await, -2);
            0
        })
    });
}

/// One message, and two who select: both are told, since either may leave it to the other.
#[test]
fn all_who_select_are_told_of_a_message() {
    check(|| {
        Guests::new()
            .add(MAIN, |g, _| async move {
                let channel = g.open(1).await;
                let tasks = [g.spawn(OTHER, channel).await, g.spawn(OTHER, channel).await];
                for _ in 0..5 {
                    g.yield_now().await;
                }
                g.send(channel, b"x").await;
                for task in tasks {
                    assert_eq!(g.await_task(task).await, Ok(0));
                }
                0
            })
            .add("other", |g, channel| async move { g.select(&[channel], -1).await.into() })
    });
}

#[test]
fn a_sender_that_waits_makes_a_channel_ready() {
    check(|| {
        Guests::new()
            .add(MAIN, |g, _| async move {
                let (silent, channel) = (g.open(0).await, g.open(0).await);
                let sender = g.spawn(OTHER, channel).await;
                assert_eq!(g.select(&[silent, channel], -1).await, 1);
                assert_eq!(g.receive(channel, 1).await, Ok(b"x".to_vec()));
                g.await_task(sender).await.unwrap()
            })
            .add("other", |g, channel| async move { g.send(channel, b"x").await.into() })
    });
}

#[test]
fn time_is_over_then_nothing_is_left_behind() {
    let (tell, told) = channel();
    let guests = Guests::new().add(MAIN, move |g, _| {
        let tell = tell.clone();
        async move {
            let channels = [g.open(0).await, g.open(1).await];
            for _ in 0..10 {
                let before = g.now().await;
                assert_eq!(g.select(&channels, 1_000_000).await, -2);
                assert!(g.now().await >= before + 1_000_000);
            }
            tell.send(channels).unwrap();
            0
        }
    });
    let (program, results) = simulate(Options::default(), guests, 0);
    assert_eq!(value(&results[0]), 0);
    for channel in told.next() {
        let Lookup::There(channel) = program.shared().channels.find(channel as u64) else {
            panic!("it is there")
        };
        assert_eq!(channel.waiting(), (0, 0, 0));
    }
}

#[test]
fn told_of_one_channel_then_nothing_is_left_behind_in_the_others() {
    let (tell, told) = channel();
    let guests = Guests::new()
        .add(MAIN, move |g, _| {
            let tell = tell.clone();
            async move {
                let channels = [g.open(0).await, g.open(1).await, g.open(1).await];
                let sender = g.spawn(OTHER, channels[1]).await;
                assert_eq!(g.select(&channels, -1).await, 1);
                g.await_task(sender).await.unwrap();
                tell.send(channels).unwrap();
                0
            }
        })
        .add("other", |g, channel| async move {
            g.yield_now().await;
            g.send(channel, b"x").await.into()
        });
    let (program, results) = simulate(Options::default(), guests, 0);
    assert_eq!(value(&results[0]), 0);
    for channel in told.next() {
        let Lookup::There(channel) = program.shared().channels.find(channel as u64) else {
            panic!("it is there")
        };
        assert_eq!(channel.waiting(), (0, 0, 0));
    }
}

/// The message comes at about the time at which the select gives up: it is told, or it is still there.
#[test]
fn a_message_at_the_last_moment_is_not_lost() {
    check(|| {
        Guests::new()
            .add(MAIN, |g, _| async move {
                for round in 0..20i64 {
                    let channel = g.open(1).await;
                    let sender = g.spawn(OTHER, channel).await;
                    let told = g.select(&[channel], 500 + 100 * round).await;
                    assert!(told == 0 || told == -2, "{told}");
                    assert_eq!(g.receive(channel, 1).await, Ok(b"x".to_vec()));
                    assert_eq!(g.await_task(sender).await, Ok(0));
                }
                0
            })
            .add("other", |g, channel| async move {
                g.sleep(1_000).await;
                g.send(channel, b"x").await.into()
            })
    });
}

/// What the page on the interface says of them is what guests are answered.
#[test]
fn lists_that_make_no_sense_are_refused_as_the_page_says() {
    let page =
        include_str!("../../../../docs/abi.md").split_whitespace().collect::<Vec<_>>().join(" ");
    let said = |of: &str| -> i32 {
        let (_, rest) = page.split_once(of).unwrap_or_else(|| panic!("the page says {of:?}"));
        let code = rest.strip_prefix(" −").expect("a negative code follows");
        -code[..1].parse::<i32>().expect("a code is a digit")
    };
    let empty = said("An empty list is");
    let too_long = said("one that is too long");
    let no_channel = said("an id in it that is no channel's is");
    assert_eq!((empty, too_long, no_channel), (-9, -7, -6));
    let mut options = Options::default();
    options.limits.select = 3;
    check_with(options, move || {
        Guests::new().add(MAIN, move |g, _| async move {
            let channel = g.open(1).await;
            assert_eq!(g.select(&[], -1).await, empty);
            assert_eq!(g.select(&[channel; 4], -1).await, too_long);
            assert_eq!(g.select(&[0; 4], -1).await, too_long, "before anything in it is looked at");
            assert_eq!(g.select(&[channel, 0, channel], -1).await, no_channel);
            g.send(channel, b"x").await;
            assert_eq!(g.select(&[channel; 3], -1).await, 0, "as many as are allowed");
            0
        })
    });
}

/// The bytes of 2^29 ids are more than a number of 32 bits can tell. All of them are paid for, so a slice
/// has no end.
#[test]
fn lists_that_are_longer_than_any_memory_are_refused_whatever_the_limit_is() {
    let mut options = Options { preemption_threshold: Some(u64::MAX), ..Options::default() };
    options.limits.select = usize::MAX;
    let guests = Guests::new().add(MAIN, |g, _| async move {
        for count in [1 << 29, (1 << 29) + 1, 1 << 30, i32::MAX as u64] {
            let answer = g.call(Call::Select, [0, count, 0, 0]).await;
            assert_eq!(answer as i32, -9, "{count}");
        }
        0
    });
    let (_, results) = simulate(options, guests, 0);
    assert_eq!(value(&results[0]), 0);
}
