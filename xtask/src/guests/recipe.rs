//! Which programs are there, what is each made from, and is it made already?

use std::{
    fmt, fs,
    hash::{DefaultHasher, Hash, Hasher},
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};

use super::toolchain;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Language {
    AssemblyScript,
    C,
    Rust,
}

impl Language {
    pub(super) const ALL: [Language; 3] = [Language::AssemblyScript, Language::C, Language::Rust];

    /// Its folder, in `guests` and in the target directory.
    pub(super) fn folder(self) -> &'static str {
        match self {
            Language::AssemblyScript => "assemblyscript",
            Language::C => "c",
            Language::Rust => "rust",
        }
    }

    /// The bindings, which are no program.
    fn bindings(self) -> &'static str {
        match self {
            Language::AssemblyScript => "shiftwork.ts",
            Language::C => "shiftwork.h",
            Language::Rust => "src/lib.rs",
        }
    }

    /// Where programs are, and how their files end.
    fn programs(self) -> (&'static str, &'static str) {
        match self {
            Language::AssemblyScript => ("", "ts"),
            Language::C => ("", "c"),
            Language::Rust => ("examples", "rs"),
        }
    }

    /// What its compiler is told: the same in the guide and in the READMEs, see the tests below.
    pub(super) fn flags(self) -> &'static [&'static str] {
        match self {
            Language::AssemblyScript => &[
                "-O",
                "--debug",
                "--exportTable",
                "--runtime",
                "stub",
                "--use",
                "abort=shiftwork/aborted",
            ],
            Language::C => &[
                "--target=wasm32-freestanding",
                "-O2",
                "-g0",
                "-nostdlib",
                "-Wl,--no-entry",
                "-Wl,--export-table",
                "-Wl,-z,stack-size=16384",
            ],
            // The rest is in the package's .cargo/config.toml.
            Language::Rust => &["--release", "--target", "wasm32-unknown-unknown"],
        }
    }
}

/// One program and how it is made.
#[derive(Debug)]
pub(super) struct Recipe {
    pub(super) language: Language,
    pub(super) name: String,
    /// The folder in which the compiler runs. For Rust, the package.
    pub(super) home: PathBuf,
    /// What it is made from, below `home`. The first is the program itself.
    pub(super) sources: Vec<PathBuf>,
    /// What is made.
    pub(super) wasm: PathBuf,
}

/// Every program in `guests`.
pub(super) fn all(guests: &Path, out: &Path) -> Result<Vec<Recipe>> {
    let mut recipes = Vec::new();
    for language in Language::ALL {
        let home = guests.join(language.folder());
        let (folder, ending) = language.programs();
        let bindings = bindings(language, &home)?;
        let mut programs = files(&home.join(folder), ending)?;
        programs.retain(|program| !bindings.contains(program));
        if programs.is_empty() {
            bail!("no programs in {}", home.join(folder).display());
        }
        for program in programs {
            let stem = program.file_stem().context("a program without a name")?;
            let name = stem.to_string_lossy().into_owned();
            let wasm = out.join(language.folder()).join(format!("{name}.wasm"));
            let mut sources = vec![program];
            sources.extend(bindings.iter().cloned());
            recipes.push(Recipe { language, name, home: home.clone(), sources, wasm });
        }
    }
    Ok(recipes)
}

/// The files that programs of this language are compiled with.
pub(super) fn bindings(language: Language, home: &Path) -> Result<Vec<PathBuf>> {
    if language != Language::Rust {
        return Ok(vec![home.join(language.bindings())]);
    }
    let mut sources = files(&home.join("src"), "rs")?;
    sources.extend(files(&home.join("src/host"), "rs")?);
    sources.extend([home.join("Cargo.toml"), home.join(".cargo/config.toml")]);
    Ok(sources)
}

/// The files with this ending directly in a folder, in a fixed order.
fn files(dir: &Path, ending: &str) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(dir).with_context(|| format!("no folder {}", dir.display()))?;
    let mut found = Vec::new();
    for entry in entries {
        let path = entry?.path();
        if path.extension().is_some_and(|found| found == ending) {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

impl Recipe {
    /// Whether it was made from these very sources, with these flags and this compiler; or skipped
    /// for a reason that still holds.
    pub(super) fn is_done(&self) -> bool {
        let ended = match self.skipped() {
            Some(why) => toolchain::missing(self.language).is_some_and(|missing| missing == why),
            None => self.wasm.is_file(),
        };
        let stamp = fs::read_to_string(self.stamp_file());
        ended && stamp.is_ok_and(|stamp| self.stamp().is_ok_and(|now| now == stamp))
    }

    /// The program itself, as one names it in its folder.
    pub(super) fn program(&self) -> &Path {
        self.sources[0].strip_prefix(&self.home).unwrap_or(&self.sources[0])
    }

    /// Why it was not made, if it was not.
    pub(super) fn skipped(&self) -> Option<String> {
        fs::read_to_string(self.wasm.with_extension("skipped")).ok()
    }

    /// Notes that it was made.
    pub(super) fn done(&self) -> Result<()> {
        forget(&self.wasm.with_extension("skipped"))?;
        fs::write(self.stamp_file(), self.stamp()?)?;
        Ok(())
    }

    /// Notes that it can not be made here.
    pub(super) fn skip(&self, why: &str) -> Result<()> {
        forget(&self.wasm)?;
        fs::write(self.wasm.with_extension("skipped"), why)?;
        fs::write(self.stamp_file(), self.stamp()?)?;
        Ok(())
    }

    fn stamp_file(&self) -> PathBuf {
        self.wasm.with_extension("stamp")
    }

    /// A number for all that it is made from.
    fn stamp(&self) -> Result<String> {
        let mut hasher = DefaultHasher::new();
        self.language.flags().hash(&mut hasher);
        toolchain::version(self.language).hash(&mut hasher);
        for source in &self.sources {
            let text = fs::read(source).with_context(|| format!("no {}", source.display()))?;
            text.hash(&mut hasher);
        }
        Ok(format!("{:016x}\n", hasher.finish()))
    }
}

fn forget(file: &Path) -> Result<()> {
    match fs::remove_file(file) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error.into()),
        _ => Ok(()),
    }
}

impl fmt::Display for Recipe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.language.folder(), self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shell;

    /// What a reader is told to type is what the tests were compiled with.
    #[test]
    fn the_guide_and_the_readmes_show_the_flags_that_are_used() {
        for language in Language::ALL {
            let flags = language.flags().join(" ");
            let readme = format!("guests/{}/README.md", language.folder());
            for page in ["docs/tasks.md", &readme] {
                let text = fs::read_to_string(shell::root().join(page)).unwrap();
                // Long commands are broken over lines.
                let text = text.replace("\\\n", " ");
                let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
                assert!(text.contains(&flags), "{page} does not have `{flags}`");
            }
        }
    }

    #[test]
    fn a_changed_source_is_compiled_anew_and_nothing_else_is() {
        let dir = std::env::temp_dir().join(format!("xtask-recipe-{}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        let source = dir.join("a.c");
        fs::write(&source, "one").unwrap();
        let recipe = Recipe {
            language: Language::C,
            name: "a".into(),
            home: dir.clone(),
            sources: vec![source.clone()],
            wasm: dir.join("a.wasm"),
        };
        assert!(!recipe.is_done(), "there is no module yet");
        fs::write(&recipe.wasm, "wasm").unwrap();
        assert!(!recipe.is_done(), "nobody knows what the module was made from");
        recipe.done().unwrap();
        assert!(recipe.is_done());
        fs::write(&source, "two").unwrap();
        assert!(!recipe.is_done(), "the source has changed");
        recipe.done().unwrap();
        assert!(recipe.is_done());
        recipe.skip("a reason that does not hold").unwrap();
        assert!(!recipe.is_done() && !recipe.wasm.exists());
        fs::remove_dir_all(dir).unwrap();
    }
}
