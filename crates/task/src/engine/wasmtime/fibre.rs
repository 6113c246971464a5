//! How a guest on its own stack is taken a step further.
//!
//! The guest's whole life is one future that owns its store: the start function, then the entry. A
//! step polls it once. It is pending when the guest is paused, which happens in three places only:
//! at the end of an interval of fuel (the engine does that, in loops and at the beginning of
//! functions), in a call that waits, and in a call that finds the step's fuel used up. Nobody needs
//! to be told when to poll again (the scheduler knows), so the waker does nothing.

use std::{
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, Waker},
};

use ::wasmtime::{Func, Result, Store, Val};

use super::{
    Common,
    host::{Guest, Pause, Shared},
    trap,
    warm::Live,
};
use crate::{
    engine::{Calls, Fuel, Instance, Step, Stepped},
    value::Value,
};

/// What comes of a guest that returns: its results, and the instance that it leaves.
type Returned = Result<(Vec<Value>, Live)>;

/// A guest on a stack of its own.
pub(super) struct Fibre {
    life: Pin<Box<dyn Future<Output = Returned> + Send>>,
    lent: Shared,
    /// Operations that it has used.
    used: u64,
    common: Arc<Common>,
}

/// What a task calls, and with what.
pub(super) struct Errand {
    pub(super) start: Option<Func>,
    pub(super) entry: Func,
    pub(super) arguments: Vec<Val>,
    /// The number of results.
    pub(super) results: usize,
}

impl Fibre {
    pub(super) fn new(live: Live, errand: Errand, common: Arc<Common>) -> Fibre {
        let lent = live.store.data().lent.clone();
        Fibre { life: Box::pin(lives(live, errand)), lent, used: 0, common }
    }
}

impl Instance for Fibre {
    // The store knows what the task has left in all.
    fn step(&mut self, fuel: Fuel, calls: Box<dyn Calls>) -> (Box<dyn Calls>, Step) {
        {
            let mut lent = self.lent.lock();
            if !lent.meter.begin(fuel.slice) {
                return (calls, Step { end: Stepped::Preempted, used: fuel.slice });
            }
            lent.lend(calls);
        }
        let polled = self.life.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        let mut lent = self.lent.lock();
        let calls = lent.give_back();
        let step = match polled {
            Poll::Ready(Ok((values, live))) => {
                let used = lent.meter.end();
                drop(lent);
                self.common.warm.put(live, self.used.saturating_add(used));
                Step { end: Stepped::Returned(values), used }
            }
            Poll::Ready(Err(error)) => {
                let trap = trap::running(&error, &self.common.names);
                Step { end: Stepped::Trapped(Box::new(trap)), used: lent.meter.end() }
            }
            Poll::Pending => {
                let end = match lent.take_pause() {
                    Some(Pause::Waits) => Stepped::Waits,
                    Some(Pause::Spent) => Stepped::Preempted,
                    None => {
                        lent.meter.interval_over();
                        Stepped::Preempted
                    }
                };
                let used = lent.meter.pause();
                self.used = self.used.saturating_add(used);
                Step { end, used }
            }
        };
        (calls, step)
    }
}

/// From the first operation to the last. A store whose guest has trapped, and with it the places in the
/// pool, is given back at the end.
async fn lives(mut live: Live, errand: Errand) -> Returned {
    let ended = run(&mut live.store, errand).await;
    if let Ok(fuel) = live.store.get_fuel() {
        live.store.data().lent.lock().meter.read(fuel);
    }
    Ok((ended?, live))
}

async fn run(store: &mut Store<Guest>, errand: Errand) -> Result<Vec<Value>> {
    if let Some(start) = errand.start {
        start.call_async(&mut *store, &[], &mut []).await?;
    }
    let mut results = vec![Val::I64(0); errand.results];
    errand.entry.call_async(&mut *store, &errand.arguments, &mut results).await?;
    results.iter().map(value).collect()
}

/// A value for the guest.
pub(super) fn val(value: &Value) -> Val {
    match *value {
        Value::I32(value) => Val::I32(value),
        Value::I64(value) => Val::I64(value),
        Value::F32(value) => Val::F32(value.to_bits()),
        Value::F64(value) => Val::F64(value.to_bits()),
    }
}

/// A value from the guest.
pub(super) fn value(val: &Val) -> Result<Value> {
    Ok(match *val {
        Val::I32(value) => Value::I32(value),
        Val::I64(value) => Value::I64(value),
        Val::F32(bits) => Value::F32(f32::from_bits(bits)),
        Val::F64(bits) => Value::F64(f64::from_bits(bits)),
        _ => ::wasmtime::bail!("a result that is neither an integer nor a float"),
    })
}
