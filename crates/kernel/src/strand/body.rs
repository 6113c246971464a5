//! What a strand is made of: a state of its own, and a function that takes its turns.

use crate::turn::Turn;

/// What a strand wants after a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step<R> {
    /// Nothing to do until the next wake. A wake that came during this turn counts.
    Pause,
    /// More to do: another turn, after everyone who waits already.
    Yield,
    /// It has ended, with this result.
    End(R),
}

/// The body of a strand. It has the strand's state, and takes its turns one at a time.
///
/// Every closure `FnMut(&mut Turn) -> Step<R>` is a body; a type of your own is one when it
/// implements this trait.
///
/// ```
/// use kernel::{Body, Runtime, Step, Turn};
///
/// struct Countdown(u32);
///
/// impl Body for Countdown {
///     type Output = &'static str;
///
///     fn turn(&mut self, _: &mut Turn<'_>) -> Step<&'static str> {
///         if self.0 == 0 {
///             return Step::End("lift-off");
///         }
///         self.0 -= 1;
///         Step::Yield
///     }
/// }
///
/// let runtime = Runtime::new()?;
/// let (_strand, mut join) = runtime.strand().start_body(Countdown(3))?;
/// assert_eq!(join.join()?, "lift-off");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Body: Send + 'static {
    /// What the strand ends with.
    type Output: Send + 'static;

    /// Takes one turn. Long work looks at [`Turn::expired`] and yields when it says so.
    fn turn(&mut self, turn: &mut Turn<'_>) -> Step<Self::Output>;
}

impl<F, R> Body for F
where
    F: FnMut(&mut Turn<'_>) -> Step<R> + Send + 'static,
    R: Send + 'static,
{
    type Output = R;

    fn turn(&mut self, turn: &mut Turn<'_>) -> Step<R> {
        self(turn)
    }
}
