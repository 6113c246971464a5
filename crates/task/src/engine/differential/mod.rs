//! Do both engines give the same answers?
//!
//! The same module runs on both, against the same scripted host. Compared are the results, the kinds
//! of traps, and every call with its arguments and the memory it saw. Not compared is how much fuel
//! anything took, nor where steps ended: an operation is not the same to both.

mod numbers;
mod programs;
mod random;

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    sync::{Arc, Mutex},
};

use crate::{
    abi::{Call, MAX_PARAMETERS},
    engine::{Answer, Calls, Engine, Fuel, Stepped, prepare},
    error::LoadError,
    module::{Entry, Module},
    options::{EngineKind, Limits, Options},
    trap::TrapKind,
    value::Value,
};

/// Far more than any of these guests needs.
const STEPS_MAX: usize = 1_000_000;

/// A module on both engines.
struct Pair {
    engines: [Box<dyn Engine>; 2],
    module: Module,
}

impl Pair {
    fn wat(wat: &str) -> Pair {
        let bytes = wat::parse_str(wat).expect("the guest is good WAT");
        Pair::load(&bytes).expect("both engines have it")
    }

    fn load(bytes: &[u8]) -> Result<Pair, LoadError> {
        let limits = Limits { task_memory: 1 << 20, jit_tasks: 2, ..Limits::default() };
        let module = Module::read(bytes, &limits)?;
        let prepare = |kind| {
            // A slice that is short on both, so that guests are paused in many places.
            let options = Options {
                engine: kind,
                preemption_threshold: Some(500),
                limits,
                ..Options::default()
            };
            prepare(&module, &options)
        };
        let engines = [prepare(EngineKind::Wasmi)?, prepare(EngineKind::Wasmtime)?];
        Ok(Pair { engines, module })
    }

    /// Runs a function on both, and compares.
    #[track_caller]
    fn check(&self, entry: &Entry, arguments: &[Value], seed: u64) {
        let [wasmi, wasmtime] =
            [0, 1].map(|engine| Story::of(&*self.engines[engine], entry, arguments, seed));
        if !wasmi.agrees_with(&wasmtime) {
            panic!("{entry:?}{arguments:?}\nwasmi    {wasmi:?}\nwasmtime {wasmtime:?}");
        }
    }

    /// Every exported function, with arguments made from the seed.
    #[track_caller]
    fn check_exports(&self, seed: u64) {
        for (name, signature) in &self.module.exports {
            let mut dice = Dice(seed);
            let arguments: Vec<Value> =
                signature.parameters.iter().map(|ty| numbers::random(*ty, &mut dice)).collect();
            self.check(&Entry::Export(name.clone()), &arguments, seed);
        }
    }
}

/// What happened, as far as both engines must agree on it.
#[derive(Debug)]
struct Story {
    calls: Vec<Heard>,
    end: End,
}

/// A call, its arguments, and a hash of the memory that it saw.
type Heard = (Call, [u64; MAX_PARAMETERS], u64);

#[derive(Debug)]
enum End {
    Returned(Vec<Value>),
    Trapped(TrapKind),
}

impl Story {
    fn of(engine: &dyn Engine, entry: &Entry, arguments: &[Value], seed: u64) -> Story {
        let heard = Arc::new(Mutex::new(Vec::new()));
        let host = Box::new(Host { dice: Dice(seed), heard: heard.clone(), vain: 0 });
        let (mut calls, made) = engine.instantiate(entry, arguments, host);
        let end = match made {
            Err(trap) => End::Trapped(trap.kind),
            Ok(mut instance) => (0..STEPS_MAX)
                .find_map(|_| {
                    let fuel = Fuel { slice: 500, left: u64::MAX };
                    let (back, step) = instance.step(fuel, std::mem::replace(&mut calls, nobody()));
                    calls = back;
                    match step.end {
                        Stepped::Preempted | Stepped::Waits => None,
                        Stepped::Returned(values) => Some(End::Returned(values)),
                        Stepped::Trapped(trap) => Some(End::Trapped(trap.kind)),
                    }
                })
                .unwrap_or_else(|| panic!("{entry:?}{arguments:?} does not end")),
        };
        let calls = std::mem::take(&mut *heard.lock().unwrap());
        Story { calls, end }
    }

    fn agrees_with(&self, other: &Story) -> bool {
        let same_calls = self.calls.iter().zip(&other.calls).all(|(a, b)| a == b);
        let deep = |end: &End| matches!(end, End::Trapped(TrapKind::StackOverflow));
        if deep(&self.end) || deep(&other.end) {
            // A stack holds more calls on one than on the other, so one may have got further.
            return same_calls;
        }
        same_calls
            && self.calls.len() == other.calls.len()
            && match (&self.end, &other.end) {
                (End::Trapped(a), End::Trapped(b)) => a == b,
                (End::Returned(a), End::Returned(b)) => {
                    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(*a, *b))
                }
                _ => false,
            }
    }
}

/// Equal bits, or both no number: which bits such a value has is up to the engine.
fn same(a: Value, b: Value) -> bool {
    match (a, b) {
        (Value::F32(a), Value::F32(b)) => a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan(),
        (Value::F64(a), Value::F64(b)) => a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan(),
        _ => a == b,
    }
}

/// Stands in while the other is lent.
fn nobody() -> Box<dyn Calls> {
    Box::new(Host { dice: Dice(0), heard: Arc::default(), vain: 0 })
}

/// A host that throws dice: answers, waits, writes into the memory.
struct Host {
    dice: Dice,
    heard: Arc<Mutex<Vec<Heard>>>,
    /// How often the next resumption is in vain.
    vain: u64,
}

impl Host {
    /// Hashing a memory takes longer than most calls, so only the first calls do it.
    fn hear(&self, call: Call, arguments: [u64; MAX_PARAMETERS], memory: &[u8]) {
        let mut heard = self.heard.lock().unwrap();
        let mut hash = DefaultHasher::new();
        memory.len().hash(&mut hash);
        if heard.len() < 16 {
            memory.hash(&mut hash);
        }
        heard.push((call, arguments, hash.finish()));
    }

    fn answer(&mut self, memory: &mut [u8]) -> Answer {
        if !memory.is_empty() && self.dice.below(2) == 0 {
            let at = self.dice.below(memory.len() as u64) as usize;
            memory[at] = self.dice.next() as u8;
        }
        Answer::Return(match self.dice.below(3) {
            0 => self.dice.next(),
            1 => self.dice.below(10),
            _ => 0,
        })
    }
}

impl Calls for Host {
    fn cost(&self, _: Call, arguments: &[u64; MAX_PARAMETERS]) -> u64 {
        10 + arguments[0] % 100
    }

    fn call(&mut self, call: Call, arguments: [u64; MAX_PARAMETERS], memory: &mut [u8]) -> Answer {
        self.hear(call, arguments, memory);
        if self.dice.below(4) == 0 {
            self.vain = self.dice.below(3);
            return Answer::Wait;
        }
        self.answer(memory)
    }

    fn resume(&mut self, memory: &mut [u8]) -> Answer {
        if self.vain > 0 {
            self.vain -= 1;
            return Answer::Wait;
        }
        self.answer(memory)
    }

    fn grow_memory(&mut self, _: usize, desired: usize) -> bool {
        desired <= 512 << 10
    }

    fn grow_table(&mut self, _: usize, _: usize) -> bool {
        true
    }

    fn begin_stack(&mut self, _: usize) -> bool {
        true
    }
}

/// Numbers from a seed: splitmix64.
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }
}
