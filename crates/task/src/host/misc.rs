//! Calls about the world: the log, the clock, chance.

use crate::{
    abi::Code,
    engine::Answer,
    host::{Called, Host},
};

impl Host {
    pub(super) fn log(&mut self, level: u64, text: &[u8]) -> Called {
        self.must_be_short(text)?;
        self.shared.options.log.write(self.own.id, level as u32 as i32, text);
        Err(Code::Ok)
    }

    pub(super) fn now(&self) -> u64 {
        u64::try_from(self.shared.runtime.now().as_nanos()).unwrap_or(u64::MAX)
    }

    /// Fills bytes from a generator of the task's own (SplitMix64), which the runtime's chance has
    /// seeded: in a simulation the same ones in every run. Not for secrets.
    pub(super) fn random(&mut self, to: &mut [u8]) -> Called {
        let dice = self.dice.get_or_insert_with(|| self.shared.runtime.random());
        for chunk in to.chunks_mut(8) {
            *dice = dice.wrapping_add(0x9E37_79B9_7F4A_7C15);
            let mut z = *dice;
            z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
            chunk.copy_from_slice(&(z ^ (z >> 31)).to_le_bytes()[..chunk.len()]);
        }
        Ok(Answer::Return(0))
    }
}
