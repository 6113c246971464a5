//! What a process is called: a place in the table, and how often that place was used before.

use std::{fmt, num::NonZeroU64, str::FromStr};

/// Names a process within its runtime. Never used twice.
///
/// It is plain data: it may be stored, compared, printed and read back. Whether a process still
/// has it shows when it is used.
///
/// ```
/// use process::{Context, Pid, Processes};
///
/// let runtime = kernel::Runtime::new()?;
/// let idler = runtime.spawn_process(|mut ctx: Context<()>| async move {
///     while ctx.receive().await.is_some() {}
/// })?;
/// let text = idler.pid().to_string();
/// assert_eq!(text.parse::<Pid>()?, idler.pid());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Pid(NonZeroU64);

/// Set in pids that are not of this runtime's table.
const FOREIGN: u64 = 1 << 63;

/// How often a place of the table may be used.
pub(crate) const GENERATION_MAX: u32 = u32::MAX >> 1;

impl Pid {
    /// A pid that no process of the runtime ever has, for a [`Receiver`](crate::Receiver) that
    /// takes messages for pids of its own. `number` is below 2⁶³.
    pub fn foreign(number: u64) -> Option<Pid> {
        NonZeroU64::new(number | FOREIGN).filter(|_| number < FOREIGN).map(Pid)
    }

    /// The number of a foreign pid.
    pub fn foreign_number(self) -> Option<u64> {
        (self.0.get() & FOREIGN != 0).then_some(self.0.get() & !FOREIGN)
    }

    /// `generation` is at least 1.
    pub(crate) fn new(index: u32, generation: u32) -> Pid {
        let number = u64::from(generation) << 32 | u64::from(index);
        Pid(NonZeroU64::new(number).expect("generations begin with 1"))
    }

    pub(crate) fn index(self) -> u32 {
        self.0.get() as u32
    }

    pub(crate) fn generation(self) -> u32 {
        (self.0.get() >> 32) as u32
    }

    /// The number behind the pid.
    pub fn get(self) -> u64 {
        self.0.get()
    }

    /// The pid with this number. Whether a process has it shows when it is used.
    pub fn from_number(number: u64) -> Option<Pid> {
        NonZeroU64::new(number).map(Pid)
    }
}

impl fmt::Display for Pid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.index(), self.generation())
    }
}

impl fmt::Debug for Pid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Pid({self})")
    }
}

/// A text that is no pid: it should be two numbers with a dot between them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParsePidError(String);

impl fmt::Display for ParsePidError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} is no pid; it should be like 17.1", self.0)
    }
}

impl std::error::Error for ParsePidError {}

impl FromStr for Pid {
    type Err = ParsePidError;

    fn from_str(text: &str) -> Result<Pid, ParsePidError> {
        let pid = text.split_once('.').and_then(|(index, generation)| {
            let (index, generation) = (index.parse::<u32>().ok()?, generation.parse::<u32>().ok()?);
            Pid::from_number(u64::from(generation) << 32 | u64::from(index))
        });
        pid.filter(|pid| pid.generation() != 0).ok_or_else(|| ParsePidError(text.to_owned()))
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn text_that_is_no_pid_is_refused_with_the_text() {
        for text in ["", "7", "1.0", "a.b", "1.2.3", "-1.1", "4294967296.1"] {
            assert!(text.parse::<Pid>().unwrap_err().to_string().contains(text), "{text}");
        }
        assert_eq!("7.1".parse::<Pid>().unwrap(), Pid::new(7, 1));
    }
}
