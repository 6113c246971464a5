//! What an option is: one entry of the list, from which the command line, the environment, the file
//! and the help are made.

use super::chosen::Chosen;

/// One thing that can be chosen.
pub(crate) struct Setting {
    /// After `--`; with dots also the key in the file.
    pub(crate) name: &'static str,
    pub(crate) group: &'static str,
    pub(crate) shape: Shape,
    pub(crate) help: &'static str,
    /// Takes a value, as somebody wrote it.
    pub(crate) set: fn(&mut Chosen, &str) -> Result<(), String>,
    /// The value, as somebody would write it. Empty: none.
    pub(crate) show: fn(&Chosen) -> String,
}

/// What its value looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// On when it is there. In the environment and the file, and behind `=`: true or false.
    Flag,
    /// One value, called this in the help.
    Value(&'static str),
    /// Several, with commas between them or given again.
    List(&'static str),
    /// A value that the file may have as a number without quotes.
    Number(&'static str),
}

impl Setting {
    /// The environment variable that is the same.
    pub(crate) fn variable(&self) -> String {
        let name = self.name.to_ascii_uppercase().replace(['-', '.'], "_");
        format!("{PREFIX}{name}")
    }
}

/// What the names of all environment variables begin with.
pub(crate) const PREFIX: &str = "SHIFTWORK_NODE_";
