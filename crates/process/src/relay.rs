//! Where a message goes whose pid is not in the table.

use std::sync::Arc;

use crate::{error::SendError, payload::Payload, pid::Pid, sync::Mutex};

/// Takes messages for pids of its own: processes of another runtime, another machine, another
/// language. The runtime's own table comes first, then its receivers in the order they were added.
///
/// ```
/// use std::sync::{Arc, Mutex};
/// use process::{Payload, Pid, Processes, Receiver, SendError};
///
/// struct Elsewhere(Mutex<Vec<Payload>>);
///
/// impl Receiver for Elsewhere {
///     fn receive(&self, to: Pid, message: Payload) -> Result<(), SendError<Payload>> {
///         match to.foreign_number() {
///             Some(7) => Ok(self.0.lock().unwrap().push(message)),
///             _ => Err(SendError::Unknown(message)),
///         }
///     }
/// }
///
/// let runtime = kernel::Runtime::new()?;
/// let elsewhere = Arc::new(Elsewhere(Mutex::default()));
/// runtime.add_receiver(elsewhere.clone());
/// runtime.relay(Pid::foreign(7).unwrap(), "hello".into())?;
/// assert!(runtime.relay(Pid::foreign(8).unwrap(), "nobody".into()).is_err());
/// assert_eq!(*elsewhere.0.lock().unwrap(), ["hello".into()]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Receiver: Send + Sync + 'static {
    /// Takes a message for `to`. It must not block: it runs in the sender's turn.
    ///
    /// # Errors
    /// The message: [`SendError::Unknown`] if `to` is not one of its own, then the next one is
    /// asked; anything else is told to the sender.
    fn receive(&self, to: Pid, message: Payload) -> Result<(), SendError<Payload>>;
}

#[derive(Default)]
pub(crate) struct Relays(Mutex<Vec<Arc<dyn Receiver>>>);

impl Relays {
    pub(crate) fn add(&self, receiver: Arc<dyn Receiver>) {
        self.0.lock().push(receiver);
    }

    pub(crate) fn relay(&self, to: Pid, message: Payload) -> Result<(), SendError<Payload>> {
        let receivers = self.0.lock().clone();
        let mut message = message;
        for receiver in receivers {
            match receiver.receive(to, message) {
                Err(SendError::Unknown(back)) => message = back,
                result => return result,
            }
        }
        Err(SendError::Unknown(message))
    }
}
