//! How do tasks, which share no memory, give each other bytes?

use core::time::Duration;

use crate::{
    error::{Error, check, positive},
    host,
    task::nanoseconds,
};

/// A channel: messages of bytes, in order. A name for it, which may be copied and sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct Channel(i64);

impl Channel {
    /// A channel that holds so many messages. With 0 a sender waits until a receiver has its message.
    pub fn open(capacity: usize) -> Result<Channel, Error> {
        positive(host::chan_open(i32::try_from(capacity).unwrap_or(i32::MAX))).map(Channel)
    }

    /// Waits for room, and sends.
    pub fn send(self, message: &[u8]) -> Result<(), Error> {
        // SAFETY: the slice is readable.
        check(unsafe { host::chan_send(self.0, message.as_ptr(), message.len() as i32) }, 0)
    }

    /// Waits for a message, copies it to the start of `buffer`, and returns its length.
    pub fn receive(self, buffer: &mut [u8]) -> Result<usize, Error> {
        let (at, capacity, mut length) = (buffer.as_mut_ptr(), buffer.len() as i32, 0);
        // SAFETY: the slice and the place for the length are ours to write.
        let code = unsafe { host::chan_recv(self.0, at, capacity, &mut length) };
        check(code, length).map(|()| length as usize)
    }

    /// Sends a number, as eight bytes.
    pub fn send_number(self, number: i64) -> Result<(), Error> {
        self.send(&number.to_le_bytes())
    }

    /// Waits for a number. A message of another length is no number: `BadArgument`.
    pub fn receive_number(self) -> Result<i64, Error> {
        let mut bytes = [0; 8];
        match self.receive(&mut bytes)? {
            8 => Ok(i64::from_le_bytes(bytes)),
            _ => Err(Error::BadArgument),
        }
    }

    /// No more is sent. What is in the channel is still received.
    pub fn close(self) -> Result<(), Error> {
        check(host::chan_close(self.0), 0)
    }

    /// Its number.
    pub fn id(self) -> i64 {
        self.0
    }

    /// The channel with this number, if there is one.
    pub fn from_id(id: i64) -> Channel {
        Channel(id)
    }
}

/// Waits until there is something to receive from one of them (or one is closed), and tells which.
/// It takes nothing: another task may be quicker to receive it. Without a timeout it waits for ever;
/// with one of zero it only looks.
pub fn select(channels: &[Channel], timeout: Option<Duration>) -> Result<usize, Error> {
    let timeout = timeout.map_or(-1, nanoseconds);
    // SAFETY: a channel is its number, and the slice is readable.
    let answer = unsafe { host::select(channels.as_ptr().cast(), channels.len() as i32, timeout) };
    positive(answer.into()).map(|index| index as usize)
}

/// A mutex, which guards a cell of bytes. A name for it, which may be copied and sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Mutex(i64);

impl Mutex {
    /// A mutex with these bytes in its cell.
    pub fn open(cell: &[u8]) -> Result<Mutex, Error> {
        // SAFETY: the slice is readable.
        positive(unsafe { host::mutex_open(cell.as_ptr(), cell.len() as i32) }).map(Mutex)
    }

    /// Waits until it is ours, copies its cell to the start of `buffer`, and returns its length.
    /// A task that ends without [`unlock`](Mutex::unlock) poisons it.
    pub fn lock(self, buffer: &mut [u8]) -> Result<usize, Error> {
        let (at, capacity, mut length) = (buffer.as_mut_ptr(), buffer.len() as i32, 0);
        // SAFETY: the slice and the place for the length are ours to write.
        let code = unsafe { host::lock(self.0, at, capacity, &mut length) };
        check(code, length).map(|()| length as usize)
    }

    /// Puts these bytes into its cell, and gives it to whoever waits longest.
    pub fn unlock(self, cell: &[u8]) -> Result<(), Error> {
        // SAFETY: the slice is readable.
        check(unsafe { host::unlock(self.0, cell.as_ptr(), cell.len() as i32) }, 0)
    }

    /// It is gone, whoever holds it: those who wait for it, and all who come later, get
    /// [`Error::Closed`].
    pub fn close(self) -> Result<(), Error> {
        check(host::mutex_close(self.0), 0)
    }

    /// Its number.
    pub fn id(self) -> i64 {
        self.0
    }

    /// The mutex with this number, if there is one.
    pub fn from_id(id: i64) -> Mutex {
        Mutex(id)
    }
}
