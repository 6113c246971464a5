//! How a task comes into being: from Rust by name, from a guest by the table.

use std::sync::Arc;

use kernel::{Attributes, ScheduleError, StrandWith};

use crate::{
    abi::Code,
    error::SpawnError,
    id::TaskId,
    module::Signature,
    object::message::Message,
    program::{Program, shared::Shared},
    task::{body::TaskBody, cell::TaskCell},
    value::{Value, ValueType},
};

/// What is said of a task's strand.
static PLAIN: Attributes = Attributes { name: None, priority: 0.0, level: 0, key: None };

/// What a task is until its first turn.
#[derive(Debug)]
pub(crate) struct Birth {
    /// By the program's list of functions.
    pub(crate) function: u32,
    pub(crate) arguments: Arguments,
    pub(crate) input: Option<Box<Input>>,
}

/// The arguments of the function a task begins with.
#[derive(Debug)]
pub(crate) enum Arguments {
    /// Of a task that a guest has spawned.
    One(i64),
    Any(Box<[Value]>),
}

impl Arguments {
    pub(crate) fn with<R>(&self, user: impl FnOnce(&[Value]) -> R) -> R {
        match self {
            Arguments::One(value) => user(&[Value::I64(*value)]),
            Arguments::Any(values) => user(values),
        }
    }
}

/// Bytes that a task was spawned with. They count for as long as it lives.
#[derive(Debug)]
pub(crate) struct Input {
    shared: Arc<Shared>,
    message: Message,
}

impl Input {
    /// `None`: there are too many bytes in flight.
    pub(crate) fn new(shared: &Arc<Shared>, bytes: &[u8]) -> Option<Input> {
        let message = Message::new(bytes);
        let taken = shared.commons.in_flight.take(message.weight());
        taken.then(|| Input { shared: shared.clone(), message })
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        self.message.bytes()
    }
}

impl Drop for Input {
    fn drop(&mut self) {
        self.shared.commons.in_flight.give_back(self.message.weight());
    }
}

/// Why a task was not spawned.
#[derive(Debug)]
pub(crate) enum Refused {
    /// There are as many as there may be.
    Limit,
    /// The program is being shut down, or its runtime is.
    Closing,
    /// The runtime says so.
    Schedule(ScheduleError),
}

impl Refused {
    pub(crate) fn code(&self) -> Code {
        match self {
            Refused::Limit => Code::Limit,
            Refused::Closing | Refused::Schedule(_) => Code::Cancelled,
        }
    }
}

/// Makes a task and puts it into line. Its instance is made in its first turn.
pub(crate) fn spawn(shared: &Arc<Shared>, birth: Birth) -> Result<TaskId, Refused> {
    if shared.registry.is_closing() {
        return Err(Refused::Closing);
    }
    launch(shared, birth)
}

/// As `spawn`, whether or not the program is being shut down meanwhile: then the task ends in its first
/// turn.
pub(crate) fn launch(shared: &Arc<Shared>, birth: Birth) -> Result<TaskId, Refused> {
    let counts = &shared.commons.counts;
    let live = counts.add(shared.tasks_max()).ok_or(Refused::Limit)?;
    shared.tally.live(live);
    let id = shared.registry.new_id();
    let cell = TaskCell::new(id, birth.function);
    let body = TaskBody::new(shared.clone(), birth);
    let enter = |task: &StrandWith<TaskCell>| shared.registry.enter(task);
    let named;
    let attributes = if shared.runtime.is_recording() {
        named = named_after(shared, id, cell.function);
        &named
    } else {
        &PLAIN
    };
    match StrandWith::start(&shared.runtime, attributes, 1, || (cell, body), enter) {
        Ok(_) => Ok(id),
        Err(error) => {
            shared.act(counts.end());
            Err(Refused::Schedule(error))
        }
    }
}

/// What is said of a task's strand while turns are recorded: whose they are.
#[cold]
fn named_after(shared: &Shared, id: TaskId, function: u32) -> Attributes {
    Attributes { name: Some(format!("{} ({id})", shared.function_name(function))), ..PLAIN.clone() }
}

impl Program {
    /// Spawns a task that calls the exported function `func`. It begins when a worker has time for
    /// it.
    ///
    /// An integer is converted to the type of the parameter where it fits, so that plain numbers can
    /// be given; so is a float.
    ///
    /// # Errors
    /// If there is no such function, the arguments are not what it takes, there are too many tasks,
    /// or the program or its runtime has been shut down.
    pub fn spawn<A>(&self, func: &str, arguments: A) -> Result<TaskId, SpawnError>
    where
        A: IntoIterator<Item: Into<Value>>,
    {
        let shared = self.shared();
        let exports = &shared.module.exports;
        let Some(function) = exports.iter().position(|(name, _)| name == func) else {
            let there_are = exports.iter().map(|(name, _)| name.clone()).collect();
            return Err(SpawnError::NoSuchFunction { func: func.to_owned(), there_are });
        };
        let given: Vec<Value> = arguments.into_iter().map(Into::into).collect();
        let arguments = convert(func, &exports[function].1, &given)?;
        let birth =
            Birth { function: function as u32, arguments: Arguments::Any(arguments), input: None };
        spawn(shared, birth).map_err(|refused| match refused {
            Refused::Limit => SpawnError::TooManyTasks(shared.tasks_max()),
            Refused::Closing => SpawnError::ShutDown,
            Refused::Schedule(error) => SpawnError::Schedule(error),
        })
    }
}

fn convert(func: &str, signature: &Signature, given: &[Value]) -> Result<Box<[Value]>, SpawnError> {
    let wanted = &signature.parameters;
    if wanted.len() != given.len() {
        return Err(SpawnError::ArgumentCount {
            func: func.to_owned(),
            wanted: wanted.clone(),
            given: given.len(),
        });
    }
    let pairs = wanted.iter().zip(given).enumerate();
    let converted = pairs.map(|(at, (wanted, given))| {
        converted(*given, *wanted).ok_or_else(|| SpawnError::ArgumentType {
            func: func.to_owned(),
            at: at + 1,
            wanted: *wanted,
            given: *given,
        })
    });
    converted.collect()
}

/// A value as another type, where it is one.
fn converted(value: Value, wanted: ValueType) -> Option<Value> {
    if value.value_type() == wanted {
        return Some(value);
    }
    let integer = match value {
        Value::I32(value) => i64::from(value),
        Value::I64(value) => value,
        Value::F32(value) => return (wanted == ValueType::F64).then(|| Value::F64(value.into())),
        // Rounded: that is what a decimal number in a program's text is in any case.
        Value::F64(value) => return (wanted == ValueType::F32).then_some(Value::F32(value as f32)),
    };
    match wanted {
        ValueType::I32 => i32::try_from(integer).ok().map(Value::I32),
        ValueType::I64 => Some(Value::I64(integer)),
        ValueType::F32 => {
            let float = integer as f32;
            (float as i128 == i128::from(integer)).then_some(Value::F32(float))
        }
        ValueType::F64 => {
            let float = integer as f64;
            (float as i128 == i128::from(integer)).then_some(Value::F64(float))
        }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_converted_where_it_fits() {
        let fits = [
            (Value::I64(7), ValueType::I32, Value::I32(7)),
            (Value::I32(-7), ValueType::I64, Value::I64(-7)),
            (Value::I64(1 << 40), ValueType::F32, Value::F32((1u64 << 40) as f32)),
            (Value::I64(3), ValueType::F64, Value::F64(3.0)),
            (Value::F64(0.1), ValueType::F32, Value::F32(0.1)),
            (Value::F32(1.5), ValueType::F64, Value::F64(1.5)),
            (Value::F32(1.5), ValueType::F32, Value::F32(1.5)),
        ];
        for (given, wanted, expected) in fits {
            assert_eq!(converted(given, wanted), Some(expected), "{given:?} as {wanted}");
        }
        let does_not = [
            (Value::I64(1 << 31), ValueType::I32),
            (Value::I64(i64::MIN), ValueType::I32),
            (Value::I64((1 << 53) + 1), ValueType::F64),
            (Value::I64(i64::MAX), ValueType::F64),
            (Value::I32((1 << 24) + 1), ValueType::F32),
            (Value::F64(1.0), ValueType::I64),
            (Value::F32(1.0), ValueType::I32),
        ];
        for (given, wanted) in does_not {
            assert_eq!(converted(given, wanted), None, "{given:?} as {wanted}");
        }
    }
}
