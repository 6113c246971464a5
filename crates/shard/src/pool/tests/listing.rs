//! Does a pool say truly what is in it?

use super::*;
use crate::{block::Account, state::StateReader, store::StoreError};
use alloy_primitives::{Bytes, keccak256};
use revm::primitives::KECCAK_EMPTY;

#[test]
fn everything_is_listed_by_sender_and_nonce() {
    let mut pool = pool(limits());
    fill(&mut pool, [(bob(), 0, 20), (alice(), 1, 20), (alice(), 3, 20), (alice(), 0, 50)]);
    let batch = pool.collect(1, u64::MAX, BASE_FEE);
    assert_eq!(names(&batch), [(alice(), 0)]);
    let listed: Vec<_> =
        pool.iter().map(|(it, status)| (it.sender(), it.nonce(), status)).collect();
    let ready = Status::Queued(Queued::Ready);
    assert_eq!(
        listed,
        [
            (alice(), 0, Status::Executing),
            (alice(), 1, ready),
            (alice(), 3, Status::Queued(Queued::Missing { nonce: 2 })),
            (bob(), 0, ready),
        ]
    );
    let bytes = pool.iter().map(|(it, _)| it.encoded().len()).sum();
    assert_eq!(pool.counts(), Counts { pending: 3, waiting: 1, executing: 1, bytes });
    assert_eq!(pool.get(batch[0].hash()), Some(&batch[0]));
}

#[test]
fn the_next_nonce_follows_what_is_in_the_pool_and_on_its_way() {
    let mut pool = pool(limits());
    assert_eq!(pool.next_nonce(alice()), None);
    fill(&mut pool, [(alice(), 0, 20), (alice(), 1, 20), (alice(), 3, 20)]);
    assert_eq!(pool.next_nonce(alice()), Some(2));
    let batch = collect(&mut pool);
    assert_eq!(pool.next_nonce(alice()), Some(2));
    pool.included(&hashes(&batch));
    assert_eq!(pool.next_nonce(alice()), Some(2));
    assert!(pool.insert(transfer(alice(), 2, 20), &account(2), Duration::ZERO).is_ok());
    assert_eq!(pool.next_nonce(alice()), Some(4));
}

/// One account, and its code.
struct One(Account, Bytes);

impl StateReader for One {
    fn account(&self, address: Address) -> Result<Option<Account>, StoreError> {
        Ok((address == alice()).then_some(self.0))
    }

    fn storage(&self, _: Address, _: U256) -> Result<U256, StoreError> {
        Ok(U256::ZERO)
    }

    fn slots(&self, _: Address) -> Result<Vec<(U256, U256)>, StoreError> {
        Ok(Vec::new())
    }

    fn code(&self, hash: B256) -> Result<Bytes, StoreError> {
        assert_eq!(hash, self.0.code_hash);
        Ok(self.1.clone())
    }

    fn block_hash(&self, _: u64) -> Result<Option<B256>, StoreError> {
        Ok(None)
    }
}

#[test]
fn a_sender_with_code_of_its_own_is_a_contract_and_with_a_delegation_it_is_not() {
    let read = |code: &[u8]| {
        let code_hash = if code.is_empty() { KECCAK_EMPTY } else { keccak256(code) };
        let account = Account { nonce: 3, balance: U256::from(7), code_hash };
        let read = SenderAccount::read(&One(account, code.to_vec().into()), alice()).unwrap();
        assert_eq!((read.nonce, read.balance), (3, U256::from(7)));
        read.is_contract
    };
    let delegation = [&[0xef, 0x01, 0x00], bob().as_slice()].concat();
    assert!(!read(&[]));
    assert!(!read(&delegation));
    assert!(read(&delegation[..22]));
    assert!(read(&[0x60, 0x00]));
}

#[test]
fn a_sender_that_does_not_exist_has_nothing() {
    let account = Account { nonce: 3, balance: U256::from(7), code_hash: KECCAK_EMPTY };
    let read = SenderAccount::read(&One(account, Bytes::new()), bob()).unwrap();
    assert_eq!(read, SenderAccount::default());
}
