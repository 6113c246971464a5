//! Our tasks, as the workloads ask for them.

use std::time::{Duration, Instant};

use ::task::{EngineKind, LogSink, Options, Program, TaskResult, Value};
use benches::{
    Args, Line, Tally,
    task::{self, Compute, guests},
};
use kernel::Runtime;

use crate::OURS;

/// Results that are kept where nobody asks for them.
const RESULTS_FEW: usize = 1_000;

/// For workloads that are about so many tasks at once.
const PLENTY: usize = 10_000_000;

pub(crate) struct Ours<'a> {
    pub(crate) runtime: &'a Runtime,
    pub(crate) jit: bool,
}

impl Ours<'_> {
    pub(crate) fn measure(&self, args: &Args, workload: &str) -> Line {
        match (workload, Compute::of(workload)) {
            (_, Some(what)) => self.compute(args, what),
            ("live", _) => self.live(args, guests::LIVE),
            ("live_page", _) => self.live(args, guests::LIVE_PAGE),
            ("ping_pong" | "ring_1000", _) => self.ring(args),
            ("skynet", _) => self.skynet(args),
            _ => self.spawn(args),
        }
    }

    /// Loads a guest, with the engine that is measured.
    pub(crate) fn load(&self, guest: &str, change: impl FnOnce(&mut Options)) -> Program {
        let mut options = Options::default();
        options.engine = if self.jit { EngineKind::Wasmtime } else { EngineKind::Wasmi };
        change(&mut options);
        Program::load(self.runtime, guests::module(guest), options).expect("our guests load")
    }

    /// One task spawns the others, and all have ended when the program has.
    fn spawn(&self, args: &Args) -> Line {
        let program = self.load(guests::SPAWN, |options| {
            options.limits.results = RESULTS_FEW;
        });
        task::spawn(args, OURS, |count| {
            program.spawn("main", [count as i64]).expect("it can be spawned");
            let results = program.run().expect("this is no turn");
            assert!(results.iter().all(|task| task.outcome.is_ok()), "a task failed: {results:?}");
        })
    }

    /// A task logs just before it waits.
    fn live(&self, args: &Args, guest: &str) -> Line {
        let waiting = Tally::leaked();
        let program = self.load(guest, |options| {
            options.log = LogSink::new(|_| waiting.add());
            options.limits.channels = PLENTY;
            options.limits.program_memory = usize::MAX;
        });
        let mut expected = 0;
        let line = task::live(args, OURS, |count| {
            let begun = Instant::now();
            program.spawn("main", [count as i64]).expect("it can be spawned");
            expected += count;
            waiting.wait_for(expected);
            begun.elapsed()
        });
        let stats = program.stats();
        assert!(stats.live as u64 >= expected && stats.failed == 0, "not all wait: {stats:?}");
        line
    }

    /// The guest takes the time, from the first message to the last.
    fn ring(&self, args: &Args) -> Line {
        let program = self.load(guests::RING, |_| ());
        task::ring(args, OURS, |members, hops| {
            let id = program.spawn("main", [members as i64, hops as i64]);
            let id = id.expect("it can be spawned");
            let results = program.run().expect("this is no turn");
            let main = results.iter().find(|task| task.id == id).expect("its result is kept");
            Duration::from_nanos(number(main) as u64)
        })
    }

    /// The clock stops when the root has returned.
    fn skynet(&self, args: &Args) -> Line {
        let prepare = || {
            self.load(guests::SKYNET, |options| {
                options.limits.tasks = PLENTY;
                options.limits.results = PLENTY;
                options.limits.program_memory = usize::MAX;
            })
        };
        task::skynet(args, OURS, prepare, |program, leaves| {
            let root = program.spawn("main", [leaves as i64]).expect("it can be spawned");
            let root = self.runtime.spawn(program.task(root));
            let root = root.expect("the runtime runs").join().expect("it does not panic");
            number(&root.expect("its result is kept")) as u64
        })
    }

    /// One task computes, and is preempted as any.
    fn compute(&self, args: &Args, what: Compute) -> Line {
        let program = self.load(guests::COMPUTE, |options| {
            options.limits.results = RESULTS_FEW;
        });
        task::compute(args, OURS, what, |argument| {
            let id = program.spawn(what.func, [argument]).expect("it can be spawned");
            let results = program.run().expect("this is no turn");
            number(results.iter().find(|task| task.id == id).expect("its result is kept"))
        })
    }
}

/// What a task returned.
fn number(task: &TaskResult) -> i64 {
    match task.outcome.as_deref() {
        Ok([Value::I64(number)]) => *number,
        other => panic!("{} gave {other:?} instead of a number", task.func),
    }
}
