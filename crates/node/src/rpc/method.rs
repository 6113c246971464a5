//! Which methods are there, and what do they take?
//!
//! A method of a shard is written once. It is reached at the shard's own endpoint under its usual
//! name (`eth_getBalance`), and at `/` in the namespace `shard_` with the shard's address as the
//! first argument (`shard_getBalance`). The table is also what the reference is made from, and the
//! tests of wrong arguments.

use std::{future::Future, io, pin::Pin, sync::Arc};

use alloy_primitives::Address;
use serde::Serialize;
use serde_json::value::RawValue;
use shard::Shard;

use super::{
    admin, args::Args, debug, dev, error::RpcError, eth, eth::subscribe::Feed, trace, txpool, web3,
};
use crate::{
    context::{Context, Endpoint},
    settings::ANSWER_BYTES_MAX,
};

/// A method that can be called.
#[derive(Debug)]
pub struct Method {
    /// As tools call it.
    pub name: &'static str,
    /// What it takes, in order.
    pub params: &'static [Param],
    /// What it does, in one sentence.
    pub about: &'static str,
    /// Where it can be called.
    pub(crate) place: Place,
    pub(crate) run: Run,
}

/// What a method takes.
#[derive(Clone, Copy, Debug)]
pub struct Param {
    pub name: &'static str,
    pub kind: Kind,
    pub optional: bool,
}

/// What an argument looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    Address,
    Hash,
    /// A number in hexadecimal, 0x-prefixed.
    Quantity,
    /// A number, a name such as `latest`, or an object with a block's hash.
    Block,
    Bytes,
    Bool,
    /// A call, as `eth_call` takes it.
    Call,
    /// What to look for among logs.
    LogFilter,
    /// An object whose members have defaults.
    Options,
    /// A list.
    List,
    Text,
}

/// Where a method can be called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// It is about one shard: at its own endpoint, and at `/` as `shard_…`.
    Shard,
    /// It is about one shard and writes: the same, but at `/` the shard need not exist.
    ShardWrite,
    /// At its own endpoint only.
    OwnOnly,
    /// At `/` only.
    Root,
    /// It is the same everywhere.
    Everywhere,
}

/// An answer that is waited for.
pub(crate) type Waited = Pin<Box<dyn Future<Output = Result<Answer, RpcError>> + Send>>;

/// How it is run.
#[derive(Clone, Copy)]
pub(crate) enum Run {
    /// At once: it takes microseconds.
    Here(fn(&mut Call) -> Result<Answer, RpcError>),
    /// On a worker: it may take long.
    OnWorker(fn(&mut Call) -> Result<Answer, RpcError>),
    /// At once if it takes microseconds, and on a worker if that turns out not to be so.
    HereIfSmall(fn(Call) -> Result<Begun, RpcError>),
    /// It waits for others.
    Waiting(fn(Call) -> Waited),
    /// It answers many times. The namespace has `…_subscription` and `…_unsubscribe` with it.
    Subscription(fn(&mut Call) -> Result<Feed, RpcError>),
    /// It is there with its subscription.
    Unsubscription,
}

impl std::fmt::Debug for Run {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Run::Here(_) => "Here",
            Run::OnWorker(_) => "OnWorker",
            Run::HereIfSmall(_) => "HereIfSmall",
            Run::Waiting(_) => "Waiting",
            Run::Subscription(_) => "Subscription",
            Run::Unsubscription => "Unsubscription",
        })
    }
}

/// The rest of a method, which may take long.
pub(crate) type Rest = Box<dyn FnOnce(&Context) -> Result<Answer, RpcError> + Send>;

/// What came of a method that was begun where its call was read.
pub(crate) enum Begun {
    Answered(Answer),
    /// This is to be run on a worker.
    Long(Rest),
}

/// An answer, as it will be sent: JSON.
#[derive(Clone, Debug)]
pub(crate) struct Answer(String);

impl Answer {
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// For the server of WebSockets. It is read once more, to see that it is what it is.
    pub(crate) fn into_raw(self) -> Box<RawValue> {
        RawValue::from_string(self.0).expect("it was written as JSON")
    }
}

/// Writes an answer down.
pub(crate) fn answer<T: Serialize + ?Sized>(value: &T) -> Result<Answer, RpcError> {
    let mut text = Bounded(Vec::with_capacity(SHORT));
    match serde_json::to_writer(&mut text, value) {
        Ok(()) => {}
        Err(error) if error.is_io() => return Err(RpcError::answer_too_long(ANSWER_BYTES_MAX)),
        Err(error) => return Err(RpcError::internal(&error)),
    }
    let text = String::from_utf8(text.0).map_err(|error| RpcError::internal(&error))?;
    Ok(Answer(text))
}

/// Most answers are a hash or a number.
const SHORT: usize = 72;

/// Takes so many bytes and no more: an answer that is too long need not be written to its end.
struct Bounded(Vec<u8>);

impl io::Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0.len() + bytes.len() > ANSWER_BYTES_MAX {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A call of a method.
pub(crate) struct Call {
    pub(crate) context: Arc<Context>,
    pub(crate) endpoint: Endpoint,
    pub(crate) place: Place,
    /// Whoever asks has asked for nothing else: it is not one of a batch, and came over HTTP. So it
    /// may take some microseconds where it was read.
    pub(crate) alone: bool,
    pub(crate) args: Args,
}

impl Call {
    /// Which shard it is about: that of the path, or the first argument at `/`. To be asked once,
    /// before the other arguments.
    pub(crate) fn address(&mut self) -> Result<Address, RpcError> {
        match self.endpoint {
            Endpoint::Shard(address) => Ok(address),
            Endpoint::Root => self.args.required("shard"),
        }
    }

    /// The shard it is about.
    pub(crate) fn shard(&mut self) -> Result<Shard, RpcError> {
        let address = self.address()?;
        match (self.endpoint, self.place) {
            (Endpoint::Root, Place::Shard) => self.context.existing(address),
            _ => self.context.own(address),
        }
    }
}

impl Method {
    pub(crate) const fn of(
        name: &'static str,
        params: &'static [Param],
        run: Run,
        about: &'static str,
    ) -> Method {
        Method { name, params, about, place: Place::Shard, run }
    }

    pub(crate) const fn here(
        name: &'static str,
        params: &'static [Param],
        run: fn(&mut Call) -> Result<Answer, RpcError>,
        about: &'static str,
    ) -> Method {
        Method::of(name, params, Run::Here(run), about)
    }

    pub(crate) const fn on_worker(
        name: &'static str,
        params: &'static [Param],
        run: fn(&mut Call) -> Result<Answer, RpcError>,
        about: &'static str,
    ) -> Method {
        Method::of(name, params, Run::OnWorker(run), about)
    }

    pub(crate) const fn waiting(
        name: &'static str,
        params: &'static [Param],
        run: fn(Call) -> Waited,
        about: &'static str,
    ) -> Method {
        Method::of(name, params, Run::Waiting(run), about)
    }

    pub(crate) const fn at(mut self, place: Place) -> Method {
        self.place = place;
        self
    }

    /// Its name at `/`, where the shard's address comes first.
    pub fn name_at_root(&self) -> Option<String> {
        let (_, rest) = self.name.split_once('_')?;
        matches!(self.place, Place::Shard | Place::ShardWrite).then(|| format!("shard_{rest}"))
    }

    /// Whether it is about one shard, which must be named at `/`. A subscription is known by its own
    /// name when it ends.
    pub fn names_shard_at_root(&self) -> bool {
        let ends = matches!(self.run, Run::Unsubscription);
        matches!(self.place, Place::Shard | Place::ShardWrite) && !ends
    }

    /// Whether it is to be called over a WebSocket.
    pub fn is_of_websockets(&self) -> bool {
        matches!(self.run, Run::Subscription(_) | Run::Unsubscription)
    }

    /// Whether it can be called at a shard's own endpoint.
    pub fn is_at_shards(&self) -> bool {
        self.place != Place::Root
    }

    /// Whether it can be called at `/` under its own name.
    pub fn is_at_root(&self) -> bool {
        matches!(self.place, Place::Root | Place::Everywhere)
    }
}

impl Param {
    pub(crate) const fn required(name: &'static str, kind: Kind) -> Param {
        Param { name, kind, optional: false }
    }

    pub(crate) const fn optional(name: &'static str, kind: Kind) -> Param {
        Param { name, kind, optional: true }
    }
}

/// The methods of every kind, in the order of the reference.
const TABLES: &[&[Method]] = &[
    eth::state::METHODS,
    eth::proof::METHODS,
    eth::block::METHODS,
    eth::transaction::METHODS,
    eth::logs::METHODS,
    eth::filters::METHODS,
    eth::subscribe::METHODS,
    eth::send::METHODS,
    eth::wallet::METHODS,
    eth::call::METHODS,
    eth::fees::METHODS,
    debug::METHODS,
    trace::METHODS,
    txpool::METHODS,
    dev::state::METHODS,
    dev::senders::METHODS,
    dev::time::METHODS,
    dev::snapshot::METHODS,
    web3::METHODS,
    super::shard::METHODS,
    admin::METHODS,
];

/// All methods.
pub fn methods() -> impl Iterator<Item = &'static Method> {
    TABLES.iter().copied().flatten()
}
