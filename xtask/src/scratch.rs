//! A copy of the kernel that may be broken on purpose, in a workspace of its own.
//!
//! The copy lives under the target directory and is kept between runs. A file is written only
//! when it changes, so that cargo rebuilds no more than it must.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};

use crate::shell;

/// Where the kernel lies, in the workspace and in the copy.
const CRATE: &str = "crates/kernel";

pub(crate) struct Scratch {
    dir: PathBuf,
}

impl Scratch {
    /// Makes the copy, or brings it up to date.
    pub(crate) fn new(name: &str) -> Result<Scratch> {
        let scratch = Scratch { dir: shell::target_dir().join(name) };
        let root = shell::root();
        let manifest = fs::read_to_string(root.join("Cargo.toml"))?;
        write(&scratch.dir.join("Cargo.toml"), &workspace_of_one(&manifest)?)?;
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

    /// The kernel's folder in the copy.
    pub(crate) fn kernel(&self) -> PathBuf {
        self.dir.join(CRATE)
    }

    /// Undoes every change.
    pub(crate) fn restore(&self) -> Result<()> {
        let from = shell::root().join(CRATE);
        let wanted: BTreeSet<PathBuf> = files(&from)?.into_iter().collect();
        for file in &wanted {
            let text = fs::read_to_string(from.join(file))
                .with_context(|| format!("could not read {}", from.join(file).display()))?;
            self.write(file, &text)?;
        }
        if self.kernel().is_dir() {
            for file in files(&self.kernel())? {
                if !wanted.contains(&file) {
                    fs::remove_file(self.kernel().join(file))?;
                }
            }
        }
        Ok(())
    }

    /// Sets the contents of a file, named relative to the kernel's folder.
    pub(crate) fn write(&self, file: &Path, text: &str) -> Result<()> {
        write(&self.kernel().join(file), text)
    }
}

/// The sources of the real kernel, relative to its folder, with their text.
pub(crate) fn kernel_sources() -> Result<Vec<(PathBuf, String)>> {
    let from = shell::root().join(CRATE);
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

/// The workspace's manifest with the kernel as its only member.
fn workspace_of_one(manifest: &str) -> Result<String> {
    let mut manifest: toml::Table = manifest.parse().context("the workspace's Cargo.toml")?;
    let workspace = manifest
        .get_mut("workspace")
        .and_then(toml::Value::as_table_mut)
        .context("Cargo.toml has no [workspace]")?;
    workspace.insert("members".into(), vec![CRATE].into());
    workspace.remove("default-members");
    // Our other crates are not in the copy, and the kernel stands on none of them.
    if let Some(dependencies) =
        workspace.get_mut("dependencies").and_then(toml::Value::as_table_mut)
    {
        dependencies.retain(|_, value| value.get("path").is_none());
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
    fn the_copy_is_a_workspace_of_one() {
        let manifest = r#"
            [workspace]
            members = ["crates/kernel", "crates/cli"]
            default-members = ["crates/cli"]
            [workspace.dependencies]
            kernel = { path = "crates/kernel" }
            loom = "0.7"
            [profile.models]
            inherits = "release"
        "#;
        let copy: toml::Table = workspace_of_one(manifest).unwrap().parse().unwrap();
        let workspace = copy["workspace"].as_table().unwrap();
        assert_eq!(workspace["members"].as_array().unwrap().len(), 1);
        assert!(!workspace.contains_key("default-members"));
        assert!(workspace["dependencies"].get("loom").is_some());
        assert!(workspace["dependencies"].get("kernel").is_none());
        assert!(copy["profile"].get("models").is_some());
    }
}
