//! Do subscribers see what concerns them, and can none of them hold up the others?

use std::{
    future::Future,
    num::NonZeroUsize,
    pin::pin,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    task::{Context, Poll, Wake, Waker},
    thread,
};

use alloy_consensus::Header;
use alloy_primitives::{Address, B256, Bytes, Log, logs_bloom};
use shard::{
    Block, Environment, Receipt,
    events::{BlockEvent, Ended, Event, Hub, Interest, LogFilter, Subscription},
};

/// An event for tests: a number. The interest is a divisor.
#[derive(Clone, Debug, PartialEq)]
struct Number(usize);

impl Event for Number {
    type Interest = usize;

    fn concerns(&self, divisor: &usize) -> bool {
        self.0.is_multiple_of(*divisor)
    }
}

/// An event that is counted by its `Arc`.
#[derive(Clone)]
struct Counted(Arc<()>);

impl Event for Counted {
    type Interest = ();

    fn concerns(&self, (): &()) -> bool {
        true
    }
}

fn room(n: usize) -> NonZeroUsize {
    NonZeroUsize::new(n).expect("room for one at least")
}

/// Counts wakes.
#[derive(Default)]
struct Wakes(AtomicUsize);

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, SeqCst);
    }
}

/// Polls once, with a waker that counts.
fn poll<E: Event>(all: &mut Subscription<E>, wakes: &Arc<Wakes>) -> Poll<Result<E, Ended>> {
    let waker = Waker::from(wakes.clone());
    pin!(all.next()).poll(&mut Context::from_waker(&waker))
}

/// Wakes a thread.
struct Unpark(thread::Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Waits for the next event on this thread.
fn wait<E: Event>(subscription: &mut Subscription<E>) -> Result<E, Ended> {
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut next = pin!(subscription.next());
    loop {
        match next.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(result) => return result,
            Poll::Pending => thread::park(),
        }
    }
}

#[test]
fn a_subscriber_sees_what_concerns_it_in_order() {
    let hub = Hub::new();
    let mut even = hub.subscribe(room(10), 2);
    (1..=6).for_each(|n| hub.publish(&Number(n)));
    for n in [2, 4, 6] {
        assert_eq!(even.try_next(), Ok(Some(Number(n))));
    }
    assert_eq!(even.try_next(), Ok(None));
}

#[test]
fn what_was_published_before_is_not_seen() {
    let hub = Hub::new();
    hub.publish(&Number(1));
    let mut all = hub.subscribe(room(10), 1);
    hub.publish(&Number(2));
    assert_eq!(all.try_next(), Ok(Some(Number(2))));
}

#[test]
fn one_who_waits_is_woken_once_by_an_event_that_concerns_it() {
    let hub = Hub::new();
    let mut even = hub.subscribe(room(10), 2);
    let wakes = Arc::new(Wakes::default());
    assert_eq!(poll(&mut even, &wakes), Poll::Pending);
    hub.publish(&Number(1));
    assert_eq!(wakes.0.load(SeqCst), 0);
    hub.publish(&Number(2));
    hub.publish(&Number(4));
    assert_eq!(wakes.0.load(SeqCst), 1);
    assert_eq!(poll(&mut even, &wakes), Poll::Ready(Ok(Number(2))));
    assert_eq!(poll(&mut even, &wakes), Poll::Ready(Ok(Number(4))));
    assert_eq!(poll(&mut even, &wakes), Poll::Pending);
}

#[test]
fn the_waker_of_the_last_poll_is_the_one_that_is_woken() {
    let hub = Hub::new();
    let mut all = hub.subscribe(room(10), 1);
    let (first, second) = (Arc::new(Wakes::default()), Arc::new(Wakes::default()));
    assert_eq!(poll(&mut all, &first), Poll::Pending);
    assert_eq!(poll(&mut all, &second), Poll::Pending);
    assert_eq!(Arc::strong_count(&first), 1, "the first waker is not kept");
    hub.publish(&Number(1));
    assert_eq!((first.0.load(SeqCst), second.0.load(SeqCst)), (0, 1));
}

#[test]
fn a_slow_subscriber_reads_what_it_has_and_is_then_told() {
    let hub = Hub::new();
    let mut slow = hub.subscribe(room(2), 1);
    let mut quick = hub.subscribe(room(2), 1);
    for n in 0..5 {
        hub.publish(&Number(n));
        assert_eq!(quick.try_next(), Ok(Some(Number(n))), "it has nothing to do with the slow one");
    }
    assert_eq!(hub.subscribers(), 1);
    assert_eq!(slow.try_next(), Ok(Some(Number(0))));
    hub.publish(&Number(5));
    assert_eq!(slow.try_next(), Ok(Some(Number(1))));
    assert_eq!(slow.try_next(), Err(Ended::Lagged), "room that comes later is too late");
    assert_eq!(wait(&mut slow), Err(Ended::Lagged));
}

#[test]
fn one_who_is_dropped_is_not_told_and_keeps_nothing() {
    let (hub, event) = (Hub::new(), Counted(Arc::new(())));
    let subscription = hub.subscribe(room(4), ());
    hub.publish(&event);
    assert_eq!(Arc::strong_count(&event.0), 2);
    drop(subscription);
    assert_eq!(Arc::strong_count(&event.0), 1);
    assert_eq!(hub.subscribers(), 0);
    hub.publish(&event);
    assert_eq!(Arc::strong_count(&event.0), 1);
}

#[test]
fn an_event_costs_a_subscriber_one_count_of_its_arc() {
    let (hub, event) = (Hub::new(), Counted(Arc::new(())));
    let all: Vec<_> = (0..1_000).map(|_| hub.subscribe(room(1), ())).collect();
    hub.publish(&event);
    assert_eq!(Arc::strong_count(&event.0), 1_001);
    drop(all);
}

#[test]
fn the_place_of_a_slow_one_that_went_to_another_is_not_given_up_with_it() {
    let hub = Hub::new();
    let slow = hub.subscribe(room(1), 1);
    hub.publish(&Number(1));
    hub.publish(&Number(2));
    let mut next = hub.subscribe(room(1), 1);
    drop(slow);
    assert_eq!(hub.subscribers(), 1);
    hub.publish(&Number(3));
    assert_eq!(next.try_next(), Ok(Some(Number(3))));
}

#[test]
fn a_hub_that_closes_lets_its_subscribers_read_to_the_end() {
    let hub = Hub::new();
    let mut all = hub.subscribe(room(4), 1);
    hub.publish(&Number(1));
    hub.close();
    hub.publish(&Number(2));
    assert_eq!(wait(&mut all), Ok(Number(1)));
    assert_eq!(wait(&mut all), Err(Ended::Closed));
    let mut late = hub.subscribe(room(4), 1);
    assert_eq!(late.try_next(), Err(Ended::Closed));
    assert_eq!(hub.subscribers(), 0);
}

#[test]
fn the_last_hub_that_is_dropped_wakes_those_who_wait() {
    let hub: Hub<Number> = Hub::new();
    let mut all = hub.subscribe(room(4), 1);
    let wakes = Arc::new(Wakes::default());
    assert_eq!(poll(&mut all, &wakes), Poll::Pending);
    drop(hub.clone());
    assert_eq!(wakes.0.load(SeqCst), 0);
    drop(hub);
    assert_eq!(wakes.0.load(SeqCst), 1);
    assert_eq!(poll(&mut all, &wakes), Poll::Ready(Err(Ended::Closed)));
}

/// Panics when it wakes somebody.
struct Panics;

impl Wake for Panics {
    fn wake(self: Arc<Self>) {
        panic!("a waker of somebody else's");
    }
}

#[test]
fn a_waker_that_panics_keeps_nothing_from_the_others_and_loses_nothing_itself() {
    let hub = Hub::new();
    let waker = Waker::from(Arc::new(Panics));
    let waits = |one: &mut Subscription<Number>| {
        assert!(one.poll_next(&mut Context::from_waker(&waker)).is_pending());
    };
    let mut bad = hub.subscribe(room(1), 1);
    let mut good = hub.subscribe(room(4), 1);
    let wakes = Arc::new(Wakes::default());
    waits(&mut bad);
    assert_eq!(poll(&mut good, &wakes), Poll::Pending);
    hub.publish(&Number(1));
    assert_eq!(wakes.0.load(SeqCst), 1);
    assert_eq!(poll(&mut good, &wakes), Poll::Ready(Ok(Number(1))));
    assert_eq!(bad.try_next(), Ok(Some(Number(1))));

    waits(&mut bad);
    assert_eq!(poll(&mut good, &wakes), Poll::Pending);
    hub.close();
    assert_eq!(wakes.0.load(SeqCst), 2);
    assert_eq!(poll(&mut good, &wakes), Poll::Ready(Err(Ended::Closed)));
    assert_eq!(bad.try_next(), Err(Ended::Closed));
}

/// The worst that a waker can do: all that takes the locks of the hub.
struct Meddler {
    hub: Hub<Number>,
    victims: Mutex<Vec<Subscription<Number>>>,
    made: Mutex<Vec<Subscription<Number>>>,
}

impl Wake for Meddler {
    fn wake(self: Arc<Self>) {
        self.victims.lock().unwrap().clear();
        self.made.lock().unwrap().push(self.hub.subscribe(room(4), 1));
        self.hub.publish(&Number(100));
    }
}

#[test]
fn a_waker_may_publish_subscribe_and_drop_subscriptions_during_publish() {
    let hub = Hub::new();
    let mut first = hub.subscribe(room(4), 1);
    let victims = Mutex::new((0..3).map(|_| hub.subscribe(room(4), 1)).collect());
    let mut last = hub.subscribe(room(4), 1);
    let meddler = Arc::new(Meddler { hub: hub.clone(), victims, made: Mutex::default() });
    let waker = Waker::from(meddler.clone());
    assert!(first.poll_next(&mut Context::from_waker(&waker)).is_pending());

    hub.publish(&Number(1));

    assert_eq!(first.try_next(), Ok(Some(Number(1))));
    assert_eq!(first.try_next(), Ok(Some(Number(100))));
    let seen: Vec<_> = std::iter::from_fn(|| last.try_next().expect("it is open")).collect();
    assert_eq!(seen, [Number(100), Number(1)], "the inner one was there first");
    assert_eq!(hub.subscribers(), 3);
    let mut made = meddler.made.lock().unwrap().pop().expect("it was made");
    assert_eq!(made.try_next(), Ok(Some(Number(100))));
    assert_eq!(made.try_next(), Ok(None), "the outer one was published before it subscribed");
}

#[test]
fn many_subscribers_on_threads_see_all_of_each_publisher_in_order() {
    const PUBLISHERS: usize = 3;
    const EVENTS: usize = 300;
    const NOISE: usize = usize::MAX;
    for _ in 0..20 {
        let hub = Hub::new();
        let mut all: Vec<_> =
            (0..4).map(|_| hub.subscribe(room(2 * PUBLISHERS * EVENTS), 1)).collect();
        thread::scope(|scope| {
            for publisher in 0..PUBLISHERS {
                let hub = &hub;
                scope.spawn(move || {
                    for n in 0..EVENTS {
                        hub.publish(&Number(n * PUBLISHERS + publisher));
                        // One that comes and goes, and now and then is too slow.
                        let _short = hub.subscribe(room(1), 1);
                        if n % 2 == 0 {
                            hub.publish(&Number(NOISE));
                        }
                    }
                });
            }
            for subscription in &mut all {
                scope.spawn(move || {
                    let mut next = [0; PUBLISHERS];
                    while next != [EVENTS; PUBLISHERS] {
                        let Number(number) = wait(subscription).expect("there is room for all");
                        if number == NOISE {
                            continue;
                        }
                        let publisher = number % PUBLISHERS;
                        assert_eq!(number / PUBLISHERS, next[publisher]);
                        next[publisher] += 1;
                    }
                });
            }
        });
        assert_eq!(hub.subscribers(), 4);
    }
}

fn block_with(logs: Vec<Log>) -> Arc<Block> {
    let header = Header { logs_bloom: logs_bloom(&logs), ..Header::default() };
    let receipt = Receipt {
        success: true,
        gas_used: 0,
        cumulative_gas_used: 0,
        gas_price: 0,
        created: None,
        output: Bytes::new(),
        logs,
    };
    Arc::new(Block {
        header,
        hash: B256::ZERO,
        environment: Environment::own(0),
        transactions: vec![],
        receipts: vec![receipt],
        changes: Arc::default(),
    })
}

#[test]
fn blocks_go_to_those_who_want_their_shard_and_their_logs() {
    let (here, there) = (Address::repeat_byte(1), Address::repeat_byte(2));
    let token = Address::repeat_byte(3);
    let log = Log::new_unchecked(token, vec![B256::repeat_byte(4)], Bytes::new());
    let filter = LogFilter::new([token], Default::default());
    let hub = Hub::new();
    let mut all = hub.subscribe(room(8), Interest::default());
    let mut of_shard = hub.subscribe(room(8), Interest { shard: Some(here), logs: None });
    let mut with_logs = hub.subscribe(room(8), Interest { shard: None, logs: Some(filter) });

    let empty_here = BlockEvent { shard: here, block: block_with(vec![]) };
    let logs_there = BlockEvent { shard: there, block: block_with(vec![log]) };
    hub.publish(&empty_here);
    hub.publish(&logs_there);

    assert_eq!(all.try_next(), Ok(Some(empty_here.clone())));
    assert_eq!(all.try_next(), Ok(Some(logs_there.clone())));
    assert_eq!(of_shard.try_next(), Ok(Some(empty_here)));
    assert_eq!(of_shard.try_next(), Ok(None));
    assert_eq!(with_logs.try_next(), Ok(Some(logs_there)));
    assert_eq!(with_logs.try_next(), Ok(None));
}
