//! Supervisors whose children end while they are started, stopped and terminated. Time stands
//! still here, so there are no delays.

use process::{Backoff, ChildSpec, Context, ExitReason, Processes, Supervisor, SupervisorError};
use shuttle::sync::mpsc::{Receiver, Sender, channel};

use crate::{check, runtime};

fn hasty() -> Supervisor {
    Supervisor::one_for_one().backoff(Backoff::none())
}

/// What a child tells of its life.
#[derive(Debug, PartialEq)]
enum Told {
    Began(&'static str),
    Ended(&'static str),
}

struct Life(&'static str, Sender<Told>);

impl Drop for Life {
    fn drop(&mut self) {
        let _ = self.1.send(Told::Ended(self.0));
    }
}

/// A child, named as its id, that ends when it gets a message.
fn child(id: &'static str, tell: &Sender<Told>) -> ChildSpec {
    let tell = tell.clone();
    let start = move |mut ctx: Context<()>| async move {
        tell.send(Told::Began(id)).unwrap();
        let _life = Life(id, tell);
        ctx.receive().await;
    };
    ChildSpec::new(id, start).name(id)
}

fn wait_for(told: &Receiver<Told>, wanted: Told) {
    while told.recv().unwrap() != wanted {}
}

#[test]
fn killed_while_it_is_started_a_child_is_started_again() {
    check(|| {
        let runtime = runtime();
        let (tell, told) = channel();
        let tree = hasty().child(child("a", &tell)).spawn(&runtime).unwrap();
        wait_for(&told, Told::Began("a"));
        // Its first turn may not be over, and its supervisor may not have heard that it began.
        let killed = runtime.named("a").is_some_and(|pid| runtime.kill_process(pid));
        assert!(killed);
        wait_for(&told, Told::Ended("a"));
        wait_for(&told, Told::Began("a"));
        tree.stop();
        wait_for(&told, Told::Ended("a"));
        runtime.shutdown();
    });
}

#[test]
fn killed_while_it_starts_its_children_a_supervisor_leaves_none_behind() {
    check(|| {
        let runtime = runtime();
        let (tell, told) = channel();
        let children = [child("a", &tell), child("b", &tell)];
        drop(tell);
        let tree = hasty().children(children).spawn(&runtime).unwrap();
        tree.kill();
        drop(tree);
        // Once all senders are gone, so are all who had them.
        let mut alive = 0;
        while let Ok(word) = told.recv() {
            match word {
                Told::Began(_) => alive += 1,
                Told::Ended(_) => alive -= 1,
            }
        }
        assert_eq!(alive, 0);
        runtime.shutdown();
    });
}

#[test]
fn stopped_while_a_child_ends_by_itself_all_end_once() {
    check(|| {
        let runtime = runtime();
        let (tell, told) = channel();
        let (end, ended) = channel();
        let children = [child("a", &tell), child("b", &tell)];
        drop(tell);
        let tree = hasty().children(children).spawn(&runtime).unwrap();
        let exited = tree.exited();
        let watcher = runtime.spawn_process(move |_: Context<()>| async move {
            end.send(exited.await).unwrap();
        });
        watcher.unwrap();
        wait_for(&told, Told::Began("b"));
        let _ = runtime.send_to_named("a", ());
        tree.stop();
        assert_eq!(ended.recv().unwrap(), ExitReason::Shutdown);
        drop(tree);
        while told.recv().is_ok() {}
        assert!(runtime.named("a").is_none() && runtime.named("b").is_none());
        runtime.shutdown();
    });
}

#[test]
fn two_that_fail_together_are_both_back_with_all() {
    check(|| {
        let runtime = runtime();
        let (tell, told) = channel();
        let children = [child("a", &tell), child("b", &tell)];
        drop(tell);
        let all = Supervisor::one_for_all().backoff(Backoff::none()).children(children);
        let tree = all.spawn(&runtime).unwrap();
        wait_for(&told, Told::Began("b"));
        for id in ["a", "b"] {
            let _ = runtime.send_to_named(id, ());
        }
        wait_for(&told, Told::Began("b"));
        tree.stop();
        drop(tree);
        // Nobody begins before the last one of its id has ended, and in the end all have.
        let mut alive = vec!["a", "b"];
        while let Ok(word) = told.recv() {
            match word {
                Told::Began(id) => {
                    assert!(!alive.contains(&id), "two of {id}");
                    alive.push(id);
                }
                Told::Ended(id) => alive.retain(|other| *other != id),
            }
        }
        assert!(alive.is_empty(), "{alive:?}");
        runtime.shutdown();
    });
}

#[test]
fn terminated_while_it_ends_by_itself_a_child_stays_stopped() {
    check(|| {
        let runtime = runtime();
        let (tell, told) = channel();
        let tree = hasty().child(child("a", &tell)).spawn(&runtime).unwrap();
        wait_for(&told, Told::Began("a"));
        let _ = runtime.send_to_named("a", ());
        let (done, over) = channel();
        let asker = tree.clone();
        let asker = runtime.spawn_process(move |_: Context<()>| async move {
            let terminated = asker.terminate_child("a").await;
            let counts = asker.count_children().await;
            done.send((terminated, counts.map(|counts| counts.running))).unwrap();
        });
        asker.unwrap();
        assert_eq!(over.recv().unwrap(), (Ok(()), Ok(0)));
        assert!(runtime.named("a").is_none());
        runtime.shutdown();
    });
}

#[test]
fn asked_while_it_gives_up_a_supervisor_answers_or_says_why_not() {
    check(|| {
        let runtime = runtime();
        let (tell, told) = channel();
        let strict = hasty().intensity(0, std::time::Duration::from_secs(1));
        let tree = strict.child(child("a", &tell)).spawn(&runtime).unwrap();
        wait_for(&told, Told::Began("a"));
        let (done, over) = channel();
        let asker = tree.clone();
        let asker = runtime.spawn_process(move |_: Context<()>| async move {
            done.send(asker.which_children().await).unwrap();
        });
        asker.unwrap();
        let _ = runtime.send_to_named("a", ());
        match over.recv().unwrap() {
            Ok(children) => assert_eq!(children.len(), 1),
            Err(SupervisorError::Exited(ExitReason::Error(text))) => {
                assert!(text.contains("more than 0 restarts"), "{text}");
            }
            Err(error) => panic!("{error}"),
        }
        runtime.shutdown();
    });
}
