//! Do supervisors keep their promises on real threads, where ends, starts and stops meet?

mod common;

use std::time::Duration;

use process::{Backoff, ChildSpec, Context, ExitReason, Processes, Strategy, Supervisor};

#[test]
fn a_child_that_is_killed_again_and_again_is_always_back() {
    let runtime = common::runtime(2);
    let (tell, told) = common::channel();
    let child = ChildSpec::new("child", move |mut ctx: Context<()>| async move {
        tell.send(ctx.pid()).unwrap();
        ctx.receive().await;
    });
    let hasty = Supervisor::one_for_one().unlimited_restarts().backoff(Backoff::none());
    let tree = hasty.child(child.name("child")).spawn(&runtime).unwrap();
    let mut last = told.next();
    for _ in 0..1000 {
        assert!(runtime.kill_process(last));
        let next = told.next();
        assert_ne!(last, next);
        last = next;
    }
    assert_eq!(process::block_on(tree.count_children()).unwrap().restarts, 1000);
    tree.stop();
    assert_eq!(process::block_on(tree.exited()), ExitReason::Shutdown);
    assert!(runtime.named("child").is_none());
}

/// Kills hit processes in every moment of their lives, supervisors too.
#[test]
fn a_tree_is_whole_again_after_many_kills() {
    const TEAMS: usize = 6;
    let runtime = common::runtime(2);
    let strategies = [Strategy::OneForOne, Strategy::OneForAll, Strategy::RestForOne];
    let team = move |number: usize| {
        let workers = ["a", "b", "c"].map(|id| {
            let start =
                |mut ctx: Context<()>| async move { while ctx.receive().await.is_some() {} };
            ChildSpec::new(id, start).name(format!("{number}{id}"))
        });
        let hasty = Supervisor::new(strategies[number % 3]).backoff(Backoff::none());
        hasty.intensity(3, Duration::from_millis(20)).children(workers)
    };
    let teams = (0..TEAMS)
        .map(|number| ChildSpec::supervisor(format!("team {number}"), move || team(number)));
    let root = Supervisor::one_for_one().unlimited_restarts().backoff(Backoff::none());
    let tree = root.name("root").children(teams).spawn(&runtime).unwrap();
    process::block_on(tree.ready()).unwrap();
    let all = 1 + 4 * TEAMS;
    let mut dice = 7_usize;
    for _ in 0..3000 {
        let running = runtime.processes();
        dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let victim = &running[(dice >> 33) % running.len()];
        if victim.name.as_deref() != Some("root") {
            runtime.kill_process(victim.pid);
        }
    }
    let whole = || runtime.processes().len() == all;
    common::eventually(whole);
    assert!(tree.is_alive());
    tree.stop();
    assert_eq!(process::block_on(tree.exited()), ExitReason::Shutdown);
    common::eventually(|| runtime.processes().is_empty());
}

#[test]
fn a_child_that_never_ends_its_turn_does_not_hold_the_others_up() {
    use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
    static LET_GO: AtomicBool = AtomicBool::new(false);
    let runtime = common::runtime(2);
    let (tell, told) = common::channel();
    let stuck = ChildSpec::new("stuck", |mut ctx: Context<()>| async move {
        ctx.receive().await;
        while !LET_GO.load(Relaxed) {
            std::thread::yield_now();
        }
    });
    let other = ChildSpec::new("other", move |mut ctx: Context<()>| {
        let tell = tell.clone();
        async move {
            ctx.receive().await;
            tell.send(ctx.is_cancelled()).unwrap();
        }
    });
    let stuck = stuck.stop_within(Duration::ZERO).name("stuck");
    let tree = Supervisor::one_for_one().child(other).child(stuck).spawn(&runtime).unwrap();
    process::block_on(tree.ready()).unwrap();
    runtime.send_to_named("stuck", ()).unwrap();
    while runtime.named("stuck").and_then(|pid| runtime.process_info(pid)).unwrap().mailbox_len > 0
    {
    }
    tree.stop();
    assert!(told.next());
    assert_eq!(process::block_on(tree.exited()), ExitReason::Shutdown);
    LET_GO.store(true, Relaxed);
}
