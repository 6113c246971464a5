//! Why did the host not do it?

use core::fmt;

/// What the host answers when it has not done what it was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Error {
    /// The channel is closed (and, for a receiver, empty), or the mutex is.
    Closed,
    /// The time is over.
    TimedOut,
    /// The task that was awaited has failed.
    Failed,
    /// This task is asked to end.
    Cancelled,
    /// It does not fit the buffer: so many bytes do. Nothing was taken.
    TooSmall(usize),
    /// There is no such task, channel or mutex.
    NoSuch,
    /// A limit of the program does not allow it.
    Limit,
    /// The mutex's owner ended without unlocking it.
    Poisoned,
    /// An argument makes no sense.
    BadArgument,
    /// A code that this version does not know.
    Unknown(i32),
}

/// `Ok` for code 0; `needed` is for the code that a buffer is too small.
pub(crate) fn check(code: i32, needed: i32) -> Result<(), Error> {
    Err(match code {
        0 => return Ok(()),
        1 => Error::Closed,
        2 => Error::TimedOut,
        3 => Error::Failed,
        4 => Error::Cancelled,
        5 => Error::TooSmall(needed as usize),
        6 => Error::NoSuch,
        7 => Error::Limit,
        8 => Error::Poisoned,
        9 => Error::BadArgument,
        other => Error::Unknown(other),
    })
}

/// An id, an index or a length, or else a negative code.
pub(crate) fn positive(answer: i64) -> Result<i64, Error> {
    if answer < 0 {
        check(i32::try_from(-answer).unwrap_or(i32::MAX), 0)?;
    }
    Ok(answer)
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Closed => f.write_str("the channel or the mutex is closed"),
            Error::TimedOut => f.write_str("the time is over"),
            Error::Failed => f.write_str("the task that was awaited has failed"),
            Error::Cancelled => f.write_str("this task is asked to end"),
            Error::TooSmall(needed) => write!(f, "the buffer is too small for {needed} bytes"),
            Error::NoSuch => f.write_str("there is no such task, channel or mutex"),
            Error::Limit => f.write_str("a limit of the program does not allow it"),
            Error::Poisoned => f.write_str("the mutex's owner ended without unlocking it"),
            Error::BadArgument => f.write_str("an argument makes no sense"),
            Error::Unknown(code) => write!(f, "the host's answer was {code}"),
        }
    }
}

impl core::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_of_the_interface_has_its_own_error() {
        assert_eq!(check(0, 7), Ok(()));
        assert_eq!(check(5, 7), Err(Error::TooSmall(7)));
        for code in 1..=9 {
            let error = check(code, 0).unwrap_err();
            assert!(!matches!(error, Error::Unknown(_)), "{code}");
            for other in code + 1..=10 {
                assert_ne!(check(other, 0), Err(error), "{code} and {other}");
            }
        }
        assert_eq!(check(10, 0), Err(Error::Unknown(10)));
    }

    #[test]
    fn a_negative_answer_is_a_code() {
        assert_eq!(positive(0), Ok(0));
        assert_eq!(positive(i64::MAX), Ok(i64::MAX));
        assert_eq!(positive(-7), Err(Error::Limit));
        assert_eq!(positive(i64::MIN + 1), Err(Error::Unknown(i32::MAX)));
    }
}
