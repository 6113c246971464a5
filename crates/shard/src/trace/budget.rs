//! How much memory may the answer to one request take?
//!
//! Gas does not bound it: a hundred gas record a call with all of its input, and three a step with a
//! stack of 32 KiB. So whatever is recorded is counted before it is, with what the answer copies of
//! it, and execution ends where it would be too much.

use std::{
    collections::{HashMap, HashSet},
    fmt, mem,
};

use alloy_primitives::{Address, Log, U256};
use revm::{
    Inspector,
    bytecode::opcode,
    context_interface::{ContextError, ContextTr, JournalTr, either::Either},
    inspector::JournalExt,
    interpreter::{
        CallInputs, CallOutcome, CreateInputs, CreateOutcome, Interpreter,
        interpreter_types::{Jumps, LoopControl, ReturnData},
    },
};

use super::request::{Recorder, STEPS_MAX, TraceRequest, recorder, wants_all_steps};

/// What is recorded for one request, and what the answer holds, takes no more bytes than this.
pub const BYTES_MAX: usize = 64 << 20;

/// Which limit a trace has reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceLimit {
    /// It takes more than [`BYTES_MAX`].
    Bytes,
    /// All steps are wanted, and a transaction has more than [`STEPS_MAX`].
    Steps,
}

impl fmt::Display for TraceLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TraceLimit::Bytes => write!(
                f,
                "the trace would be larger than {} MiB: ask for less, e.g. for one transaction, or \
                 with disableStack",
                BYTES_MAX >> 20
            ),
            TraceLimit::Steps => write!(
                f,
                "the trace would have more than {STEPS_MAX} steps: ask for the first of them (limit, \
                 {STEPS_MAX} at most), or with a tracer"
            ),
        }
    }
}

/// What a call takes beside its bytes.
const CALL: usize = 1 << 10;
/// What a log takes beside its data.
const LOG: usize = 256;
/// What a step takes beside what it copies.
const STEP: usize = 256;
/// What a slot takes in the storage that a step shows.
const SLOT: usize = 72;
/// How often the answer copies memory: once as it is, and as words in text.
const MEMORY_COPIES: usize = 4;

/// Records while there is something left to spend.
pub(crate) struct Budgeted {
    recorder: Recorder,
    left: usize,
    reached: Option<TraceLimit>,
    /// Steps that are not recorded are missing.
    wants_all_steps: bool,
    /// Steps of this transaction that were recorded.
    steps: u64,
    /// Slots that steps of this transaction have named: each step that names one shows all.
    slots: HashMap<Address, HashSet<U256>>,
}

impl Budgeted {
    pub(crate) fn new(request: &TraceRequest, bytes: usize) -> Budgeted {
        Budgeted {
            recorder: recorder(request),
            left: bytes,
            reached: None,
            wants_all_steps: wants_all_steps(request),
            steps: 0,
            slots: HashMap::new(),
        }
    }

    /// What was recorded of a transaction. The next one has what is left.
    pub(crate) fn take(&mut self, request: &TraceRequest) -> Recorder {
        self.steps = 0;
        self.slots.clear();
        mem::replace(&mut self.recorder, recorder(request))
    }

    /// So much may be recorded from now on.
    pub(crate) fn refill(&mut self, bytes: usize) {
        self.left = bytes;
    }

    /// That there was too much to record, if there was. What was is not whole.
    pub(crate) fn reached(&self) -> Option<TraceLimit> {
        self.reached
    }

    fn spend(&mut self, bytes: usize) {
        match self.left.checked_sub(bytes) {
            Some(left) => self.left = left,
            None => self.reached = Some(TraceLimit::Bytes),
        }
    }

    /// A call or creation begins.
    fn spend_on_call(&mut self, depth: usize, input: usize) {
        // Of a function that is called the other recorder keeps four bytes.
        let Either::Left(tracing) = &self.recorder else { return };
        let recorded = if tracing.config().record_inputs { input } else { 0 };
        // Flat traces say the way to each call, from the first.
        self.spend(CALL + depth * size_of::<usize>() + recorded);
    }

    /// A call or creation ends.
    fn spend_on_output(&mut self, output: usize) {
        if self.recorder.is_left() {
            self.spend(output);
        }
    }

    fn spend_on_step(&mut self, interp: &Interpreter) {
        let Either::Left(tracing) = &self.recorder else { return };
        let config = tracing.config();
        if !config.record_steps {
            return;
        }
        if config.step_limit.is_some_and(|limit| self.steps >= limit.get()) {
            if self.wants_all_steps {
                self.reached = Some(TraceLimit::Steps);
            }
            return;
        }
        self.steps += 1;
        let mut bytes = STEP;
        if config.record_stack_snapshots.is_full() {
            bytes += interp.stack.len() * size_of::<U256>();
        }
        if config.record_memory_snapshots {
            bytes += interp.memory.len() * MEMORY_COPIES;
        }
        if config.record_returndata_snapshots {
            bytes += interp.return_data.buffer().len();
        }
        let names_slot = matches!(interp.bytecode.opcode(), opcode::SLOAD | opcode::SSTORE);
        if config.record_state_diff && names_slot {
            let slots = self.slots.entry(interp.input.target_address).or_default();
            slots.extend(interp.stack.data().last());
            bytes += slots.len() * SLOT;
        }
        self.spend(bytes);
    }

    fn spend_on_log(&mut self, log: &Log) {
        if let Either::Left(tracing) = &self.recorder
            && tracing.config().record_logs
        {
            self.spend(LOG + log.data.data.len());
        }
    }

    /// Has execution end with an error when there is too much.
    fn check(&self, context: &mut impl ContextTr) {
        if self.reached.is_some() && context.error().is_ok() {
            *context.error() = Err(ContextError::Custom("the trace is too large".to_owned()));
        }
    }

    fn check_and_halt(&self, interp: &mut Interpreter, context: &mut impl ContextTr) {
        self.check(context);
        if self.reached.is_some() {
            // It may be about to call or to return: that does not count any more.
            interp.bytecode.action().take();
            interp.bytecode.reset_action();
            interp.halt_fatal();
        }
    }
}

/// Calls and their ends are told to the recorder even when there is too much: it counts on pairs.
impl<C: ContextTr<Journal: JournalExt>> Inspector<C> for Budgeted {
    fn initialize_interp(&mut self, interp: &mut Interpreter, context: &mut C) {
        self.recorder.initialize_interp(interp, context);
        self.check_and_halt(interp, context);
    }

    fn step(&mut self, interp: &mut Interpreter, context: &mut C) {
        self.spend_on_step(interp);
        if self.reached.is_none() {
            self.recorder.step(interp, context);
        }
        self.check_and_halt(interp, context);
    }

    fn step_end(&mut self, interp: &mut Interpreter, context: &mut C) {
        if self.reached.is_none() {
            self.recorder.step_end(interp, context);
        }
        self.check_and_halt(interp, context);
    }

    fn log(&mut self, context: &mut C, log: Log) {
        self.spend_on_log(&log);
        self.recorder.log(context, log);
        self.check(context);
    }

    fn log_full(&mut self, interp: &mut Interpreter, context: &mut C, log: Log) {
        self.spend_on_log(&log);
        self.recorder.log_full(interp, context, log);
        self.check(context);
    }

    fn call(&mut self, context: &mut C, inputs: &mut CallInputs) -> Option<CallOutcome> {
        self.spend_on_call(context.journal().depth(), inputs.input.len());
        let outcome = self.recorder.call(context, inputs);
        self.check(context);
        outcome
    }

    fn call_end(&mut self, context: &mut C, inputs: &CallInputs, outcome: &mut CallOutcome) {
        self.spend_on_output(outcome.result.output.len());
        self.recorder.call_end(context, inputs, outcome);
        self.check(context);
    }

    fn create(&mut self, context: &mut C, inputs: &mut CreateInputs) -> Option<CreateOutcome> {
        self.spend_on_call(context.journal().depth(), inputs.init_code().len());
        let outcome = self.recorder.create(context, inputs);
        self.check(context);
        outcome
    }

    fn create_end(&mut self, context: &mut C, inputs: &CreateInputs, outcome: &mut CreateOutcome) {
        self.spend_on_output(outcome.result.output.len());
        self.recorder.create_end(context, inputs, outcome);
        self.check(context);
    }

    fn selfdestruct(&mut self, contract: Address, target: Address, value: U256) {
        Inspector::<C>::selfdestruct(&mut self.recorder, contract, target, value);
    }
}
