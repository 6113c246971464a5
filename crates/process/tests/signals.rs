//! Does whoever reads of an exit have read all that came from there, and is a request to end heard
//! at once?

mod common;

use std::{sync::mpsc::Sender, time::Duration};

use common::{channel, runtime};
use kernel::{Runtime, each_seed};
use process::{
    Context, Event, FaultPlan, Payload, Process, ProcessError, Processes, StepOutput, block_on,
};

/// Monitors a process that sends so many numbers, and exits.
fn monitor_worker(ctx: &Context<Payload>, count: i64) {
    let to = ctx.addr();
    let builder = ctx.process().detached();
    let worker = builder.spawn(move |mut ctx: Context<()>| async move {
        ctx.receive().await;
        for number in 0..count {
            to.send(number.into()).unwrap();
        }
    });
    let worker = worker.unwrap();
    ctx.monitor(worker.pid());
    worker.send(()).unwrap();
}

/// What a watcher read: messages as their numbers, news of the exit as -1.
fn note(event: &Event<Payload>) -> i64 {
    match event {
        Event::Message(number) => number.as_int().unwrap(),
        Event::Exit { .. } | Event::Down { .. } => -1,
        event => panic!("it should not have heard {event:?}"),
    }
}

async fn read_until_down(ctx: &mut Context<Payload>) -> Vec<i64> {
    let mut read = Vec::new();
    while !read.ends_with(&[-1]) {
        read.push(note(&ctx.event().await));
    }
    read
}

#[test]
fn monitor_hears_of_an_exit_behind_what_came_from_there() {
    let runtime = runtime(2);
    let (tell, told) = channel();
    let watcher = runtime.spawn_process(move |mut ctx: Context<Payload>| async move {
        for round in 0..500 {
            monitor_worker(&ctx, round % 7);
            tell.send((round, read_until_down(&mut ctx).await)).unwrap();
        }
    });
    block_on(watcher.unwrap().exited());
    let all = told.all();
    assert_eq!(all.len(), 500);
    for (round, read) in all {
        let all: Vec<i64> = (0..round % 7).chain([-1]).collect();
        assert_eq!(read, all);
    }
}

#[test]
fn link_that_traps_hears_of_an_exit_behind_what_came_from_there_though_it_was_late() {
    each_seed(200, |seed| {
        let mut simulation = Runtime::builder().workers(2).simulate(seed).unwrap();
        if seed % 2 == 0 {
            simulation.inject(FaultPlan::new(seed).delays(Duration::from_millis(50)));
        }
        let (tell, told) = channel();
        let builder = simulation.process().trap_exits();
        let watcher = builder.spawn(move |mut ctx: Context<Payload>| async move {
            let own = ctx.addr();
            let child = ctx.spawn(move |_: Context<()>| async move {
                for number in 0..5 {
                    own.send(Payload::from(number)).unwrap();
                }
            });
            child.unwrap();
            tell.send(read_until_down(&mut ctx).await).unwrap();
        });
        watcher.unwrap();
        simulation.run();
        assert_eq!(told.next(), [0, 1, 2, 3, 4, -1]);
    });
}

#[test]
fn messages_read_in_any_way_count_and_later_ones_do_not_hold_up_the_news() {
    let mut simulation = Runtime::builder().workers(1).simulate(0).unwrap();
    let (tell, told) = channel();
    let watcher = simulation.spawn_process(move |mut ctx: Context<Payload>| async move {
        monitor_worker(&ctx, 4);
        ctx.sleep(Duration::from_secs(1)).await; // there are 4 messages, and the news
        ctx.sleep(Duration::from_secs(1)).await; // and later ones
        let mut read = vec![];
        read.push(ctx.receive().await.unwrap().as_int().unwrap());
        read.push(ctx.try_receive().unwrap().as_int().unwrap());
        for _ in 0..5 {
            read.push(note(&ctx.event().await));
        }
        tell.send(read).unwrap();
    });
    let watcher = watcher.unwrap();
    simulation.run_for(Duration::from_millis(1500));
    for number in [7, 8] {
        watcher.send(Payload::from(number)).unwrap();
    }
    simulation.run();
    assert_eq!(told.next(), [0, 1, 2, 3, -1, 7, 8]);
}

#[test]
fn news_behind_messages_that_were_read_out_of_order_comes_at_the_end_at_the_latest() {
    let mut simulation = Runtime::builder().workers(1).simulate(0).unwrap();
    let (tell, told) = channel();
    let watcher = simulation.spawn_process(move |mut ctx: Context<Payload>| async move {
        monitor_worker(&ctx, 4);
        ctx.sleep(Duration::from_secs(1)).await;
        let last = ctx.receive_if(|number| *number == Payload::from(3)).await.unwrap();
        let mut read = vec![last.as_int().unwrap()];
        for _ in 0..4 {
            read.push(note(&ctx.event().await));
        }
        tell.send(read).unwrap();
    });
    watcher.unwrap();
    simulation.run();
    assert_eq!(told.next(), [3, 0, 1, 2, -1]);
}

#[test]
fn request_to_end_is_heard_before_all_messages() {
    let mut simulation = Runtime::builder().workers(1).simulate(0).unwrap();
    let (tell, told) = channel();
    let busy = simulation.spawn_process(move |mut ctx: Context<u32>| async move {
        ctx.sleep(Duration::from_secs(1)).await;
        let first = ctx.event().await;
        tell.send(matches!(first, Event::Cancel)).unwrap();
    });
    let busy = busy.unwrap();
    busy.send_many(0..100).unwrap();
    busy.cancel();
    simulation.run();
    assert!(told.next());
}

/// Notes what it hears.
struct Notes(Sender<Vec<i64>>);

impl Process for Notes {
    fn step(
        &mut self,
        events: &mut Vec<Event<Payload>>,
        out: &mut StepOutput,
    ) -> Result<(), ProcessError> {
        self.0.send(events.iter().map(note).collect())?;
        out.idle();
        Ok(())
    }
}

#[test]
fn state_machine_hears_of_an_exit_behind_what_came_from_there() {
    let mut simulation = Runtime::builder().workers(1).simulate(0).unwrap();
    let (tell, told) = channel();
    let parent = simulation.spawn_process(move |ctx: Context<()>| async move {
        let notes = ctx.process().trap_exits().start(Notes(tell), "run", ()).unwrap();
        notes.send_many((0..100).map(Payload::from)).unwrap();
    });
    parent.unwrap();
    simulation.run();
    let steps = told.all();
    // The first has none, and others 64 at most.
    let lengths: Vec<usize> = steps.iter().map(Vec::len).collect();
    assert_eq!(lengths, [0, 64, 37]);
    let read: Vec<i64> = steps.into_iter().flatten().collect();
    assert!(read.iter().copied().eq((0..100).chain([-1])), "{read:?}");
}
