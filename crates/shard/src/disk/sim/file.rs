//! What does a simulated file hold now, and what would a crash leave of it?
//!
//! ```text
//!   durable --- phase: versions of sectors, lengths --- cut --- phase ... --- now
//! ```
//!
//! A phase ends with a cut of the file, since nothing after a cut can be on disk without it.

use std::collections::BTreeMap;

use super::{Random, SECTOR, Unsynced};

/// A sector after a write, as long as the file let it be.
type Version = Vec<u8>;

#[derive(Clone, Debug, Default)]
pub(super) struct Content {
    now: Vec<u8>,
    /// As it was at the last sync, with what a failed sync has synced.
    durable: Vec<u8>,
    phases: Vec<Phase>,
}

#[derive(Clone, Debug, Default)]
struct Phase {
    /// The length that the file was cut to when the phase began.
    cut: Option<usize>,
    /// What each sector held after each write of this phase.
    sectors: BTreeMap<usize, Vec<Version>>,
    /// The lengths that it grew to.
    lens: Vec<usize>,
}

impl Content {
    pub(super) fn synced(bytes: Vec<u8>) -> Content {
        Content { now: bytes.clone(), durable: bytes, phases: Vec::new() }
    }

    pub(super) fn now(&self) -> &[u8] {
        &self.now
    }

    /// How many bytes a sync would have to write.
    pub(super) fn waiting(&self) -> u64 {
        self.phases.iter().map(|phase| (phase.sectors.len() * SECTOR) as u64).sum()
    }

    pub(super) fn write(&mut self, at: usize, from: &[u8]) {
        if from.is_empty() {
            return;
        }
        let end = at + from.len();
        if end > self.now.len() {
            self.set_len(end);
        }
        self.now[at..end].copy_from_slice(from);
        for sector in at / SECTOR..=(end - 1) / SECTOR {
            let bytes = &self.now[sector * SECTOR..self.now.len().min((sector + 1) * SECTOR)];
            let version = bytes.to_vec();
            self.phase().sectors.entry(sector).or_default().push(version);
        }
    }

    pub(super) fn set_len(&mut self, len: usize) {
        if len < self.now.len() {
            self.phases.push(Phase { cut: Some(len), ..Phase::default() });
        } else if len > self.now.len() {
            self.phase().lens.push(len);
        }
        self.now.resize(len, 0);
    }

    fn phase(&mut self) -> &mut Phase {
        if self.phases.is_empty() {
            self.phases.push(Phase::default());
        }
        self.phases.last_mut().expect("one was pushed if there was none")
    }

    /// Only what was written since: what a failed sync gave up is not written now.
    pub(super) fn sync(&mut self) {
        self.durable = self.after(|_| true, |versions| versions);
        self.phases.clear();
    }

    /// Some of it is on disk, and nobody will try the rest again.
    pub(super) fn fail_to_sync(&mut self, random: &mut Random) {
        self.durable = self.torn(random);
        self.phases.clear();
        // The file system will still write the length with the next thing it does.
        if self.now.len() != self.durable.len() {
            let len = self.now.len();
            let cut = (len < self.durable.len()).then_some(len);
            self.phases.push(Phase { cut, lens: vec![len], ..Phase::default() });
        }
    }

    pub(super) fn after_crash(&self, unsynced: Unsynced, random: &mut Random) -> Content {
        match unsynced {
            Unsynced::Lost => Content::synced(self.durable.clone()),
            Unsynced::Torn => Content::synced(self.torn(random)),
            // The system goes on with what it has, and with what it has given up.
            Unsynced::Kept => self.clone(),
        }
    }

    fn torn(&self, random: &mut Random) -> Vec<u8> {
        let random = std::cell::RefCell::new(random);
        // A version is one of those since the last sync, or the one at it.
        self.after(
            |_| random.borrow_mut().below(2) == 0,
            |versions| random.borrow_mut().below(versions as u64 + 1) as usize,
        )
    }

    /// What is on disk when cuts are there as `cut` says, and of a number of versions the first
    /// so many as `versions` says.
    fn after(&self, cut: impl Fn(usize) -> bool, versions: impl Fn(usize) -> usize) -> Vec<u8> {
        let mut bytes = self.durable.clone();
        for phase in &self.phases {
            if let Some(len) = phase.cut {
                if !cut(len) {
                    break;
                }
                bytes.truncate(len);
            }
            if let Some(last) = versions(phase.lens.len()).checked_sub(1) {
                bytes.resize(phase.lens[last].max(bytes.len()), 0);
            }
            for (sector, held) in &phase.sectors {
                let Some(last) = versions(held.len()).checked_sub(1) else { continue };
                let at = sector * SECTOR;
                if let Some(room) = bytes.len().checked_sub(at) {
                    let len = room.min(held[last].len());
                    bytes[at..at + len].copy_from_slice(&held[last][..len]);
                }
            }
        }
        bytes
    }
}
