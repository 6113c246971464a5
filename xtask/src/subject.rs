//! The crates whose protocols are broken on purpose, to see whether their models notice.

use std::{fmt, path::PathBuf};

use serde::Deserialize;

use crate::shell;

#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Subject {
    #[default]
    Kernel,
    Process,
    Job,
    Task,
}

impl Subject {
    pub(crate) const ALL: [Subject; 4] =
        [Subject::Kernel, Subject::Process, Subject::Job, Subject::Task];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Subject::Kernel => "kernel",
            Subject::Process => "process",
            Subject::Job => "job",
            Subject::Task => "task",
        }
    }

    pub(crate) fn package(self) -> String {
        format!("shiftwork-{self}")
    }

    /// Where it lies, relative to the workspace's root.
    pub(crate) fn folder(self) -> String {
        format!("crates/{self}")
    }

    /// Where it lies.
    pub(crate) fn home(self) -> PathBuf {
        shell::root().join(self.folder())
    }

    /// Itself, and those of our crates that it stands on.
    pub(crate) fn needs(self) -> &'static [Subject] {
        match self {
            Subject::Kernel => &[Subject::Kernel],
            Subject::Process => &[Subject::Kernel, Subject::Process],
            Subject::Job => &[Subject::Kernel, Subject::Job],
            Subject::Task => &[Subject::Kernel, Subject::Task],
        }
    }

    /// Files elsewhere that its tests read, relative to the workspace's root.
    pub(crate) fn reads(self) -> &'static [&'static str] {
        match self {
            Subject::Kernel | Subject::Process | Subject::Job => &[],
            Subject::Task => &["docs/abi.md", "docs/tasks.md"],
        }
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
