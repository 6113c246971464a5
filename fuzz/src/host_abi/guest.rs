//! Writes a scenario's functions as a module.
//!
//! Imports come first, then the scenario's functions, then those that tidy up (see `tidy`). The table
//! is empty at 0 and has the scenario's functions from 1 on.

use wasm_encoder::{
    BlockType, CodeSection, ConstExpr, ElementSection, Elements, ExportKind, ExportSection,
    FunctionSection, InstructionSink, MemArg, MemArgTarget, MemorySection, MemoryType, Module,
    RefType, TableSection, TableType, TypeSection,
    ValType::{self, I32, I64},
};

use super::{
    scenario::{Argument, FUNCTIONS_MAX, Function, Kind, Op, SLOTS, channel, mutex},
    tidy,
};
use crate::imports::{self, IMPORTS};

/// Nested bodies deeper than this are left out.
const DEPTH_MAX: usize = 6;

/// Ops of a function at most, so that a file of a few bytes does not make a module of megabytes.
const OPS_MAX: usize = 64;

/// Where a guest keeps the list for a select.
const LIST: i64 = 1024;

/// Where the length of what comes is put.
const LEN_OUT: i64 = 512;

/// An access at its address, aligned or not.
const WORD: MemArg =
    MemArg { offset: 0, align: 0, target: MemArgTarget::Memory(0), ordering: None };

/// Pages that a guest can grow to by itself.
const PAGES_MAX: u64 = 6;

impl Kind {
    fn signature(self) -> (&'static [ValType], &'static [ValType]) {
        match self {
            Kind::Answers => (&[I64], &[I64]),
            Kind::Silent => (&[I64], &[]),
            Kind::TakesInt => (&[I32], &[I64]),
            Kind::TakesNothing => (&[], &[I64]),
            Kind::AnswersTwice => (&[I64], &[I64, I32]),
        }
    }
}

/// The name of one of the scenario's functions.
pub(super) fn name(function: usize) -> String {
    format!("f{function}")
}

pub(super) fn module(functions: &[Function]) -> Vec<u8> {
    let functions = &functions[..functions.len().min(FUNCTIONS_MAX)];
    let (mut types, import_section) = imports::sections();
    let (mut declared, mut exports, mut code) =
        (FunctionSection::new(), ExportSection::new(), CodeSection::new());
    let first = IMPORTS.len() as u32;
    let answers = function_type(&mut types, Kind::Answers.signature());

    for (index, function) in functions.iter().enumerate() {
        let ty = function_type(&mut types, function.kind.signature());
        declared.function(ty);
        exports.export(&name(index), ExportKind::Func, first + index as u32);
        let writer = Writer { functions, own: first + index as u32, answers };
        code.function(&writer.function(function));
    }
    for (index, (name, body)) in (first + functions.len() as u32..).zip(tidy::functions()) {
        declared.function(answers);
        exports.export(name, ExportKind::Func, index);
        code.function(&body);
    }

    let (mut tables, mut elements, mut memories) =
        (TableSection::new(), ElementSection::new(), MemorySection::new());
    tables.table(TableType {
        element_type: RefType::FUNCREF,
        table64: false,
        minimum: functions.len() as u64 + 2,
        maximum: None,
        shared: false,
    });
    exports.export("table", ExportKind::Table, 0);
    let all: Vec<u32> = (first..first + functions.len() as u32).collect();
    elements.active(None, &ConstExpr::i32_const(1), Elements::Functions(all.into()));
    memories.memory(MemoryType {
        minimum: 1,
        maximum: Some(PAGES_MAX),
        memory64: false,
        shared: false,
        page_size_log2: None,
    });

    let mut module = Module::new();
    module.section(&types).section(&import_section).section(&declared).section(&tables);
    module.section(&memories).section(&exports).section(&elements).section(&code);
    module.finish()
}

fn function_type(
    types: &mut TypeSection,
    (parameters, results): (&'static [ValType], &'static [ValType]),
) -> u32 {
    let index = types.len();
    types.ty().function(parameters.iter().copied(), results.iter().copied());
    index
}

/// What is known while a function is written.
struct Writer<'a> {
    functions: &'a [Function],
    own: u32,
    /// The type of a function that takes an `i64` and returns one.
    answers: u32,
}

/// Where a function stands while it is written.
struct Place<'f> {
    code: InstructionSink<'f>,
    kind: Kind,
    parameters: u32,
    ops: usize,
    depth: usize,
}

impl Place<'_> {
    fn slot(&self, slot: u8) -> u32 {
        self.parameters + u32::from(slot % SLOTS)
    }

    /// The local that counts a loop at this depth.
    fn counter(&self) -> u32 {
        self.parameters + u32::from(SLOTS) + self.depth as u32
    }

    fn long(&mut self, argument: Argument) {
        match argument {
            Argument::Slot(slot) => self.code.local_get(self.slot(slot)),
            Argument::Parameter => match self.kind {
                Kind::TakesNothing => self.code.i64_const(0),
                Kind::TakesInt => self.code.local_get(0).i64_extend_i32_s(),
                _ => self.code.local_get(0),
            },
            fixed => self.code.i64_const(fixed.outside()),
        };
    }

    fn int(&mut self, argument: Argument) {
        self.long(argument);
        self.code.i32_wrap_i64();
    }

    /// Keeps an `i32` that a call has returned.
    fn keep_int(&mut self, slot: u8) {
        let slot = self.slot(slot);
        self.code.i64_extend_i32_s().local_set(slot);
    }

    fn call(&mut self, name: &str) {
        self.code.call(imports::index(name));
    }

    /// Leaves the function: what it returns is its first slot.
    fn leave(&mut self) {
        let slot = self.slot(0);
        match self.kind {
            Kind::Silent => {}
            Kind::AnswersTwice => {
                self.code.local_get(slot).i32_const(7);
            }
            _ => {
                self.code.local_get(slot);
            }
        }
    }
}

impl Writer<'_> {
    fn function(&self, function: &Function) -> wasm_encoder::Function {
        let locals = u32::from(SLOTS) + DEPTH_MAX as u32 + 1;
        let mut written = wasm_encoder::Function::new([(locals, I64)]);
        let mut place = Place {
            code: written.instructions(),
            kind: function.kind,
            parameters: function.kind.signature().0.len() as u32,
            ops: 0,
            depth: 0,
        };
        self.body(&mut place, &function.body);
        place.leave();
        place.code.end();
        written
    }

    fn body(&self, place: &mut Place<'_>, body: &[Op]) {
        if place.depth >= DEPTH_MAX {
            return;
        }
        place.depth += 1;
        for op in body {
            place.ops += 1;
            if place.ops <= OPS_MAX {
                self.op(place, op);
            }
        }
        place.depth -= 1;
    }

    fn op(&self, place: &mut Place<'_>, op: &Op) {
        match op {
            Op::Call { import, arguments, keep } => self.call(place, *import, arguments, *keep),
            Op::Spawn { function, argument, keep } => {
                let index = usize::from(*function) % self.functions.len() + 1;
                place.code.i32_const(index as i32);
                place.long(*argument);
                place.call("spawn");
                let slot = place.slot(*keep);
                place.code.local_set(slot);
            }
            Op::Send { channel: number, len } => {
                place.code.i64_const(channel(*number)).i32_const(0).i32_const((*len).into());
                place.call("chan_send");
                place.keep_int(0);
            }
            Op::Receive { channel: number, room } => {
                place.code.i64_const(channel(*number)).i32_const(0).i32_const((*room).into());
                place.code.i32_const(LEN_OUT as i32);
                place.call("chan_recv");
                place.keep_int(0);
            }
            Op::Locked { mutex: number, room, len, body } => {
                place.code.i64_const(mutex(*number)).i32_const(0).i32_const((*room).into());
                place.code.i32_const(LEN_OUT as i32);
                place.call("lock");
                place.keep_int(1);
                self.body(place, body);
                place.code.i64_const(mutex(*number)).i32_const(0).i32_const((*len).into());
                place.call("unlock");
                place.keep_int(1);
            }
            Op::Select { channels, timeout } => {
                for (at, number) in (LIST as i32..).step_by(8).zip(channels) {
                    place.code.i32_const(at).i64_const(channel(*number)).i64_store(WORD);
                }
                place.code.i32_const(LIST as i32).i32_const(channels.len() as i32);
                place.long(*timeout);
                place.call("select");
                place.keep_int(0);
            }
            Op::Store { at, value } => {
                place.int(*at);
                place.long(*value);
                place.code.i64_store(WORD);
            }
            Op::Load { at, keep } => {
                place.int(*at);
                let slot = place.slot(*keep);
                place.code.i64_load(WORD).local_set(slot);
            }
            Op::Repeat { times, body } => {
                let counter = place.counter();
                place.code.i64_const(i64::from(*times) + 1).local_set(counter);
                place.code.loop_(BlockType::Empty);
                self.body(place, body);
                place.code.local_get(counter).i64_const(1).i64_sub().local_tee(counter);
                place.code.i64_const(0).i64_gt_s().br_if(0).end();
            }
            Op::If { slot, code, body } => {
                let slot = place.slot(*slot);
                let code = i64::from(*code % 10);
                place.code.local_get(slot).i64_const(code).i64_eq();
                place.code.local_get(slot).i64_const(-code).i64_eq().i32_or();
                place.code.if_(BlockType::Empty);
                self.body(place, body);
                place.code.end();
            }
            Op::Work(hundreds) => {
                let counter = place.counter();
                place.code.i64_const(i64::from(*hundreds) * 100 + 1).local_set(counter);
                place.code.loop_(BlockType::Empty);
                place.code.local_get(counter).i64_const(1).i64_sub().local_tee(counter);
                place.code.i64_const(0).i64_ne().br_if(0).end();
            }
            Op::GrowMemory(pages) => {
                place.int(*pages);
                place.code.memory_grow(0);
                place.keep_int(2);
            }
            Op::CallIndirect { index, argument } => {
                place.long(*argument);
                place.int(*index);
                let slot = place.slot(3);
                place.code.call_indirect(0, self.answers).local_set(slot);
            }
            Op::Loop => {
                place.code.loop_(BlockType::Empty).br(0).end();
            }
            Op::Recurse => {
                let (parameters, results) = place.kind.signature();
                for (at, _) in (0..).zip(parameters) {
                    place.code.local_get(at);
                }
                place.code.call(self.own);
                results.iter().for_each(|_| {
                    place.code.drop();
                });
            }
            Op::Unreachable => {
                place.code.unreachable();
            }
            Op::Divide { by } => {
                place.long(Argument::Slot(0));
                place.long(*by);
                let slot = place.slot(0);
                place.code.i64_div_s().local_set(slot);
            }
            Op::Return => {
                place.leave();
                place.code.return_();
            }
        }
    }

    fn call(&self, place: &mut Place<'_>, import: u8, arguments: &[Argument; 4], keep: u8) {
        let index = usize::from(import) % IMPORTS.len();
        let (_, parameters, result) = IMPORTS[index];
        for (ty, argument) in parameters.iter().zip(arguments) {
            match ty {
                I32 => place.int(*argument),
                _ => place.long(*argument),
            }
        }
        place.code.call(index as u32);
        match result {
            Some(I32) => place.keep_int(keep),
            Some(_) => {
                let slot = place.slot(keep);
                place.code.local_set(slot);
            }
            None => {}
        }
    }
}
