//! What is kept of a guest that is suspended, by what its function returns.
//!
//! A task that was spawned by a guest begins with a function that takes an i64, and returns one or
//! nothing. For these two wasmi knows the types when it is compiled. For others it looks them up each
//! time that the guest goes on, under a lock that all tasks of a program share.

use wasmi::{
    ResumableCallHostTrap, ResumableCallOutOfFuel, TypedResumableCallHostTrap,
    TypedResumableCallOutOfFuel,
};

use crate::value::Value;

/// A guest that is suspended in a call.
pub(super) enum InCall {
    Nothing(TypedResumableCallHostTrap<()>),
    Number(TypedResumableCallHostTrap<i64>),
    Any(ResumableCallHostTrap),
}

/// A guest that is out of fuel.
pub(super) enum OutOfFuel {
    Nothing(TypedResumableCallOutOfFuel<()>),
    Number(TypedResumableCallOutOfFuel<i64>),
    Any(ResumableCallOutOfFuel),
}

/// What a function returns whose type is known.
pub(super) trait Returns: Sized {
    fn values(self) -> Vec<Value>;
    fn in_call(guest: TypedResumableCallHostTrap<Self>) -> InCall;
    fn out_of_fuel(guest: TypedResumableCallOutOfFuel<Self>) -> OutOfFuel;
}

impl Returns for () {
    fn values(self) -> Vec<Value> {
        Vec::new()
    }

    fn in_call(guest: TypedResumableCallHostTrap<()>) -> InCall {
        InCall::Nothing(guest)
    }

    fn out_of_fuel(guest: TypedResumableCallOutOfFuel<()>) -> OutOfFuel {
        OutOfFuel::Nothing(guest)
    }
}

impl Returns for i64 {
    fn values(self) -> Vec<Value> {
        vec![Value::I64(self)]
    }

    fn in_call(guest: TypedResumableCallHostTrap<i64>) -> InCall {
        InCall::Number(guest)
    }

    fn out_of_fuel(guest: TypedResumableCallOutOfFuel<i64>) -> OutOfFuel {
        OutOfFuel::Number(guest)
    }
}
