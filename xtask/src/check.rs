//! `cargo xtask check`: the quick part, for every few minutes of work.

use std::time::Duration;

use anyhow::Result;

use crate::{
    shell::{self, cargo},
    steps::Steps,
};

const LIMIT: Duration = Duration::from_secs(15 * 60);

pub(crate) fn run() -> Result<()> {
    let mut steps = Steps::new()?;
    all(&mut steps)?;
    steps.finish()
}

/// The steps of `check`, which are also the first of `test`.
pub(crate) fn all(steps: &mut Steps) -> Result<()> {
    steps.run("fmt", LIMIT, cargo(["fmt", "--all", "--check"]));
    let clippy = ["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"];
    steps.run("clippy", LIMIT, cargo(clippy));
    // The tests run them. The first time, this fetches their compilers.
    steps.run("guests", LIMIT, shell::ourselves(["guests"])?);
    // Tidiness (line 1, length of files, links) is among these, in xtask/tests/tidy.rs.
    let tests =
        ["test", "--workspace", "--lib", "--bins", "--tests", "--examples", "--no-fail-fast"];
    steps.run("tests", LIMIT, cargo(tests));
    steps.run("doc tests", LIMIT, cargo(["test", "--workspace", "--doc"]));
    let mut public = cargo(["doc", "--workspace", "--no-deps"]);
    public.env("RUSTDOCFLAGS", "-D warnings");
    steps.run("docs", LIMIT, public);
    // Once more for the reader of the source: links from and to private items hold as well.
    let mut private = cargo(["doc", "--workspace", "--no-deps", "--document-private-items"]);
    private.env("RUSTDOCFLAGS", "-D warnings -A rustdoc::private_intra_doc_links");
    steps.run("docs, private", LIMIT, private);
    Ok(())
}
