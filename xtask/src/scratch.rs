//! A copy of a crate that may be broken on purpose, in a workspace of its own.
//!
//! The copy lives under the target directory. A file is written only when it changes, so that cargo
//! rebuilds no more than it must. What was built is removed at the end: gigabytes, of which the next
//! run would use little.

use std::{
    collections::BTreeSet,
    fs, io,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};

use crate::{binary::Checker, models, shell, subject::Subject};

/// The folder in the copy that has all builds.
const BUILDS: &str = "target";

pub(crate) struct Scratch {
    dir: PathBuf,
    subject: Subject,
    deps: Deps,
}

/// Where what the crate stands on is built for a model checker.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Deps {
    /// In the copy.
    Apart,
    /// Where the models have it: most is there already. It is for one copy at a time, as cargo locks it.
    WithModels,
}

impl Scratch {
    /// Makes the copy, or brings it up to date.
    pub(crate) fn new(purpose: &str, subject: Subject, deps: Deps) -> Result<Scratch> {
        let dir = shell::target_dir().join(format!("{purpose}-{subject}"));
        let scratch = Scratch { dir, subject, deps };
        let root = shell::root();
        let manifest = fs::read_to_string(root.join("Cargo.toml"))?;
        write(&scratch.dir.join("Cargo.toml"), &workspace_of(&manifest, subject)?)?;
        if let Ok(lock) = fs::read_to_string(root.join("Cargo.lock")) {
            write(&scratch.dir.join("Cargo.lock"), &lock)?;
        }
        scratch.restore()?;
        Ok(scratch)
    }

    /// The workspace's root.
    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    /// The crate it is about.
    pub(crate) fn subject(&self) -> Subject {
        self.subject
    }

    /// The crate's folder in the copy.
    pub(crate) fn home(&self) -> PathBuf {
        self.dir.join(self.subject.folder())
    }

    /// Where what is built for this purpose goes. It is removed with the others.
    pub(crate) fn builds(&self, purpose: &str) -> PathBuf {
        self.dir.join(BUILDS).join(purpose)
    }

    /// Where cargo builds for this checker.
    pub(crate) fn target_dir(&self, checker: Checker) -> PathBuf {
        match (self.deps, checker) {
            (Deps::WithModels, Checker::Loom | Checker::Shuttle) => {
                models::target_dir(&checker.to_string())
            }
            _ => self.builds(&checker.to_string()),
        }
    }

    /// Undoes every change.
    pub(crate) fn restore(&self) -> Result<()> {
        for subject in self.subject.needs() {
            mirror(&subject.home(), &self.dir.join(subject.folder()))?;
        }
        for file in self.subject.reads() {
            let text = fs::read_to_string(shell::root().join(file))
                .with_context(|| format!("could not read {file}"))?;
            write(&self.dir.join(file), &text)?;
        }
        Ok(())
    }

    /// Sets the contents of a file, named relative to the crate's folder.
    pub(crate) fn write(&self, file: &Path, text: &str) -> Result<()> {
        write(&self.home().join(file), text)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // The copy and the logs stay, for whoever wants to see what was tested.
        if let Err(error) = fs::remove_dir_all(self.dir.join(BUILDS))
            && error.kind() != io::ErrorKind::NotFound
        {
            eprintln!("could not remove {}: {error}", self.dir.join(BUILDS).display());
        }
    }
}

/// Makes one folder like another.
fn mirror(from: &Path, to: &Path) -> Result<()> {
    let wanted: BTreeSet<PathBuf> = files(from)?.into_iter().collect();
    for file in &wanted {
        let text = fs::read_to_string(from.join(file))
            .with_context(|| format!("could not read {}", from.join(file).display()))?;
        write(&to.join(file), &text)?;
    }
    for file in files(to)? {
        if !wanted.contains(&file) {
            fs::remove_file(to.join(file))?;
        }
    }
    Ok(())
}

/// The sources of the real crate, relative to its folder, with their text.
pub(crate) fn sources(subject: Subject) -> Result<Vec<(PathBuf, String)>> {
    let from = subject.home();
    let mut sources = Vec::new();
    for file in files(&from.join("src"))? {
        if file.extension().is_some_and(|ending| ending == "rs") {
            let file = Path::new("src").join(file);
            let text = fs::read_to_string(from.join(&file))?;
            sources.push((file, text));
        }
    }
    if sources.is_empty() {
        bail!("no sources in {}", from.display());
    }
    Ok(sources)
}

/// All files under a folder, relative to it, in a fixed order.
pub(crate) fn files(dir: &Path) -> Result<Vec<PathBuf>> {
    fn walk(dir: &Path, prefix: &Path, found: &mut Vec<PathBuf>) -> Result<()> {
        let entries = fs::read_dir(dir).with_context(|| format!("no folder {}", dir.display()))?;
        for entry in entries {
            let entry = entry?;
            let name = prefix.join(entry.file_name());
            if !entry.file_type()?.is_dir() {
                found.push(name);
            } else if entry.file_name() != "target" {
                walk(&entry.path(), &name, found)?;
            }
        }
        Ok(())
    }
    let mut found = Vec::new();
    walk(dir, Path::new(""), &mut found)?;
    found.sort();
    Ok(found)
}

/// The workspace's manifest with a crate and those it needs as its only members.
fn workspace_of(manifest: &str, subject: Subject) -> Result<String> {
    let mut manifest: toml::Table = manifest.parse().context("the workspace's Cargo.toml")?;
    let workspace = manifest
        .get_mut("workspace")
        .and_then(toml::Value::as_table_mut)
        .context("Cargo.toml has no [workspace]")?;
    let members: Vec<String> = subject.needs().iter().map(|needed| needed.folder()).collect();
    workspace.insert("members".into(), members.clone().into());
    workspace.remove("default-members");
    // Our other crates are not in the copy, and this one stands on none of them.
    if let Some(dependencies) =
        workspace.get_mut("dependencies").and_then(toml::Value::as_table_mut)
    {
        dependencies.retain(|_, value| {
            let ours = value.get("path").and_then(toml::Value::as_str);
            ours.is_none_or(|path| members.iter().any(|member| member == path))
        });
    }
    // Nobody looks at these binaries with a debugger.
    if let Some(models) = manifest
        .get_mut("profile")
        .and_then(|profiles| profiles.get_mut("models"))
        .and_then(toml::Value::as_table_mut)
    {
        models.insert("debug".into(), false.into());
    }
    Ok(toml::to_string(&manifest)?)
}

fn write(file: &Path, text: &str) -> Result<()> {
    if fs::read_to_string(file).is_ok_and(|old| old == text) {
        return Ok(());
    }
    if let Some(dir) = file.parent() {
        fs::create_dir_all(dir)?;
    }
    fs::write(file, text).with_context(|| format!("could not write {}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_copy_has_what_its_crate_needs_and_no_more() {
        let manifest = r#"
            [workspace]
            members = ["crates/kernel", "crates/process", "crates/cli"]
            default-members = ["crates/cli"]
            [workspace.dependencies]
            kernel = { path = "crates/kernel" }
            process = { path = "crates/process" }
            loom = "0.7"
            [profile.models]
            inherits = "release"
        "#;
        for (subject, members) in [(Subject::Kernel, 1), (Subject::Process, 2)] {
            let copy: toml::Table = workspace_of(manifest, subject).unwrap().parse().unwrap();
            let workspace = copy["workspace"].as_table().unwrap();
            assert_eq!(workspace["members"].as_array().unwrap().len(), members);
            assert!(!workspace.contains_key("default-members"));
            assert!(workspace["dependencies"].get("loom").is_some());
            assert!(workspace["dependencies"].get("kernel").is_some());
            assert_eq!(workspace["dependencies"].get("process").is_some(), members > 1);
            assert_eq!(copy["profile"]["models"]["debug"].as_bool(), Some(false));
        }
    }

    #[test]
    fn the_builds_are_gone_when_the_copy_is_done_and_the_rest_is_not() {
        let dir = shell::target_dir().join("scratch-test");
        let scratch = Scratch { dir: dir.clone(), subject: Subject::Kernel, deps: Deps::Apart };
        write(&scratch.builds("loom").join("debug/binary"), "large").unwrap();
        write(&dir.join("run.log"), "small").unwrap();
        drop(scratch);
        assert!(!dir.join(BUILDS).exists());
        assert!(dir.join("run.log").exists());
        fs::remove_dir_all(dir).unwrap();
    }
}
