//! What runs inside of a job's turn, a simulation or other jobs, and what the pool makes of it.

mod common;

use common::{channel, on_one};
use job::{
    Batch, Error, Executor, Job, JobError,
    transaction::{Address, Ledger, Transaction},
};

/// The only worker of the outer pool would wait for itself.
#[test]
fn waiting_for_the_outer_pool_inside_of_a_nested_simulation_is_refused() {
    let pool = on_one().build().unwrap();
    let outer = pool.share();
    let (tell, told) = channel();
    let nests = Job::new(move |_| {
        let mut inner = on_one().simulate(1).unwrap();
        let waits = Job::new(move |_| {
            let job = || outer.submit(Job::new(|_| 1)).unwrap();
            let mut batch = Batch::new();
            batch.add(Job::new(|_| ()));
            let batch = outer.submit_batch(batch).unwrap();
            let mut ledger = Ledger::new();
            ledger.add(Transaction::new(Address::new([1; 20]), 0, ())).unwrap();
            let receipts = ledger.submit(&outer, &Executor::new(Ok::<(), String>)).unwrap();
            let refused = (job().wait(), job().join(), batch.wait(), receipts.join());
            tell.send(refused).unwrap();
        });
        drop(inner.submit(waits).unwrap());
        inner.simulation().run();
    });
    let nests = pool.submit(nests).unwrap();
    let (wait, join, batch, receipts) = told.next();
    assert_eq!((wait, join), (Err(Error::WouldBlock), Err(JobError::WouldBlock)));
    assert_eq!(batch, Err(Error::WouldBlock));
    assert!(matches!(receipts, Err(Error::WouldBlock)), "{receipts:?}");
    nests.join().unwrap();
    pool.shutdown();
}
