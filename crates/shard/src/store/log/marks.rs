//! Is what does not read well torn, or damaged?
//!
//! A crash tears what was not synced. Marks say what was: one of them behind the end of what can be
//! read, of this epoch, that says more than that end, shows that something was damaged which had been
//! acknowledged.

use super::{
    super::StoreError,
    CHUNK, Checksum, Header, Log,
    format::{MARK, MARK_LEN},
    index,
};

/// Pages of zeros are passed over: a log grows by many of them.
const PAGE: usize = 4096;
static ZEROS: [u8; PAGE] = [0; PAGE];

impl Log {
    /// An error if the current epoch was synced beyond where its records end. Changes nothing.
    pub(super) fn refuse_damaged(&self, header: &Header) -> Result<(), StoreError> {
        let end = self.current.end;
        let Some(synced) = self.synced_behind(header, end)?.filter(|synced| *synced > end) else {
            return Ok(());
        };
        let path = self.path(header.epoch);
        Err(StoreError::Corrupt(format!(
            "{path} is damaged at byte {end}: it was synced up to byte {synced} at least, and what \
             is behind the damage can not be read. Nothing was changed. Restore a copy of the \
             directory; or copy it and give up what is behind the damage, with `shiftwork shard \
             check --cut` or `Options::cut_damaged`"
        )))
    }

    /// The most that marks behind `from` say; `None`: there is none.
    fn synced_behind(&self, header: &Header, from: u64) -> Result<Option<u64>, StoreError> {
        let io = |error| StoreError::io("reading the log", self.path(header.epoch), &error);
        let (checksum, file) = (Checksum::new(header), &self.files[index(header.epoch)]);
        let len = self.len(header.epoch)?;
        let (mut bytes, mut at, mut synced) = (Vec::new(), from, None::<u64>);
        while len >= at + MARK_LEN as u64 {
            bytes.resize((len - at).min(CHUNK) as usize, 0);
            file.read_at(at, &mut bytes).map_err(io)?;
            for place in candidates(&bytes) {
                let mark = bytes[place..].first_chunk::<MARK_LEN>().expect("there is room for one");
                synced = synced.max(checksum.mark(at + place as u64, mark));
            }
            // The next part begins where a mark would not have been whole in this one.
            at += (bytes.len() - MARK_LEN + 1) as u64;
        }
        Ok(synced)
    }
}

/// Where marks may be, each as a whole. There is room for one at least.
fn candidates(bytes: &[u8]) -> impl Iterator<Item = usize> {
    let ends = bytes.len() - MARK_LEN + 1;
    let is_used = move |from: &usize| {
        let page = &bytes[*from..(from + PAGE).min(bytes.len())];
        *page != ZEROS[..page.len()]
    };
    let pages = (0..ends).step_by(PAGE).filter(is_used);
    let places = pages.flat_map(move |from| from..(from + PAGE).min(ends));
    places.filter(move |place| bytes[*place..].starts_with(&MARK.to_le_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn candidates_are_found_at_every_place_where_a_mark_is_whole() {
        for len in [MARK_LEN, PAGE, PAGE + 1, 2 * PAGE + MARK_LEN] {
            for place in 0..=len - MARK_LEN {
                let mut bytes = vec![0; len];
                bytes[place..place + 4].fill(0xff);
                assert_eq!(candidates(&bytes).collect::<Vec<_>>(), [place], "of {len}");
            }
        }
    }
}
