//! Do traces tell what happened, under the conditions in which it happened?

use std::sync::Arc;

use alloy_primitives::{Address, B256, Bytes, TxKind, U256, keccak256};
use alloy_rpc_types_trace::geth::{
    CallConfig, GethDefaultTracingOptions, PreStateConfig, PreStateFrame,
};
use revm::{bytecode::opcode, primitives::hardfork::SpecId};

mod large;

use super::*;
use crate::{
    block::seal,
    config::Genesis,
    execute::{sequential::Executor, testing::*},
    transaction::SharedTransaction,
};

/// A block of these transactions, and the state before it.
fn executed(rules: &Rules, batch: Vec<SharedTransaction>) -> (Block, Arc<Maps>) {
    executed_in(rules, &zoo(), batch)
}

fn executed_in(
    rules: &Rules,
    genesis: &Genesis,
    batch: Vec<SharedTransaction>,
) -> (Block, Arc<Maps>) {
    let maps = Maps::new(rules, genesis);
    let count = batch.len();
    let executed = Executor::new(rules, SHARD, Arc::clone(&maps) as _, 100)
        .execute(&context(1), batch, &mut || true)
        .unwrap();
    assert_eq!(executed.included.len(), count);
    (seal(rules, SHARD, &context(1), executed, None), maps)
}

fn traces<'a>(rules: &'a Rules, maps: &'a Maps) -> Traces<'a> {
    Traces { rules, chain_id: rules.chain_id(SHARD), before: maps }
}

#[test]
fn a_call_tree_shows_who_called_whom_and_the_logs() {
    let rules = Rules::default();
    let init = init_of(&mortal());
    let (block, maps) = executed(
        &rules,
        vec![
            call(&rules, 0, 0, FACTORY, init.clone()),
            call(&rules, 0, 1, TOKEN, token_input(user(1), 5)),
            call(&rules, 0, 2, REVERTER, Bytes::new()),
        ],
    );
    let request = TraceRequest::Calls(CallConfig { with_log: Some(true), ..Default::default() });
    let all = traces(&rules, &maps).block(&block, &request).unwrap();
    let [Trace::Calls(factory), Trace::Calls(token), Trace::Calls(reverter)] = &all[..] else {
        panic!("{all:?}")
    };
    assert_eq!(factory.calls.len(), 1);
    assert_eq!(factory.calls[0].typ, "CREATE2");
    assert_eq!(factory.calls[0].to, Some(FACTORY.create2(B256::ZERO, keccak256(&init))));
    assert_eq!(factory.gas_used, U256::from(block.receipts[0].gas_used));
    assert_eq!(token.logs.len(), 1);
    assert_eq!(reverter.error.as_deref(), Some("execution reverted"));
}

#[test]
fn each_transaction_is_traced_on_what_those_before_it_left() {
    let rules = Rules::default();
    let batch: Vec<_> =
        (0..3).map(|nonce| call(&rules, 0, nonce, TOKEN, token_input(user(1), 400_000))).collect();
    let (block, maps) = executed(&rules, batch);
    // A million suffices for two.
    let success: Vec<_> = block.receipts.iter().map(|receipt| receipt.success).collect();
    assert_eq!(success, [true, true, false]);
    let request = TraceRequest::Calls(CallConfig::default());
    let all = traces(&rules, &maps).block(&block, &request).unwrap();
    for index in 0..3 {
        let one = traces(&rules, &maps).transaction(&block, index, &request).unwrap();
        assert_eq!(one, all[index]);
        let Trace::Calls(frame) = one else { panic!() };
        assert_eq!(frame.error.is_none(), success[index]);
    }
    assert!(traces(&rules, &maps).transaction(&block, 3, &request).is_err());
}

#[test]
fn random_blocks_use_the_same_gas_again_under_each_fork() {
    for fork in [SpecId::LONDON, SpecId::SHANGHAI, SpecId::OSAKA] {
        // In some of these somebody without an account is called, and delegates later.
        (17..=24).for_each(|seed| a_random_block_uses_the_same_gas_again(fork, seed));
    }
}

fn a_random_block_uses_the_same_gas_again(fork: SpecId, seed: u64) {
    let rules = Rules { fork, system_calls: true, ..Rules::default() };
    let maps = Maps::new(&rules, &zoo());
    let batch = random_batch(&rules, &mut Dice(seed), &mut [0; 8], 60);
    let executed = Executor::new(&rules, SHARD, Arc::clone(&maps) as _, 100)
        .execute(&context(1), batch, &mut || true)
        .unwrap();
    let block = seal(&rules, SHARD, &context(1), executed, None);
    let request = TraceRequest::Calls(CallConfig::default());
    let all = traces(&rules, &maps).block(&block, &request).unwrap();
    assert_eq!(all.len(), block.receipts.len());
    for (trace, receipt) in all.iter().zip(&block.receipts) {
        let Trace::Calls(frame) = trace else { panic!("{trace:?}") };
        assert_eq!(frame.gas_used, U256::from(receipt.gas_used), "{fork:?}, seed {seed}");
        assert_eq!(frame.error.is_none(), receipt.success, "{fork:?}, seed {seed}");
    }
}

/// EIP-161: who was only called has no account, in the block and when it is executed again.
#[test]
fn a_delegation_of_one_who_was_only_called_before_takes_the_gas_that_its_receipt_says() {
    let rules = Rules::default();
    let signed = authorization(&rules, 0x43, TRANSIENT, 0);
    let authority = signed.recover_authority().unwrap();
    let (block, maps) = executed(
        &rules,
        vec![
            call(&rules, 1, 0, authority, Bytes::new()),
            delegate(&rules, 0, 0, user(3), vec![signed]),
        ],
    );
    assert_eq!(block.receipts[1].gas_used, 21_000 + 25_000);
    let request = TraceRequest::Calls(CallConfig::default());
    let of_block = traces(&rules, &maps).block(&block, &request).unwrap().pop().unwrap();
    let alone = traces(&rules, &maps).transaction(&block, 1, &request).unwrap();
    for trace in [of_block, alone] {
        let Trace::Calls(frame) = trace else { panic!("{trace:?}") };
        assert_eq!(frame.gas_used, U256::from(block.receipts[1].gas_used));
    }
}

#[test]
fn the_limits_of_today_do_not_matter_to_a_block_of_yesterday() {
    let rules = Rules::default();
    // Creates a contract whose code is the block's gas limit.
    let code = Code::new().op(opcode::GASLIMIT).push(0u64).op(opcode::MSTORE);
    let limit = code.push(32u64).push(0u64).op(opcode::RETURN).bytes();
    let mut batch: Vec<_> =
        (0..3).map(|nonce| call(&rules, 0, nonce, BURNER, Bytes::new())).collect();
    batch.push(create(&rules, 0, 3, limit));
    let (block, maps) = executed(&rules, batch);
    let today = Rules { block_gas_limit: 100_000, block_transactions_max: 1, ..rules.clone() };
    let request = TraceRequest::Calls(CallConfig::default());
    let all = traces(&today, &maps).block(&block, &request).unwrap();
    assert_eq!(all.len(), 4);
    let Trace::Calls(frame) = &all[3] else { panic!("{all:?}") };
    let output = frame.output.as_ref().unwrap().as_ref();
    assert_eq!(output, U256::from(rules.block_gas_limit).to_be_bytes::<32>());
}

#[test]
fn flat_traces_say_where_they_are() {
    let rules = Rules::default();
    let (block, maps) = executed(
        &rules,
        vec![transfer(&rules, 1, 0, user(2), 1), call(&rules, 0, 0, FACTORY, init_of(&mortal()))],
    );
    let trace = traces(&rules, &maps).transaction(&block, 1, &TraceRequest::Flat).unwrap();
    let Trace::Flat(traces) = trace else { panic!("{trace:?}") };
    assert_eq!(traces.len(), 2);
    assert_eq!(traces[0].transaction_hash, Some(block.transactions[1].hash()));
    assert_eq!(traces[0].transaction_position, Some(1));
    assert_eq!(traces[0].block_hash, Some(block.hash));
    assert_eq!(traces[1].trace.trace_address, [0]);
}

#[test]
fn steps_are_recorded_and_bounded() {
    let rules = Rules::default();
    let burn = sent(
        user(1),
        alloy_consensus::TxEip1559 {
            gas_limit: 10_000_000,
            ..eip1559(&rules, 0, TxKind::Call(BURNER))
        },
    );
    let (block, maps) = executed(&rules, vec![call(&rules, 0, 0, TRANSIENT, Bytes::new()), burn]);
    let traced = |index, limit| {
        let options = GethDefaultTracingOptions { limit, ..Default::default() };
        traces(&rules, &maps).transaction(&block, index, &TraceRequest::Steps(options))
    };
    let steps = |index, limit| {
        let trace = traced(index, limit).unwrap();
        let Trace::Steps(frame) = trace else { panic!("{trace:?}") };
        frame
    };
    let all = steps(0, None);
    assert!(!all.failed);
    let ops: Vec<_> = all.struct_logs.iter().map(|log| log.op.to_string()).collect();
    assert_eq!(ops.len(), 11);
    assert_eq!((ops[0].as_str(), ops[10].as_str()), ("PUSH1", "STOP"));
    // Whoever asks for few gets few, and whoever wants all gets all or an error.
    assert_eq!(steps(0, Some(3)).struct_logs.len(), 3);
    assert_eq!(steps(0, Some(0)), all);
    assert_eq!(steps(0, Some(STEPS_MAX + 1)), all);
    let many = steps(1, Some(STEPS_MAX));
    assert_eq!(many.struct_logs.len() as u64, STEPS_MAX);
    assert!(many.failed);
    for limit in [None, Some(0), Some(STEPS_MAX + 1), Some(u64::MAX)] {
        let error = traced(1, limit).unwrap_err();
        assert!(matches!(error, ExecuteError::TraceTooLarge(TraceLimit::Steps)), "{error}");
        assert!(error.to_string().contains("65536 steps"), "{error}");
    }
}

#[test]
fn as_many_steps_as_there_may_be_are_recorded_and_one_more_is_too_many() {
    let rules = Rules::default();
    let straight = Address::repeat_byte(0xa4);
    // And the STOP behind the code.
    let trace = |steps: u64| {
        let code = vec![opcode::JUMPDEST; steps as usize - 1];
        let sent = sent(
            user(0),
            alloy_consensus::TxEip1559 {
                gas_limit: 200_000,
                ..eip1559(&rules, 0, TxKind::Call(straight))
            },
        );
        let (block, maps) = executed_in(&rules, &genesis(&[(straight, code.into())]), vec![sent]);
        let request = TraceRequest::Steps(GethDefaultTracingOptions::default());
        let traced = traces(&rules, &maps).transaction(&block, 0, &request);
        traced.map(|trace| match trace {
            Trace::Steps(frame) => frame.struct_logs.len() as u64,
            other => panic!("{other:?}"),
        })
    };
    assert_eq!(trace(STEPS_MAX).unwrap(), STEPS_MAX);
    assert!(trace(STEPS_MAX + 1).is_err());
}

#[test]
fn the_state_before_and_the_difference_are_those_of_the_transaction() {
    let rules = Rules::default();
    let to = Address::repeat_byte(9);
    let (block, maps) =
        executed(&rules, vec![transfer(&rules, 0, 0, to, 5), transfer(&rules, 0, 1, to, 7)]);
    let ask = |diff_mode| {
        let request = TraceRequest::PreState(PreStateConfig {
            diff_mode: Some(diff_mode),
            ..Default::default()
        });
        let trace = traces(&rules, &maps).transaction(&block, 1, &request).unwrap();
        let Trace::PreState(frame) = trace else { panic!("{trace:?}") };
        frame
    };
    let PreStateFrame::Default(before) = ask(false) else { panic!() };
    assert_eq!(before.0[&to].balance, Some(U256::from(5)));
    assert_eq!(before.0[&user(0)].nonce, Some(1));
    let PreStateFrame::Diff(diff) = ask(true) else { panic!() };
    assert_eq!(diff.pre[&to].balance, Some(U256::from(5)));
    assert_eq!(diff.post[&to].balance, Some(U256::from(12)));
}

#[test]
fn the_functions_that_were_called_are_counted() {
    let rules = Rules::default();
    let (block, maps) = executed(&rules, vec![call(&rules, 0, 0, RECURSIVE, vec![1, 2, 3, 4, 5])]);
    let trace = traces(&rules, &maps).transaction(&block, 0, &TraceRequest::FourByte).unwrap();
    let Trace::FourByte(frame) = trace else { panic!("{trace:?}") };
    assert_eq!(frame.0.get("0x01020304-1"), Some(&1));
}

#[test]
fn a_call_is_traced_and_leaves_nothing() {
    let rules = Rules::default();
    let maps = Maps::new(&rules, &zoo());
    let context = context(1);
    let calls = Calls {
        rules: &rules,
        chain_id: rules.chain_id(SHARD),
        reader: maps.as_ref(),
        context: &context,
        gas_cap: 1_000_000,
    };
    let input = token_input(user(1), 5);
    let call = Call { from: user(0), to: TxKind::Call(TOKEN), input, ..Call::default() };
    let request = TraceRequest::Calls(CallConfig { with_log: Some(true), ..Default::default() });
    let trace = trace_call(&calls, &call, &Overrides::default(), &request).unwrap();
    let Trace::Calls(frame) = trace else { panic!("{trace:?}") };
    assert_eq!((frame.to, frame.logs.len()), (Some(TOKEN), 1));
}
