//! What a scripted guest can do: everything in the ABI, each call a future.

use std::{
    future::poll_fn,
    sync::{Arc, Mutex, MutexGuard},
    task::Poll,
};

use crate::{
    abi::{Call, MAX_PARAMETERS},
    trap::TrapKind,
};

/// Where bytes go that are sent, and come from that are received.
const BYTES: usize = 4096;
/// Where numbers come back.
const OUT: usize = 16;
/// Where lists of channels go.
const LIST: usize = 1024;

/// What a guest wants of its engine.
pub(crate) enum Request {
    Call(Call, [u64; MAX_PARAMETERS]),
    /// To compute for so many operations.
    Work(u64),
    Trap(TrapKind),
    /// A memory of so many bytes.
    Grow(usize),
}

/// A guest: what its script sees of the world.
#[derive(Clone)]
pub struct Guest(Arc<Mutex<Talk>>);

struct Talk {
    memory: Vec<u8>,
    request: Option<Request>,
    answer: Option<u64>,
}

impl Guest {
    pub(crate) fn new(memory: usize) -> Guest {
        Guest(Arc::new(Mutex::new(Talk { memory: vec![0; memory], request: None, answer: None })))
    }

    // Only its own turn touches it, and a panic ends it.
    fn talk(&self) -> MutexGuard<'_, Talk> {
        self.0.lock().expect("a guest that panicked does not go on")
    }

    pub(crate) fn with_memory<R>(&self, user: impl FnOnce(&mut [u8]) -> R) -> R {
        user(&mut self.talk().memory)
    }

    pub(crate) fn grow(&self, to: usize) {
        self.talk().memory.resize(to, 0);
    }

    pub(crate) fn request(&self) -> Request {
        self.talk().request.take().expect("a guest that is not done wants something")
    }

    pub(crate) fn answer(&self, answer: u64) {
        self.talk().answer = Some(answer);
    }

    async fn ask(&self, request: Request) -> u64 {
        self.talk().request = Some(request);
        poll_fn(|_| self.talk().answer.take().map_or(Poll::Pending, Poll::Ready)).await
    }

    fn put(&self, at: usize, bytes: &[u8]) {
        self.with_memory(|memory| memory[at..at + bytes.len()].copy_from_slice(bytes));
    }

    fn get(&self, at: usize, len: usize) -> Vec<u8> {
        self.with_memory(|memory| memory[at..at + len].to_vec())
    }

    fn out(&self) -> u32 {
        u32::from_le_bytes(self.get(OUT, 4).try_into().expect("four bytes"))
    }

    /// Any call with any arguments, as they come from an engine.
    pub(crate) async fn call(&self, call: Call, arguments: [u64; MAX_PARAMETERS]) -> u64 {
        self.ask(Request::Call(call, arguments)).await
    }

    /// Computes for so many operations.
    pub async fn work(&self, operations: u64) {
        self.talk().request = Some(Request::Work(operations));
        let mut asked = false;
        poll_fn(
            |_| if std::mem::replace(&mut asked, true) { Poll::Ready(()) } else { Poll::Pending },
        )
        .await;
    }

    /// Computes for ever.
    pub async fn loop_for_ever(&self) -> ! {
        loop {
            self.work(1 << 40).await;
        }
    }

    /// Executes `unreachable`.
    pub async fn trap(&self) -> ! {
        self.ask(Request::Trap(TrapKind::Unreachable)).await;
        unreachable!("a guest that trapped does not go on")
    }

    /// Grows the memory to so many bytes; false if it may not.
    pub async fn grow_memory(&self, to: usize) -> bool {
        self.ask(Request::Grow(to)).await != 0
    }

    /// The ABI's `spawn`.
    pub async fn spawn(&self, function: u32, argument: i64) -> i64 {
        self.call(Call::Spawn, [function.into(), argument as u64, 0, 0]).await as i64
    }

    /// The ABI's `spawn_with`.
    pub async fn spawn_with(&self, function: u32, bytes: &[u8]) -> i64 {
        self.put(BYTES, bytes);
        let arguments = [function.into(), BYTES as u64, bytes.len() as u64, 0];
        self.call(Call::SpawnWith, arguments).await as i64
    }

    /// The ABI's `input`: the length, and as many bytes as there are if they fit.
    pub async fn input(&self, capacity: u32) -> (i32, Vec<u8>) {
        let len = self.call(Call::Input, [BYTES as u64, capacity.into(), 0, 0]).await as i32;
        let fits = (0..=capacity as i32).contains(&len);
        (len, if fits { self.get(BYTES, len as usize) } else { Vec::new() })
    }

    /// The ABI's `await`: the code, and the value if it is 0.
    pub async fn await_task(&self, task: i64) -> Result<i64, i32> {
        let code = self.call(Call::Await, [task as u64, OUT as u64, 0, 0]).await as i32;
        let value = self.get(OUT, 8).try_into().expect("eight bytes");
        if code == 0 { Ok(i64::from_le_bytes(value)) } else { Err(code) }
    }

    /// The ABI's `yield_now`.
    pub async fn yield_now(&self) {
        self.call(Call::YieldNow, [0; 4]).await;
    }

    /// The ABI's `self`.
    pub async fn id(&self) -> i64 {
        self.call(Call::Self_, [0; 4]).await as i64
    }

    /// The ABI's `sleep`.
    pub async fn sleep(&self, nanos: i64) {
        self.call(Call::Sleep, [nanos as u64, 0, 0, 0]).await;
    }

    /// The ABI's `chan_open`.
    pub async fn open(&self, capacity: i32) -> i64 {
        self.call(Call::ChanOpen, [u64::from(capacity as u32), 0, 0, 0]).await as i64
    }

    /// The ABI's `chan_send`.
    pub async fn send(&self, channel: i64, bytes: &[u8]) -> i32 {
        self.put(BYTES, bytes);
        let arguments = [channel as u64, BYTES as u64, bytes.len() as u64, 0];
        self.call(Call::ChanSend, arguments).await as i32
    }

    /// The ABI's `chan_recv`: the message, or the code; with code 5, the length is at `needed`.
    pub async fn receive(&self, channel: i64, capacity: u32) -> Result<Vec<u8>, i32> {
        let arguments = [channel as u64, BYTES as u64, capacity.into(), OUT as u64];
        let code = self.call(Call::ChanRecv, arguments).await as i32;
        if code == 0 { Ok(self.get(BYTES, self.out() as usize)) } else { Err(code) }
    }

    /// The length that came with the last code 5.
    pub fn needed(&self) -> u32 {
        self.out()
    }

    /// The ABI's `chan_close`.
    pub async fn close(&self, channel: i64) -> i32 {
        self.call(Call::ChanClose, [channel as u64, 0, 0, 0]).await as i32
    }

    /// The ABI's `select`.
    pub async fn select(&self, channels: &[i64], timeout: i64) -> i32 {
        for (at, channel) in channels.iter().enumerate() {
            self.put(LIST + 8 * at, &channel.to_le_bytes());
        }
        let arguments = [LIST as u64, channels.len() as u64, timeout as u64, 0];
        self.call(Call::Select, arguments).await as i32
    }

    /// The ABI's `mutex_open`.
    pub async fn open_mutex(&self, bytes: &[u8]) -> i64 {
        self.put(BYTES, bytes);
        self.call(Call::MutexOpen, [BYTES as u64, bytes.len() as u64, 0, 0]).await as i64
    }

    /// The ABI's `lock`: the cell, or the code; with code 5, the length is at `needed`.
    pub async fn lock(&self, mutex: i64, capacity: u32) -> Result<Vec<u8>, i32> {
        let arguments = [mutex as u64, BYTES as u64, capacity.into(), OUT as u64];
        let code = self.call(Call::Lock, arguments).await as i32;
        if code == 0 { Ok(self.get(BYTES, self.out() as usize)) } else { Err(code) }
    }

    /// The ABI's `unlock`.
    pub async fn unlock(&self, mutex: i64, bytes: &[u8]) -> i32 {
        self.put(BYTES, bytes);
        let arguments = [mutex as u64, BYTES as u64, bytes.len() as u64, 0];
        self.call(Call::Unlock, arguments).await as i32
    }

    /// The ABI's `mutex_close`.
    pub async fn close_mutex(&self, mutex: i64) -> i32 {
        self.call(Call::MutexClose, [mutex as u64, 0, 0, 0]).await as i32
    }

    /// The ABI's `log`.
    pub async fn log(&self, level: i32, text: &[u8]) {
        self.put(BYTES, text);
        let level = u64::from(level as u32);
        self.call(Call::Log, [level, BYTES as u64, text.len() as u64, 0]).await;
    }

    /// The ABI's `now`.
    pub async fn now(&self) -> i64 {
        self.call(Call::Now, [0; 4]).await as i64
    }

    /// The ABI's `random`.
    pub async fn random(&self, len: usize) -> Vec<u8> {
        self.call(Call::Random, [BYTES as u64, len as u64, 0, 0]).await;
        self.get(BYTES, len)
    }
}
