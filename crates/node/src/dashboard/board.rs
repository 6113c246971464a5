//! What do all see who look at the dashboard?
//!
//! With many shards it matters not to ask each of them ten times a second.
//!
//! 1. Whoever has a new block is asked, and so is who waited for a turn or had one.
//! 2. All are asked once in a second, or when somebody wants it exactly: for what changes without a
//!    block (a pool in which something waits for a nonce, a quarantine).
//! 3. Who only asks how the node is gets what was said up to 100 ms ago.
//! 4. A row knows in which tick it was found different. Who has seen tick `n` needs those with a
//!    greater number, and those that are new at the end.

use std::{cmp::Reverse, sync::Arc, time::Duration};

use alloy_primitives::{Address, map::HashMap};
use bytes::Bytes;
use observe::snapshot::{ENTRIES_MAX, Entry, Snapshot};
use serde::Serialize;
use shard::events::BlockEvent;

use super::{
    blocks::Blocks,
    frame::Since,
    numbers::{Numbers, Sums, snapshot},
    row::{Row, Seen, State as RowState},
};
use crate::context::Context;

/// All shards are asked this often.
const WHOLE_EVERY: Duration = Duration::from_secs(1);

/// What was said about all of them is said again for so long: whoever asks more often hears nothing new.
const SAID_FOR: Duration = Duration::from_millis(100);

/// What was seen last.
#[derive(Default)]
pub(super) struct Board {
    /// The shards, in the order in which they were found.
    pub(super) rows: Vec<Row>,
    by_address: HashMap<Address, usize>,
    /// Those who were seen waiting for a turn, or having one.
    lively: Vec<usize>,
    sums: Sums,
    pub(super) blocks: Blocks,
    /// How often it was looked.
    pub(super) tick: u64,
    /// When all shards were last asked, by the clock of the queries.
    whole_at: Option<Duration>,
    pub(super) snapshot: Snapshot,
    pub(super) numbers: Numbers,
    /// The frames of this tick that were made.
    pub(super) made: Vec<(Since, Arc<str>)>,
    /// What was last said to who asked how the node is, and when.
    said: Option<(Duration, Bytes)>,
}

/// What `/dashboard/state` says.
#[derive(Serialize)]
struct State<'a> {
    #[serde(flatten)]
    snapshot: &'a Snapshot,
    node: &'a Numbers,
}

/// What a look has found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Looked {
    /// A shard is not as it was, or there is a new block.
    pub(super) changed: bool,
    /// There is something that may change at any time.
    pub(super) lively: bool,
}

impl Board {
    /// Looks at the shards: at all of them, or at those that may have changed and had these blocks.
    pub(super) fn look(&mut self, context: &Context, blocks: &[BlockEvent], whole: bool) -> Looked {
        self.tick += 1;
        self.made.clear();
        let now = context.queries.now();
        let due = self.whole_at.is_none_or(|at| now.saturating_sub(at) >= WHOLE_EVERY);
        let mut changed = !blocks.is_empty();
        for block in blocks {
            self.blocks.add(block);
        }
        if whole || due {
            changed |= self.look_at_all(context, due);
            if due {
                self.whole_at = Some(now);
            }
        } else {
            let mut some = std::mem::take(&mut self.lively);
            some.extend(blocks.iter().filter_map(|block| self.place(context, block.shard)));
            some.sort_unstable();
            some.dedup();
            for place in some {
                changed |= self.look_at(place);
            }
        }
        self.numbers = Numbers::now(context, &self.sums, self.rows.len());
        self.snapshot = snapshot(context, &self.sums, self.rows.len());
        Looked { changed, lively: !self.lively.is_empty() }
    }

    /// The newest blocks are looked for once more.
    pub(super) fn find_blocks(&mut self) {
        self.blocks = Blocks::find(self.rows.iter().map(|row| &row.shard));
    }

    /// How many blocks the shards have that were looked at, all together.
    pub(super) fn heights(&self) -> u64 {
        self.sums.blocks
    }

    /// Where a shard is; one that is new comes to the end.
    fn place(&mut self, context: &Context, address: Address) -> Option<usize> {
        if let Some(place) = self.by_address.get(&address) {
            return Some(*place);
        }
        self.add(context.shards.get(address)?);
        Some(self.rows.len() - 1)
    }

    fn add(&mut self, shard: shard::Shard) {
        self.by_address.insert(shard.address(), self.rows.len());
        self.rows.push(Row::new(shard));
    }

    fn look_at_all(&mut self, context: &Context, forget: bool) -> bool {
        if context.shards.len() != self.rows.len() {
            for shard in context.shards.all() {
                if !self.by_address.contains_key(&shard.address()) {
                    self.add(shard);
                }
            }
        }
        self.lively.clear();
        let mut changed = false;
        for place in 0..self.rows.len() {
            if forget {
                self.rows[place].recent /= 2;
            }
            changed |= self.look_at(place);
        }
        changed
    }

    /// Whether it is not as it was.
    fn look_at(&mut self, place: usize) -> bool {
        let row = &mut self.rows[place];
        let now = Seen::now(&row.shard);
        if now.is_lively() {
            self.lively.push(place);
        }
        let is_new = row.changed == 0;
        if now == row.seen && !is_new {
            return false;
        }
        self.sums.change(&row.seen, &now);
        row.recent += now.transactions.saturating_sub(row.seen.transactions);
        row.seen = now;
        row.changed = self.tick;
        true
    }

    /// How the node is, in JSON.
    pub(super) fn state(&mut self, context: &Context) -> Bytes {
        let now = context.queries.now();
        if let Some((at, said)) = &self.said
            && now.saturating_sub(*at) < SAID_FOR
        {
            return said.clone();
        }
        self.look(context, &[], true);
        let text = Bytes::from(self.text());
        self.said = Some((now, text.clone()));
        text
    }

    /// Nobody looks any more: what is only for viewers is not kept.
    pub(super) fn forget(&mut self) {
        self.blocks.forget();
        self.made = Vec::new();
    }

    /// All of it in JSON, with some of the shards.
    fn text(&mut self) -> String {
        self.snapshot.entries = self.entries();
        let state = State { snapshot: &self.snapshot, node: &self.numbers };
        let text = serde_json::to_string(&state).expect("names and numbers");
        self.snapshot.entries.clear();
        text
    }

    /// Those of whom somebody wants to hear, the busiest first.
    fn entries(&self) -> Vec<Entry> {
        let mut rows = select(self.rows.iter().collect());
        rows.sort_by_key(|row| Reverse(row.business()));
        rows.into_iter().map(Row::entry).collect()
    }
}

/// As many as are in a snapshot: those with which something is wrong; of the places that are left,
/// half go to those with most in their pools, and the others to the busiest.
fn select(mut rows: Vec<&Row>) -> Vec<&Row> {
    if rows.len() <= ENTRIES_MAX {
        return rows;
    }
    let mut wrong: Vec<&Row> = rows.extract_if(.., |row| row.seen.error.is_some()).collect();
    let mut selected = take_greatest(&mut wrong, ENTRIES_MAX, |row| {
        (row.seen.state == RowState::Quarantined, row.business())
    });
    let half = (ENTRIES_MAX - selected.len()) / 2;
    selected.extend(take_greatest(&mut rows, half, |row| (row.seen.pooled, row.business())));
    let left = ENTRIES_MAX - selected.len();
    selected.extend(take_greatest(&mut rows, left, Row::business));
    selected
}

/// Takes so many out of `rows`: the greatest, in no order.
fn take_greatest<'a, K: Ord>(
    rows: &mut Vec<&'a Row>,
    count: usize,
    key: impl Fn(&Row) -> K,
) -> Vec<&'a Row> {
    if count < rows.len() {
        rows.select_nth_unstable_by_key(count, |row| Reverse(key(row)));
    }
    let others = rows.split_off(count.min(rows.len()));
    std::mem::replace(rows, others)
}

#[cfg(test)]
mod tests {
    use kernel::Runtime;
    use shard::{Config, Shards, store::MemoryStore};

    use super::*;

    #[test]
    fn of_many_shards_those_are_told_of_that_failed_that_hold_most_and_that_do_most() {
        let simulation = Runtime::builder().simulate(1).unwrap();
        let store = Arc::new(MemoryStore::new());
        let shards = Shards::open(&simulation, Config::default(), store, 0).unwrap();
        let row = |number: usize| {
            let mut row = Row::new(shards.look(Address::with_last_byte(number as u8)));
            // All of them do more than those of whom the test wants to hear.
            row.recent = 1_000 + number as u64;
            row
        };
        let mut rows: Vec<Row> = (0..ENTRIES_MAX + 20).map(row).collect();
        let names = |rows: &[Row]| -> Vec<u64> {
            select(rows.iter().collect()).iter().map(|row| row.recent).collect()
        };
        let busiest = names(&rows);
        assert_eq!((busiest.len(), busiest.iter().min()), (ENTRIES_MAX, Some(&1_020)));

        let wrong = |row: &mut Row, recent, state| {
            row.recent = recent;
            row.seen = Seen { state, error: Some("no".to_owned()), ..Seen::default() };
        };
        wrong(&mut rows[0], 0, RowState::Quarantined);
        wrong(&mut rows[1], 1, RowState::Idle);
        rows[2].recent = 2;
        rows[2].seen.pooled = 1;
        let told = names(&rows);
        assert_eq!(told.len(), ENTRIES_MAX);
        assert!([0, 1, 2].iter().all(|recent| told.contains(recent)), "{told:?}");
        assert!(told.contains(&(1_000 + ENTRIES_MAX as u64 + 19)), "the busiest of all");

        // There is room for none but those that failed, and first for those in quarantine.
        for row in &mut rows[1..] {
            let recent = row.recent;
            wrong(row, recent, RowState::Idle);
        }
        let told = names(&rows);
        assert!(told.len() == ENTRIES_MAX && told.contains(&0), "{told:?}");
    }
}
