//! Functions of the guest that empty what a program leaves behind, so that what is still counted then
//! was counted wrongly.
//!
//! Ids are given out in order, and one that was never given out is told by code 6. So each function
//! begins with the number it is given, and returns the one to go on with, or 0 if there are no more.

use wasm_encoder::{BlockType, Function, ValType::I64};

use crate::{imports, world::PAGE};

/// Ids that one call looks at: its fuel must do.
const AT_ONCE: i64 = 16;

const NO_SUCH: i32 = 6;

/// Room for any message or cell, and a place for its length behind it.
const ROOM: i32 = PAGE as i32 - 8;

/// The parameter, and the first number that is left for another call.
const NUMBER: u32 = 0;
const END: u32 = 1;

/// Closes channels and takes what was in them.
pub(super) const CHANNELS: &str = "tidy channels";

/// Empties the cells of mutexes.
pub(super) const MUTEXES: &str = "tidy mutexes";

pub(super) fn functions() -> [(&'static str, Function); 2] {
    [(CHANNELS, channels()), (MUTEXES, mutexes())]
}

fn channels() -> Function {
    each(1 << 60, |code, id| {
        code.local_get(id).call(imports::index("chan_close"));
        code.i32_const(NO_SUCH).i32_eq();
        leave_if(code);
        // While there is a message: take it.
        code.loop_(BlockType::Empty);
        code.local_get(id).i32_const(0).i32_const(ROOM).i32_const(ROOM);
        code.call(imports::index("chan_recv")).i32_eqz().br_if(0).end();
    })
}

fn mutexes() -> Function {
    each(1 << 61, |code, id| {
        code.local_get(id).i32_const(0).i32_const(ROOM).i32_const(ROOM);
        code.call(imports::index("lock")).i32_const(NO_SUCH).i32_eq();
        leave_if(code);
        // One that is poisoned was not locked, and has no cell any more.
        code.local_get(id).i32_const(0).i32_const(0);
        code.call(imports::index("unlock")).drop();
    })
}

/// Returns 0 if the number on the stack is not 0.
fn leave_if(code: &mut wasm_encoder::InstructionSink<'_>) {
    code.if_(BlockType::Empty).i64_const(0).return_().end();
}

/// Does `what` with the next few ids.
fn each(kind: i64, what: impl Fn(&mut wasm_encoder::InstructionSink<'_>, u32)) -> Function {
    const ID: u32 = 2;
    let mut function = Function::new([(2, I64)]);
    let mut code = function.instructions();
    code.local_get(NUMBER).i64_const(AT_ONCE).i64_add().local_set(END);
    code.loop_(BlockType::Empty);
    code.local_get(NUMBER).i64_const(kind).i64_or().local_set(ID);
    what(&mut code, ID);
    code.local_get(NUMBER).i64_const(1).i64_add().local_tee(NUMBER);
    code.local_get(END).i64_lt_s().br_if(0).end();
    code.local_get(END).end();
    function
}
