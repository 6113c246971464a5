//! Is a trace that would take too much memory refused, and is one that does not given?

use alloy_consensus::TxEip1559;

use super::*;

/// What a caller gives to each of its calls.
const INPUT: usize = 1 << 18;
const CALLER: Address = Address::repeat_byte(0xa1);
const STACKER: Address = Address::repeat_byte(0xa2);
const READER: Address = Address::repeat_byte(0xa3);

/// Calls nobody as often as its input says.
fn caller() -> Bytes {
    let code = Code::new().push(0u64).op(opcode::CALLDATALOAD);
    let again = code.here();
    let code = code.op(opcode::JUMPDEST).push(0u64).push(0u64).push(INPUT as u64).push(0u64);
    let code = code.push(0u64).push(0xe0u64).push(0u64).ops(&[opcode::CALL, opcode::POP]);
    let code = code.push(1u64).ops(&[opcode::SWAP1, opcode::SUB, opcode::DUP1]);
    code.push(again).ops(&[opcode::JUMPI, opcode::STOP]).bytes()
}

/// Fills the stack and burns all gas.
fn stacker() -> Bytes {
    let code = Code::new().ops(&[opcode::PUSH0; 1_000]);
    let again = code.here();
    code.op(opcode::JUMPDEST).push(again).op(opcode::JUMP).bytes()
}

/// Reads one slot after the other, until all gas is burnt.
fn reader() -> Bytes {
    let code = Code::new().push(0u64);
    let again = code.here();
    let code = code.ops(&[opcode::JUMPDEST, opcode::DUP1, opcode::SLOAD, opcode::POP]);
    code.push(1u64).op(opcode::ADD).push(again).op(opcode::JUMP).bytes()
}

fn world() -> Genesis {
    genesis(&[(CALLER, caller()), (STACKER, stacker()), (READER, reader())])
}

fn with_gas(
    rules: &Rules,
    nonce: u64,
    to: Address,
    gas_limit: u64,
    input: u64,
) -> SharedTransaction {
    let input = U256::from(input).to_be_bytes::<32>().into();
    sent(user(0), TxEip1559 { gas_limit, input, ..eip1559(rules, nonce, TxKind::Call(to)) })
}

/// A block of transactions that make so many calls each.
fn callers(rules: &Rules, counts: &[u64]) -> (Block, Arc<Maps>) {
    let one =
        |(nonce, count): (usize, &u64)| with_gas(rules, nonce as u64, CALLER, 2_000_000, *count);
    executed_in(rules, &world(), counts.iter().enumerate().map(one).collect())
}

fn calls() -> TraceRequest {
    TraceRequest::Calls(CallConfig::default())
}

fn is_too_large<T>(result: &Result<T, ExecuteError>) -> bool {
    matches!(result, Err(ExecuteError::TraceTooLarge(TraceLimit::Bytes)))
}

#[test]
fn calls_count_with_their_input() {
    let rules = Rules::default();
    let (block, maps) = callers(&rules, &[1_000, 1_000]);
    assert!(block.receipts.iter().all(|receipt| receipt.success));
    let traces = traces(&rules, &maps);
    for request in [calls(), TraceRequest::Flat] {
        assert!(is_too_large(&traces.block(&block, &request)));
        assert!(is_too_large(&traces.transaction(&block, 1, &request)));
    }
    // Of these nothing is recorded but the first bytes.
    assert_eq!(traces.block(&block, &TraceRequest::FourByte).unwrap().len(), 2);
}

#[test]
fn the_transactions_of_a_block_share_what_it_may_take() {
    let rules = Rules::default();
    let (block, maps) = callers(&rules, &[150, 150]);
    let traces = traces(&rules, &maps);
    for index in 0..2 {
        let trace = traces.transaction(&block, index, &calls()).unwrap();
        let Trace::Calls(frame) = trace else { panic!("{trace:?}") };
        assert_eq!(frame.calls.len(), 150);
        assert!(frame.calls.iter().all(|call| call.input.len() == INPUT));
    }
    assert!(is_too_large(&traces.block(&block, &calls())));

    // Unless each is gone before the next is recorded.
    let mut count = 0;
    let mut each = |taken: fn() -> Taken| {
        count = 0;
        traces.each(&block, 0..2, &calls(), BYTES_MAX, &mut |_| {
            count += 1;
            taken()
        })
    };
    each(|| Taken::Gone).unwrap();
    each(|| Taken::Enough).unwrap();
    assert!(is_too_large(&each(|| Taken::Kept)));
    assert_eq!(count, 1);
}

#[test]
fn steps_count_with_what_they_show() {
    let rules = Rules::default();
    let batch = vec![
        with_gas(&rules, 0, STACKER, 200_000, 0),
        with_gas(&rules, 1, READER, 10_000_000, 0),
        with_gas(&rules, 2, CALLER, 2_000_000, 10),
    ];
    let (block, maps) = executed_in(&rules, &world(), batch);
    let traces = traces(&rules, &maps);
    let steps = |index, options| {
        traces.transaction(&block, index, &TraceRequest::Steps(options)).map(|trace| {
            let Trace::Steps(frame) = trace else { panic!("{trace:?}") };
            frame.struct_logs.len()
        })
    };
    let all = GethDefaultTracingOptions::default();
    assert!(is_too_large(&steps(0, all)));
    assert!(steps(0, all.with_disable_stack(true)).unwrap() > 40_000);
    assert_eq!(steps(0, GethDefaultTracingOptions { limit: Some(1_500), ..all }).unwrap(), 1_500);
    // Each step that reads a slot shows all that were read before.
    assert!(is_too_large(&steps(1, all)));
    assert!(steps(1, all.with_disable_storage(true)).unwrap() > 30_000);
    assert!(is_too_large(&steps(2, all.with_enable_memory(true))));
    assert!(steps(2, all).unwrap() > 100);
}

#[test]
fn a_call_is_refused_with_words_that_say_what_to_do() {
    let rules = Rules::default();
    let maps = Maps::new(&rules, &world());
    let context = context(1);
    let calls = Calls {
        rules: &rules,
        chain_id: rules.chain_id(SHARD),
        reader: maps.as_ref(),
        context: &context,
        gas_cap: 200_000,
    };
    let call = Call { from: user(0), to: TxKind::Call(STACKER), ..Call::default() };
    let request = TraceRequest::Steps(GethDefaultTracingOptions::default());
    let error = trace_call(&calls, &call, &Overrides::default(), &request).unwrap_err();
    let words = error.to_string();
    assert!(words.contains("64 MiB") && words.contains("disableStack"), "{words}");
}
