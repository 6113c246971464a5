//! Where are the measuring programs, and who is in them?

use std::{
    ffi::OsString,
    fmt::Display,
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use anyhow::{Context, Result, bail};

use super::{
    areas::Area,
    plan::{Allocator, Allocators},
};
use crate::shell;

/// Contestants who are no peers.
pub(super) const OURS: &str = "ours";
pub(super) const OURS_SYSTEM: &str = "ours-system";
pub(super) const FLOOR: &str = "floor";

/// Who has which allocator in a row.
#[derive(Debug, Clone, Copy)]
pub(super) enum Setting {
    /// Everyone has this one.
    Apart(Allocator),
    /// Everyone is run under both, and named for it.
    Together,
}

impl Setting {
    /// The rows of a plan.
    pub(super) fn all(allocators: Allocators) -> Vec<Setting> {
        match allocators {
            Allocators::Apart(list) => list.iter().copied().map(Setting::Apart).collect(),
            Allocators::Together => vec![Setting::Together],
        }
    }

    pub(super) fn of_ours(self) -> Allocator {
        match self {
            Setting::Apart(allocator) => allocator,
            Setting::Together => Allocator::Mimalloc,
        }
    }
}

/// Built programs, one pair per allocator, and those in other languages.
pub(super) struct Programs {
    area: &'static Area,
    dir: PathBuf,
    with_ours: bool,
    with_peers: bool,
    foreign: Vec<PathBuf>,
    /// What all of them are told.
    pub(super) environment: Vec<(&'static str, OsString)>,
    /// Versions of what is not in `Cargo.lock`.
    pub(super) versions: Vec<String>,
    /// What the reader of the results should know about the build.
    pub(super) notes: Vec<String>,
}

impl Programs {
    pub(super) fn build(area: &'static Area, with_peers: bool) -> Result<Programs> {
        let dir = shell::target_dir().join("bench");
        let with_peers = with_peers && !area.peers.is_empty();
        let with_ours = has_source(area.ours);
        if !with_ours && !with_peers {
            bail!("there is no {} yet, and no peers are wanted", area.ours);
        }
        let mut programs = Programs {
            area,
            dir,
            with_ours,
            with_peers,
            foreign: Vec::new(),
            environment: Vec::new(),
            versions: Vec::new(),
            notes: Vec::new(),
        };
        if !with_ours {
            programs.notes.push(format!("there is no {} yet: the peers alone", area.ours));
        }
        programs.build_in_rust()?;
        if let Some(prepare) = area.prepare {
            let prepared = prepare(with_peers)?;
            programs.environment = prepared.environment;
            programs.versions.extend(prepared.versions);
            programs.notes.extend(prepared.notes);
        }
        if with_peers {
            programs.build_foreign();
        }
        Ok(programs)
    }

    /// Everything in Rust, with the peers that may not build if they do.
    fn build_in_rust(&mut self) -> Result<()> {
        let mut extra = self.with_peers || (self.with_ours && self.area.extra.also_ours);
        for allocator in [Allocator::System, Allocator::Mimalloc] {
            if extra && let Err(error) = self.build_with(allocator, true) {
                extra = false;
                let feature = self.area.extra.feature;
                let note = format!("{feature} does not build here, so it is left out: {error}");
                self.notes.push(note);
            }
            if !extra {
                self.build_with(allocator, false)?;
            }
        }
        Ok(())
    }

    fn build_with(&self, allocator: Allocator, extra: bool) -> Result<()> {
        let mut features = Vec::new();
        let mut cargo = shell::cargo(["build", "--release", "--quiet", "--package", "benches"]);
        if allocator == Allocator::Mimalloc {
            features.push("benches/mimalloc".to_owned());
        }
        if self.with_ours {
            cargo.args(["--bin", self.area.ours]);
        }
        if self.with_peers {
            cargo.args(["--package", "benches-compare", "--bin", self.area.peers]);
        }
        if extra {
            let feature = self.area.extra.feature;
            if self.with_peers {
                features.push(format!("benches-compare/{feature}"));
            }
            if self.area.extra.also_ours {
                features.push(format!("benches/{feature}"));
            }
            if self.area.extra.ignore_rust_version {
                cargo.arg("--ignore-rust-version");
            }
        }
        cargo.arg("--features").arg(features.join(","));
        shell::run(cargo)?;
        // The next allocator's build overwrites these names.
        fs::create_dir_all(self.dir.join(allocator.to_string()))?;
        let ours = self.with_ours.then_some(self.area.ours);
        let peers = self.with_peers.then_some(self.area.peers);
        for name in [ours, peers].into_iter().flatten() {
            let built = shell::target_dir().join("release").join(name);
            let kept = self.path(name, allocator);
            fs::copy(&built, &kept)
                .with_context(|| format!("could not keep {}", built.display()))?;
        }
        Ok(())
    }

    /// A peer that can not be had is named, and the others are measured.
    fn build_foreign(&mut self) {
        for language in self.area.foreign {
            let built = language.build(&self.dir);
            if let Some((program, version)) =
                or_note(built, format!("{language:?}"), &mut self.notes)
            {
                self.foreign.push(program);
                self.versions.push(version);
            }
        }
    }

    /// Who in a program can run a workload.
    fn list(&self, program: &Path, workload: &str) -> Result<Vec<String>> {
        let mut command = Command::new(program);
        let output = command.args([workload, "--list"]).envs(self.environment.iter().cloned());
        let output = output.output()?;
        if !output.status.success() {
            bail!("{} could not list the peers of {workload}", program.display());
        }
        Ok(String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect())
    }

    fn path(&self, name: &str, allocator: Allocator) -> PathBuf {
        self.dir.join(allocator.to_string()).join(name)
    }

    /// After which a run is given up.
    pub(super) fn limit(&self) -> Duration {
        self.area.limit
    }

    /// Everyone who can run `workload`: ours first, the floor among the others.
    pub(super) fn contestants(&self, workload: &str, setting: Setting) -> Result<Vec<Contestant>> {
        let mut all = Vec::new();
        if self.with_ours {
            let mut ours = |name: &str, allocator| -> Result<()> {
                let program = self.path(self.area.ours, allocator);
                // It does not list itself where it was built without what the workload needs.
                if !self.list(&program, workload)?.is_empty() {
                    all.push(Contestant { peer: None, name: name.to_owned(), program });
                }
                Ok(())
            };
            ours(OURS, setting.of_ours())?;
            if matches!(setting, Setting::Together) {
                ours(OURS_SYSTEM, Allocator::System)?;
            }
        }
        if !self.with_peers {
            return Ok(all);
        }
        let mut add = |program: &Path, ending: &str, with_floor: bool| -> Result<()> {
            for peer in self.list(program, workload)? {
                let is_floor = peer == FLOOR;
                if is_floor && !with_floor {
                    continue;
                }
                let name = if is_floor { peer.clone() } else { format!("{peer}{ending}") };
                all.push(Contestant { peer: Some(peer), name, program: program.to_owned() });
            }
            Ok(())
        };
        match setting {
            Setting::Apart(allocator) => add(&self.path(self.area.peers, allocator), "", true)?,
            // The least there can be is the least under the better of the two.
            Setting::Together => {
                add(&self.path(self.area.peers, Allocator::System), "", false)?;
                add(&self.path(self.area.peers, Allocator::Mimalloc), "-mimalloc", true)?;
            }
        }
        for program in &self.foreign {
            add(program, "", false)?;
        }
        Ok(all)
    }
}

/// What could be had; or else a note that it could not, and why.
pub(super) fn or_note<T>(had: Result<T>, what: impl Display, notes: &mut Vec<String>) -> Option<T> {
    had.map_err(|error| notes.push(format!("without {what}: {error:#}"))).ok()
}

/// Is there such a program in the crate `benches`?
fn has_source(name: &str) -> bool {
    let dir = shell::root().join("benches/src/bin").join(name);
    dir.join("main.rs").is_file() || dir.with_extension("rs").is_file()
}

/// One who is measured.
#[derive(Debug, Clone)]
pub(super) struct Contestant {
    /// What its program calls it. None: ours.
    peer: Option<String>,
    /// What the tables call it.
    name: String,
    program: PathBuf,
}

impl Contestant {
    /// Without a program.
    #[cfg(test)]
    pub(super) fn named(name: &str) -> Contestant {
        let peer = (![OURS, OURS_SYSTEM].contains(&name)).then(|| name.to_owned());
        Contestant { peer, name: name.to_owned(), program: PathBuf::new() }
    }

    pub(super) fn is_ours(&self) -> bool {
        self.peer.is_none()
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn program(&self) -> &Path {
        &self.program
    }

    /// The arguments that make its program run `workload`.
    pub(super) fn arguments(&self, workload: &str, workers: usize) -> Vec<String> {
        let mut words = vec![workload.to_owned(), "--workers".to_owned(), workers.to_string()];
        if let Some(peer) = &self.peer {
            words.extend(["--peer".to_owned(), peer.clone()]);
        }
        words
    }
}

#[cfg(test)]
mod tests {
    use anyhow::anyhow;

    use super::*;

    #[test]
    fn what_could_not_be_had_is_named_with_the_reason() {
        let mut notes = Vec::new();
        assert_eq!(or_note(Ok(1), "Go", &mut notes), Some(1));
        let error = anyhow!("npm is not there").context("please install anvil");
        assert_eq!(or_note(Err::<(), _>(error), "anvil", &mut notes), None);
        assert_eq!(notes, ["without anvil: please install anvil: npm is not there"]);
    }
}
