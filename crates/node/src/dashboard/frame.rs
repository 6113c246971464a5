//! What is in one frame of the feed?
//!
//! What has changed since the frame before. Whoever has seen the same gets the same text, so it is
//! written once for all of them.

use std::sync::Arc;

use observe::Snapshot;
use serde::Serialize;

use super::{
    blocks::{FOUND_MAX, Shown},
    board::Board,
    numbers::Numbers,
    row::Row,
    turns::Turns,
};

/// So many shards come new in a frame; the others come with the next ones.
const NEW_MAX: usize = 20_000;

/// What somebody has seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Since {
    tick: u64,
    /// So many rows, from the first one on.
    rows: usize,
    blocks: u64,
}

/// What is shown of the shards.
#[derive(Serialize)]
struct Shards<'a> {
    total: usize,
    /// What was shown before is to be forgotten.
    whole: bool,
    rows: Vec<&'a Row>,
}

/// What all see who have seen the same before.
#[derive(Serialize)]
struct Frame<'a> {
    /// Without entries: the shards are in their rows.
    #[serde(flatten)]
    snapshot: &'a Snapshot,
    node: &'a Numbers,
    shards: Shards<'a>,
    blocks: Vec<&'a Shown>,
    blocks_skipped: u64,
}

impl Board {
    /// What is new since then, as JSON; and what its reader will have seen.
    pub(super) fn frame(&mut self, since: Since) -> (Arc<str>, Since) {
        let rows = self.rows.len().min(since.rows + NEW_MAX);
        let now = Since { tick: self.tick, rows, blocks: self.blocks.count() };
        if let Some((_, made)) = self.made.iter().find(|(other, _)| *other == since) {
            return (made.clone(), now);
        }
        let known = self.rows[..since.rows].iter().filter(|row| row.changed > since.tick);
        let first = since == Since::default();
        let (mut blocks, skipped) = self.blocks.since(since.blocks);
        if first {
            blocks.truncate(FOUND_MAX);
        }
        let frame = Frame {
            snapshot: &self.snapshot,
            node: &self.numbers,
            shards: Shards {
                total: self.rows.len(),
                whole: first,
                rows: known.chain(&self.rows[since.rows..rows]).collect(),
            },
            blocks,
            blocks_skipped: if first { 0 } else { skipped },
        };
        let made: Arc<str> = serde_json::to_string(&frame).expect("names and numbers").into();
        self.made.push((since, made.clone()));
        (made, now)
    }
}

/// A frame with its number, and with what only its reader asked for.
pub(super) fn addressed(seq: u64, frame: &str, turns: Option<&Turns>) -> String {
    let turns = serde_json::to_string(&turns).expect("names and numbers");
    let shared = &frame[1..frame.len() - 1];
    format!("{{\"seq\":{seq},{shared},\"timeline\":{turns}}}")
}
