//! What only the inside of a worker can show.

use std::{
    sync::{Arc, Mutex, mpsc},
    task::Waker,
};

use crate::{Placement, Runtime, Step, Turn};

struct WakesWhenDropped(Waker);

impl Drop for WakesWhenDropped {
    fn drop(&mut self) {
        self.0.wake_by_ref();
    }
}

/// A worker has taken a job, which still lies in its slot, when it finds that the runtime is
/// closed. Drops of what waits in its inbox wake a strand, which must not be pushed over the job.
#[test]
fn job_in_its_slot_is_not_written_over_while_the_runtime_closes() {
    let builder = Runtime::builder().workers(1).placement(Placement::RoundRobin);
    let runtime = builder.quantum(std::time::Duration::from_secs(100)).build().unwrap();
    let (strand, _join) = runtime.strand().idle(|_| Step::<()>::Pause).unwrap();
    let wakes = WakesWhenDropped(strand.waker());
    let seen = Arc::new(Mutex::new(Vec::new()));
    let (ready, is_ready) = mpsc::channel();
    let (go, may_go) = mpsc::channel();
    let (end, ended) = mpsc::channel::<()>();
    let theirs = seen.clone();
    let first = move |turn: &mut Turn<'_>| {
        for i in 0..3_u64 {
            let (theirs, end) = (theirs.clone(), end.clone());
            let numbers = [i, 2222, 3333];
            turn.submit(move |_| {
                theirs.lock().unwrap().push(numbers);
                drop(end);
            });
        }
        ready.send(()).unwrap();
        may_go.recv().unwrap();
    };
    runtime.submit(first).unwrap();
    is_ready.recv().unwrap();
    runtime.submit(move |_| drop(wakes)).unwrap();
    // As when a runtime is dropped, before its workers are asked to stop.
    runtime.shared.refuse();
    runtime.shared.idle.close();
    go.send(()).unwrap();
    assert!(ended.recv().is_err(), "all that held it is gone");
    assert!(seen.lock().unwrap().iter().all(|numbers| numbers[1..] == [2222, 3333]));
}
