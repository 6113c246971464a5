//! Which bytes stand for the call trees of a block?
//!
//! ```text
//!   version  count  where each tree ends ...  trees ...
//!   tree:  flags  kind  from  gas  gas used  [what the flags say]  input  count  trees of its calls
//! ```
//!
//! The count and the ends are four bytes each, little-endian; ends count from the first tree. All
//! else is written as in blocks. Logs are not kept: whoever wants them has the block executed again.

use alloy_primitives::U256;
use alloy_rpc_types_trace::geth::{CallConfig, CallFrame};

use crate::{
    block::bytes::{Reader, put_bytes, put_u256, put_varint},
    store::StoreError,
};

const VERSION: u8 = 1;
/// Deeper than calls can be.
const DEPTH_MAX: usize = 1_100;
/// The trees of a block that take more are not kept.
pub(crate) const BYTES_MAX: usize = 32 << 20;

const TO: u16 = 1;
const OUTPUT: u16 = 1 << 1;
const ERROR: u16 = 1 << 2;
const REASON: u16 = 1 << 3;
const VALUE: u16 = 1 << 4;
const EXECUTION_GAS: u16 = 1 << 5;
const STATE_GAS: u16 = 1 << 6;
const REFUND: u16 = 1 << 7;
const STATE_REFUND: u16 = 1 << 8;

/// Whether what is kept answers this.
pub(crate) fn answers(config: &CallConfig) -> bool {
    let CallConfig { only_top_call, with_log } = *config;
    !only_top_call.unwrap_or(false) && !with_log.unwrap_or(false)
}

/// The trees of a block, one after the other.
#[derive(Default)]
pub(crate) struct Trees {
    bytes: Vec<u8>,
    ends: Vec<u32>,
}

impl Trees {
    /// Adds the next one. `false`: they take too much to be kept.
    #[must_use]
    pub(crate) fn add(&mut self, frame: &CallFrame) -> bool {
        put_frame(&mut self.bytes, frame);
        self.ends.push(self.bytes.len() as u32);
        self.bytes.len() <= BYTES_MAX
    }

    /// The bytes that stand for them.
    pub(crate) fn encode(mut self) -> Vec<u8> {
        let mut out = Vec::with_capacity(5 + self.ends.len() * 4 + self.bytes.len());
        out.push(VERSION);
        out.extend_from_slice(&(self.ends.len() as u32).to_le_bytes());
        self.ends.iter().for_each(|end| out.extend_from_slice(&end.to_le_bytes()));
        out.append(&mut self.bytes);
        out
    }
}

/// The tree of one transaction; `None`: the block has none there.
pub(crate) fn decode(bytes: &[u8], index: usize) -> Result<Option<CallFrame>, StoreError> {
    let mut reader = Reader::new(bytes, "call trees");
    if reader.u8()? != VERSION {
        return Err(reader.corrupt("their version is not known"));
    }
    let count = reader.u32()?;
    if index >= count {
        return Ok(None);
    }
    let too_early = || StoreError::Corrupt("call trees: they end too early".to_owned());
    let ends = count.checked_mul(4).ok_or_else(too_early)?;
    let mut ends = Reader::new(reader.take(ends)?, "call trees");
    let mut begin = 0;
    for _ in 0..index {
        begin = ends.u32()?;
    }
    let length = ends.u32()?.checked_sub(begin).ok_or_else(too_early)?;
    reader.take(begin)?;
    let mut reader = Reader::new(reader.take(length)?, "a call tree");
    let frame = read_frame(&mut reader, 0)?;
    reader.end()?;
    Ok(Some(frame))
}

fn numbers(frame: &CallFrame) -> [(u16, Option<U256>); 5] {
    [
        (VALUE, frame.value),
        (EXECUTION_GAS, frame.execution_gas_used),
        (STATE_GAS, frame.state_gas_used),
        (REFUND, frame.gas_refund),
        (STATE_REFUND, frame.state_gas_refund),
    ]
}

fn put_frame(out: &mut Vec<u8>, frame: &CallFrame) {
    let flag = |flag, is| if is { flag } else { 0 };
    let mut flags = flag(TO, frame.to.is_some())
        | flag(OUTPUT, frame.output.is_some())
        | flag(ERROR, frame.error.is_some())
        | flag(REASON, frame.revert_reason.is_some());
    for (number, value) in numbers(frame) {
        flags |= flag(number, value.is_some());
    }
    put_varint(out, u64::from(flags));
    put_bytes(out, frame.typ.as_bytes());
    out.extend_from_slice(frame.from.as_slice());
    put_u256(out, frame.gas);
    put_u256(out, frame.gas_used);
    if let Some(to) = frame.to {
        out.extend_from_slice(to.as_slice());
    }
    for number in numbers(frame).into_iter().filter_map(|(_, number)| number) {
        put_u256(out, number);
    }
    if let Some(output) = &frame.output {
        put_bytes(out, output);
    }
    for text in [&frame.error, &frame.revert_reason].into_iter().flatten() {
        put_bytes(out, text.as_bytes());
    }
    put_bytes(out, &frame.input);
    put_varint(out, frame.calls.len() as u64);
    for call in &frame.calls {
        put_frame(out, call);
    }
}

fn read_frame(reader: &mut Reader<'_>, depth: usize) -> Result<CallFrame, StoreError> {
    if depth > DEPTH_MAX {
        return Err(reader.corrupt("its calls are too deep"));
    }
    let flags = reader.varint()?;
    let has = |flag: u16| flags & u64::from(flag) != 0;
    if flags >= u64::from(STATE_REFUND) << 1 {
        return Err(reader.corrupt("its flags are not known"));
    }
    let mut frame = CallFrame { typ: text(reader)?, ..CallFrame::default() };
    frame.from = reader.address()?;
    frame.gas = reader.u256()?;
    frame.gas_used = reader.u256()?;
    frame.to = has(TO).then(|| reader.address()).transpose()?;
    frame.value = has(VALUE).then(|| reader.u256()).transpose()?;
    frame.execution_gas_used = has(EXECUTION_GAS).then(|| reader.u256()).transpose()?;
    frame.state_gas_used = has(STATE_GAS).then(|| reader.u256()).transpose()?;
    frame.gas_refund = has(REFUND).then(|| reader.u256()).transpose()?;
    frame.state_gas_refund = has(STATE_REFUND).then(|| reader.u256()).transpose()?;
    frame.output = has(OUTPUT).then(|| reader.bytes()).transpose()?;
    frame.error = has(ERROR).then(|| text(reader)).transpose()?;
    frame.revert_reason = has(REASON).then(|| text(reader)).transpose()?;
    frame.input = reader.bytes()?;
    // Flags, a kind, a sender, two numbers, an input and the number of calls.
    let count = reader.count(26)?;
    frame.calls = (0..count).map(|_| read_frame(reader, depth + 1)).collect::<Result<_, _>>()?;
    Ok(frame)
}

fn text(reader: &mut Reader<'_>) -> Result<String, StoreError> {
    let bytes = reader.bytes()?;
    String::from_utf8(bytes.to_vec()).map_err(|_| reader.corrupt("a text is none"))
}

#[cfg(test)]
mod tests {
    use alloy_primitives::{Address, Bytes};

    use super::*;

    fn encode(frames: &[CallFrame]) -> Vec<u8> {
        let mut trees = Trees::default();
        assert!(frames.iter().all(|frame| trees.add(frame)));
        trees.encode()
    }

    fn tree() -> CallFrame {
        let leaf = CallFrame {
            from: Address::repeat_byte(1),
            gas: U256::MAX,
            error: Some("execution reverted".to_owned()),
            revert_reason: Some("no".to_owned()),
            output: Some(Bytes::from_static(b"out")),
            value: Some(U256::ZERO),
            gas_refund: Some(U256::from(300)),
            typ: "STATICCALL".to_owned(),
            ..CallFrame::default()
        };
        let to = Some(Address::repeat_byte(2));
        CallFrame { to, calls: vec![leaf.clone(), leaf.clone()], ..leaf }
    }

    #[test]
    fn each_tree_comes_back_alone() {
        let trees = [CallFrame::default(), tree(), CallFrame::default(), tree()];
        let bytes = encode(&trees);
        for (index, tree) in trees.iter().enumerate() {
            assert_eq!(decode(&bytes, index), Ok(Some(tree.clone())));
        }
        assert_eq!(decode(&bytes, 4), Ok(None));
    }

    #[test]
    fn bytes_that_are_cut_or_changed_are_an_error_or_another_tree_and_never_a_panic() {
        let bytes = encode(&[tree()]);
        for end in 0..bytes.len() {
            assert!(decode(&bytes[..end], 0).is_err(), "cut at {end}");
        }
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 0xff;
            assert_ne!(decode(&changed, 0), Ok(Some(tree())), "changed at {at}");
        }
    }
}
