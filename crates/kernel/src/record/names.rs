//! The names of strands that have ended while a recording went on.
//!
//! A strand that is there has its name in the runtime's list. One that goes leaves its name here,
//! so that naming costs nothing per turn. Bounded in number and in size: the oldest go first.

use std::collections::{HashMap, VecDeque};

use crate::{record::NAMES_MAX, strand::StrandId};

/// All names together have so many bytes at most.
const BYTES_MAX: usize = 4 << 20;

#[derive(Default)]
pub(super) struct Names {
    by_id: HashMap<StrandId, Box<str>>,
    order: VecDeque<StrandId>,
    bytes: usize,
}

impl Names {
    pub(super) fn keep(&mut self, id: StrandId, name: Box<str>) {
        self.bytes += name.len();
        // An id is never used twice.
        self.by_id.insert(id, name);
        self.order.push_back(id);
        while self.order.len() > NAMES_MAX || self.bytes > BYTES_MAX {
            let Some(oldest) = self.order.pop_front() else { break };
            self.bytes -= self.by_id.remove(&oldest).map_or(0, |name| name.len());
        }
    }

    pub(super) fn get(&self, id: StrandId) -> Option<&str> {
        self.by_id.get(&id).map(|name| &**name)
    }

    pub(super) fn clear(&mut self) {
        *self = Names::default();
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn oldest_names_go_first() {
        let mut names = Names::default();
        for id in 0..NAMES_MAX as u64 + 2 {
            names.keep(StrandId(id), "x".into());
        }
        assert_eq!((names.get(StrandId(1)), names.get(StrandId(2))), (None, Some("x")));
        assert_eq!((names.by_id.len(), names.order.len()), (NAMES_MAX, NAMES_MAX));
    }

    #[test]
    fn long_names_use_up_the_room_of_many() {
        let mut names = Names::default();
        let half = "x".repeat(BYTES_MAX / 2);
        for id in 1..=3 {
            names.keep(StrandId(id), half.as_str().into());
        }
        assert_eq!(names.get(StrandId(1)), None);
        assert_eq!(names.get(StrandId(3)), Some(half.as_str()));
        names.keep(StrandId(4), "x".repeat(BYTES_MAX + 1).into());
        assert_eq!((names.bytes, names.by_id.len()), (0, 0));
    }
}
