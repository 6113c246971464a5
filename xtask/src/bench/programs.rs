//! Where are the measuring programs, and who is in them?

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, bail};

use super::plan::Allocator;
use crate::shell;

const OURS: &str = "bench-kernel";
const PEERS: &str = "bench-kernel-peers";

/// Built programs, one pair per allocator.
pub(super) struct Programs {
    dir: PathBuf,
    with_peers: bool,
    /// What the reader of the results should know about the build.
    pub(super) notes: Vec<String>,
}

impl Programs {
    pub(super) fn build(with_peers: bool) -> Result<Programs> {
        let dir = shell::target_dir().join("bench");
        let mut programs = Programs { dir, with_peers, notes: Vec::new() };
        let mut forte = with_peers;
        for allocator in [Allocator::System, Allocator::Mimalloc] {
            if forte && let Err(error) = programs.build_with(allocator, true) {
                forte = false;
                programs
                    .notes
                    .push(format!("forte does not build here, so it is left out: {error}"));
            }
            if !forte {
                programs.build_with(allocator, false)?;
            }
        }
        Ok(programs)
    }

    fn build_with(&self, allocator: Allocator, forte: bool) -> Result<()> {
        let mut features = Vec::new();
        if allocator == Allocator::Mimalloc {
            features.push("benches/mimalloc");
        }
        if forte {
            features.push("benches-compare/forte");
        }
        let mut cargo = shell::cargo(["build", "--release", "--quiet", "--package", "benches"]);
        cargo.args(["--bin", OURS]);
        if self.with_peers {
            cargo.args(["--package", "benches-compare", "--bin", PEERS]);
        }
        cargo.arg("--features").arg(features.join(","));
        if forte {
            // It states a newer compiler than it needs.
            cargo.arg("--ignore-rust-version");
        }
        shell::run(cargo)?;
        // The next allocator's build overwrites these names.
        fs::create_dir_all(self.dir.join(allocator.to_string()))?;
        for name in [OURS, PEERS].into_iter().take(if self.with_peers { 2 } else { 1 }) {
            let built = shell::target_dir().join("release").join(name);
            let kept = self.path(name, allocator);
            fs::copy(&built, &kept)
                .with_context(|| format!("could not keep {}", built.display()))?;
        }
        Ok(())
    }

    fn path(&self, name: &str, allocator: Allocator) -> PathBuf {
        self.dir.join(allocator.to_string()).join(name)
    }

    /// Everyone who can run `workload`: ours first, the floor among the others.
    pub(super) fn contestants(
        &self,
        workload: &str,
        allocator: Allocator,
    ) -> Result<Vec<Contestant>> {
        let ours = Contestant { name: None, program: self.path(OURS, allocator) };
        let mut contestants = vec![ours];
        if self.with_peers {
            let program = self.path(PEERS, allocator);
            for name in list(&program, workload)? {
                contestants.push(Contestant { name: Some(name), program: program.clone() });
            }
        }
        Ok(contestants)
    }
}

/// One who is measured.
#[derive(Debug, Clone)]
pub(super) struct Contestant {
    /// None: ours.
    name: Option<String>,
    program: PathBuf,
}

impl Contestant {
    pub(super) fn is_ours(&self) -> bool {
        self.name.is_none()
    }

    pub(super) fn name(&self) -> &str {
        self.name.as_deref().unwrap_or("ours")
    }

    pub(super) fn program(&self) -> &Path {
        &self.program
    }

    /// The arguments that make its program run `workload`.
    pub(super) fn arguments(&self, workload: &str, workers: usize) -> Vec<String> {
        let mut words = vec![workload.to_owned(), "--workers".to_owned(), workers.to_string()];
        if let Some(name) = &self.name {
            words.extend(["--peer".to_owned(), name.clone()]);
        }
        words
    }
}

fn list(program: &Path, workload: &str) -> Result<Vec<String>> {
    let output = Command::new(program).args([workload, "--list"]).output()?;
    if !output.status.success() {
        bail!("{} could not list the peers of {workload}", program.display());
    }
    Ok(String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect())
}
