//! Does the cache keep what nobody else has, and no more than it may?

use super::*;
use crate::{
    block::{AccountChange, SlotChange, genesis_changes},
    config::Rules,
    execute::testing::*,
};

fn slots_written(address: Address, slots: std::ops::Range<u64>, value: u64) -> ChangeSet {
    let slots = slots.map(|slot| SlotChange {
        slot: U256::from(slot),
        before: U256::ZERO,
        after: U256::from(value),
    });
    let before = Some(Account { nonce: 1, balance: U256::ZERO, code_hash: KECCAK_EMPTY });
    let change = AccountChange { address, before, after: before, slots: slots.collect() };
    ChangeSet { accounts: vec![change], codes: Vec::new() }
}

fn cache(entries_max: usize) -> (Cache, Arc<Maps>) {
    let maps = Maps::new(&Rules::default(), &zoo());
    (Cache::new(Arc::clone(&maps) as _, entries_max), maps)
}

#[test]
fn what_was_read_once_is_not_read_again() {
    let (mut cache, maps) = cache(100);
    cache.begin(&context(1));
    let first =
        (cache.basic(TOKEN).unwrap(), Database::storage(&mut cache, TOKEN, U256::ZERO).unwrap());
    let reads = maps.reads();
    let second =
        (cache.basic(TOKEN).unwrap(), Database::storage(&mut cache, TOKEN, U256::ZERO).unwrap());
    assert_eq!(first, second);
    assert_eq!(maps.reads(), reads);
    assert_eq!(first.0.unwrap().code.unwrap().original_bytes(), token());
}

#[test]
fn absence_is_remembered_too() {
    let (mut cache, maps) = cache(100);
    cache.begin(&context(1));
    assert_eq!(cache.basic(Address::repeat_byte(0xee)).unwrap(), None);
    let reads = maps.reads();
    assert_eq!(cache.basic(Address::repeat_byte(0xee)).unwrap(), None);
    assert_eq!(maps.reads(), reads);
}

#[test]
fn two_accounts_with_the_same_code_share_it() {
    let (mut cache, maps) = cache(100);
    let twin = Address::repeat_byte(0x99);
    let account = maps.account_of(TOKEN).unwrap();
    maps.inner.lock().unwrap().accounts.insert(twin, account);
    cache.begin(&context(1));
    cache.basic(TOKEN).unwrap();
    let reads = maps.reads();
    assert_eq!(cache.basic(twin).unwrap().unwrap().code.unwrap().original_bytes(), token());
    assert_eq!(maps.reads(), reads + 1, "the account alone is read");
}

#[test]
fn it_stays_bounded_however_much_is_read() {
    let (mut cache, _) = cache(100);
    for height in 1..=50 {
        cache.begin(&context(height));
        assert!(cache.len() <= 100, "{} at {height}", cache.len());
        for slot in 0..37 {
            Database::storage(&mut cache, TOKEN, U256::from(height * 1_000 + slot)).unwrap();
        }
    }
}

#[test]
fn what_is_asked_for_in_each_block_stays_when_the_rest_goes() {
    let (mut cache, maps) = cache(100);
    for height in 1..=50 {
        cache.begin(&context(height));
        Database::storage(&mut cache, TOKEN, U256::MAX).unwrap();
        for slot in 0..20 {
            Database::storage(&mut cache, TOKEN, U256::from(height * 1_000 + slot)).unwrap();
        }
    }
    let reads = maps.reads();
    Database::storage(&mut cache, TOKEN, U256::MAX).unwrap();
    assert_eq!(maps.reads(), reads);
}

/// Invariant 1.
#[test]
fn what_is_not_committed_is_never_evicted_and_what_is_may_be() {
    let (mut cache, _) = cache(10);
    cache.begin(&context(1));
    cache.apply(1, &Arc::new(slots_written(TOKEN, 0..200, 9)));
    for height in 2..=5 {
        cache.begin(&context(height));
        for slot in 0..200 {
            assert_eq!(
                StateReader::storage(&cache, TOKEN, U256::from(slot)).unwrap(),
                U256::from(9)
            );
        }
        for slot in 1_000..1_100 {
            Database::storage(&mut cache, TOKEN, U256::from(slot)).unwrap();
        }
    }
    cache.committed(1);
    cache.begin(&context(6));
    cache.begin(&context(7));
    assert!(cache.len() <= 10, "{}", cache.len());
}

#[test]
fn clearing_forgets_uncommitted_blocks() {
    let (mut cache, maps) = cache(100);
    cache.begin(&context(1));
    cache.apply(1, &Arc::new(slots_written(TOKEN, 0..3, 9)));
    cache.clear();
    assert!(cache.is_empty());
    assert_eq!(Database::storage(&mut cache, TOKEN, U256::ZERO).unwrap(), U256::ZERO);
    assert_eq!(cache.slots(TOKEN).unwrap(), maps.slots(TOKEN).unwrap());
}

#[test]
fn all_slots_of_an_account_are_those_of_the_store_with_uncommitted_ones_on_top() {
    let (mut cache, maps) = cache(100);
    let before = maps.slots(TOKEN).unwrap();
    cache.begin(&context(1));
    let mut changes = slots_written(TOKEN, 1..3, 9);
    changes.accounts[0].before = maps.account_of(TOKEN);
    changes.accounts[0].after = maps.account_of(TOKEN);
    let (gone, had) = before[0];
    changes.accounts[0].slots.push(SlotChange { slot: gone, before: had, after: U256::ZERO });
    let changes = Arc::new(changes);
    cache.apply(1, &changes);
    let mut expected = before.clone();
    expected.remove(0);
    expected.extend([(U256::from(1), U256::from(9)), (U256::from(2), U256::from(9))]);
    expected.sort_unstable();
    assert_eq!(cache.slots(TOKEN).unwrap(), expected);

    maps.apply(&changes);
    cache.committed(1);
    assert_eq!(cache.slots(TOKEN).unwrap(), expected);
}

#[test]
fn an_account_that_is_gone_is_gone_before_it_is_committed() {
    let (mut cache, _) = cache(100);
    cache.begin(&context(1));
    let before = cache.account(REVERTER).unwrap();
    assert!(before.is_some());
    let change = AccountChange { address: REVERTER, before, after: None, slots: Vec::new() };
    cache.apply(1, &Arc::new(ChangeSet { accounts: vec![change], codes: Vec::new() }));
    assert_eq!(cache.basic(REVERTER).unwrap(), None);
}

#[test]
fn code_of_an_uncommitted_block_is_at_hand() {
    let (mut cache, _) = cache(0);
    let rules = Rules::default();
    let at = Address::repeat_byte(0x31);
    let created = genesis_changes(
        &rules,
        &genesis(&[(at, transient()), (Address::repeat_byte(0x32), transient())]),
    );
    cache.begin(&context(1));
    cache.apply(1, &Arc::new(created));
    cache.begin(&context(2));
    let info = cache.basic(at).unwrap().unwrap();
    assert_eq!(info.code.unwrap().original_bytes(), transient());
    assert_eq!(cache.code_by_hash(info.code_hash).unwrap().original_bytes(), transient());
}
