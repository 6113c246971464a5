//! What have transactions changed that were executed in one journal?

use alloy_primitives::Address;
use revm::state::{AccountInfo, EvmState};

use crate::{
    block::{Account, AccountChange, ChangeSet, SlotChange},
    execute::{
        evm,
        parallel::{
            net::{Net, Standing},
            state::{Common, Settled},
        },
    },
    state::bytecode,
    store::StoreError,
};

/// One account that was changed, itself or some of its slots.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Effect {
    pub(super) address: Address,
    pub(super) before: Option<Account>,
    pub(super) after: Standing,
    pub(super) slots: Vec<SlotChange>,
}

/// The part of an account that is kept.
pub(super) fn account_of(info: &AccountInfo) -> Account {
    Account { nonce: info.nonce, balance: info.balance, code_hash: info.code_hash }
}

/// What a journal says of this lane's transactions, which were executed with `net` on top. It is
/// empty afterwards.
pub(super) fn effects(
    state: &mut EvmState,
    common: &Common,
    lane: usize,
    net: &Net,
) -> Result<Vec<Effect>, StoreError> {
    let ChangeSet { accounts, codes } = evm::changes(state, &Settled { common, lane, net })?;
    let standing = |change: &AccountChange| -> Standing {
        let account = change.after?;
        let new = codes.binary_search_by_key(&account.code_hash, |(hash, _)| *hash);
        let code = match (new, net.account(change.address)) {
            (Ok(at), _) => Some(bytecode(codes[at].1.clone())),
            (Err(_), Some(Some(info))) if info.code_hash == account.code_hash => info.code.clone(),
            // It had this code before the batch.
            _ => None,
        };
        Some(AccountInfo {
            balance: account.balance,
            nonce: account.nonce,
            code_hash: account.code_hash,
            account_id: None,
            code,
        })
    };
    let effect = |change: AccountChange| Effect {
        after: standing(&change),
        address: change.address,
        before: change.before,
        slots: change.slots,
    };
    Ok(accounts.into_iter().map(effect).collect())
}
