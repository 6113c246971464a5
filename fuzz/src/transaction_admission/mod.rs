//! Are bytes refused with a reason, or accepted as something that the virtual machine takes?
//!
//! A file that begins with [`RECIPE`] is a scenario: senders, transactions that they sign well or
//! badly, and a shard that collects, executes and fails. Any other file is one transaction, so that
//! real ones can be put into the corpus.

mod chain;
mod send;

use alloy_primitives::{Bytes, keccak256};
use arbitrary::{Arbitrary, Unstructured};
use shard::{
    Transaction,
    transaction::{Malformed, Unrecovered},
};

use self::{chain::Chain, send::Send};

/// The first byte of a scenario. A transaction that begins with it would be longer than memory.
const RECIPE: u8 = 0xFF;

/// Bytes of a transaction at most.
const BYTES_MAX: usize = 128 << 10;

/// Steps of a scenario at most.
const STEPS_MAX: usize = 40;

#[derive(Debug, Arbitrary)]
enum Step {
    Send(Send),
    SendMany([Send; 3]),
    Collect {
        transactions: u8,
        gas: u32,
    },
    /// The oldest batch that was collected becomes a block with so much room.
    Block {
        room: u8,
    },
    /// All batches fail, the newest first or the oldest.
    Fail {
        newest: bool,
    },
    BaseFee(u8),
    Wait(u8),
}

/// Sends the transaction that the bytes are, or does what they say.
///
/// # Panics
/// If something is accepted that can not be executed, or lost, or refused without a reason.
pub fn transaction_admission(data: &[u8]) {
    let Some((&RECIPE, recipe)) = data.split_first() else {
        let mut chain = Chain::new(&chain::Options::default());
        if let Some(transaction) = read(data.to_vec().into()) {
            chain.send(transaction);
            chain.collect(10, u64::MAX);
            chain.block(10);
        }
        return;
    };
    let mut recipe = Unstructured::new(recipe);
    let Ok(options) = chain::Options::arbitrary(&mut recipe) else { return };
    let mut chain = Chain::new(&options);
    for _ in 0..STEPS_MAX {
        if recipe.is_empty() {
            break;
        }
        let Ok(step) = Step::arbitrary(&mut recipe) else { break };
        match &step {
            Step::Send(send) => send_it(&mut chain, send),
            Step::SendMany(sends) => sends.iter().for_each(|send| send_it(&mut chain, send)),
            Step::Collect { transactions, gas } => {
                chain.collect(usize::from(*transactions), u64::from(*gas));
            }
            Step::Block { room } => chain.block(usize::from(*room)),
            Step::Fail { newest } => chain.fail(*newest),
            Step::BaseFee(fee) => chain.set_base_fee(u64::from(*fee)),
            Step::Wait(seconds) => chain.wait(u64::from(*seconds)),
        }
        chain.check();
    }
}

fn send_it(chain: &mut Chain, send: &Send) {
    let next = chain.next_nonce(send::address(send.sender));
    if let Some(transaction) = send.make(chain.chain_id(), next, read) {
        chain.send(transaction);
    }
}

/// Decodes and recovers, and checks what can be said about any transaction.
fn read(bytes: Bytes) -> Option<Transaction> {
    let transaction = match decode(&bytes) {
        Ok(transaction) => transaction,
        Err(error) => {
            assert!(error.to_string().len() > 20, "this explains nothing: {error}");
            return None;
        }
    };
    assert_eq!(transaction.encoded(), &bytes);
    assert_eq!(transaction.hash(), keccak256(&bytes), "there is a second way to write it");
    let mut stored = Vec::new();
    transaction.to_bytes(&mut stored);
    assert_eq!(Transaction::from_bytes(&stored.into()), Ok(transaction.clone()));
    Some(transaction)
}

fn decode(bytes: &Bytes) -> Result<Transaction, Malformed> {
    Unrecovered::decode(bytes.clone(), BYTES_MAX)?.recover()
}
