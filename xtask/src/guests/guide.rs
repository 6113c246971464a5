//! The programs in the guide: what a reader would copy is compiled as it stands there.
//!
//! A block of `docs/tasks.md` with `<!-- guest: LANGUAGE/FILE -->` above it becomes that file below
//! `target/guests/guide`, with the bindings beside it, as the guide says.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};

use super::recipe::{self, Language, Recipe};
use crate::shell;

const MARK: &str = "<!-- guest: ";

/// Writes the guide's programs to files, and says how they are made.
pub(super) fn recipes(out: &Path) -> Result<Vec<Recipe>> {
    let guide = shell::root().join("docs/tasks.md");
    let text = fs::read_to_string(&guide).with_context(|| format!("no {}", guide.display()))?;
    let blocks = blocks(&text)?;
    let mut recipes = Vec::new();
    for language in Language::ALL {
        let home = out.join("guide").join(language.folder());
        let mut files = Vec::new();
        for (name, text) in &blocks {
            if let Ok(file) = Path::new(name).strip_prefix(language.folder()) {
                let file = home.join(file);
                write(&file, &in_place(&file, text))?;
                files.push(file);
            }
        }
        if files.is_empty() {
            bail!("{} has no program in {}", guide.display(), language.folder());
        }
        let ours = shell::root().join("guests").join(language.folder());
        let bindings = recipe::bindings(language, &ours)?;
        // Of a package all files make one program; elsewhere each is one, with the bindings beside it.
        let programs = if language == Language::Rust {
            vec![(package_name(&home)?, files)]
        } else {
            for file in &bindings {
                let beside = home.join(file.file_name().unwrap_or_default());
                write(&beside, &fs::read_to_string(file)?)?;
            }
            let name = |file: &Path| file.file_stem().unwrap_or_default().to_string_lossy().into();
            files.into_iter().map(|file| (name(&file), vec![file])).collect()
        };
        for (name, mut sources) in programs {
            sources.extend(bindings.iter().cloned());
            let wasm = out.join(language.folder()).join(format!("{name}.wasm"));
            recipes.push(Recipe { language, name, home: home.clone(), sources, wasm });
        }
    }
    Ok(recipes)
}

/// The marked blocks: file and text.
fn blocks(text: &str) -> Result<Vec<(String, String)>> {
    let mut found = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let Some(name) = line.strip_prefix(MARK) else { continue };
        let name = name.trim_end_matches("-->").trim();
        if !lines.next().is_some_and(|fence| fence.starts_with("```")) {
            bail!("no block follows the mark of {name}");
        }
        let mut block = String::new();
        loop {
            match lines.next() {
                Some("```") => break,
                Some(line) => block.extend([line, "\n"]),
                None => bail!("the block of {name} has no end"),
            }
        }
        found.push((name.to_owned(), block));
    }
    Ok(found)
}

/// A manifest names our crate by where the reader has put it; here that is elsewhere. And the package
/// is nobody's member, wherever the target directory lies.
fn in_place(file: &Path, text: &str) -> String {
    if !file.ends_with("Cargo.toml") {
        return text.to_owned();
    }
    let ours = shell::root().join("guests/rust");
    format!("{}\n[workspace]\n", text.replace("../shiftwork/guests/rust", &ours.to_string_lossy()))
}

fn package_name(home: &Path) -> Result<String> {
    let manifest: toml::Table = fs::read_to_string(home.join("Cargo.toml"))?.parse()?;
    match manifest.get("package").and_then(|package| package.get("name")) {
        Some(toml::Value::String(name)) => Ok(name.clone()),
        _ => bail!("the guide's Cargo.toml names no package"),
    }
}

/// Writes only what is new, so that nothing looks newer than it is.
fn write(file: &PathBuf, text: &str) -> Result<()> {
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
    fn marked_blocks_are_found_and_others_are_not() {
        let text = "<!-- guest: c/a.c -->\n```c\nint a;\n```\n```c\nint b;\n```\n";
        assert_eq!(blocks(text).unwrap(), [("c/a.c".to_owned(), "int a;\n".to_owned())]);
    }

    #[test]
    fn a_mark_without_its_block_is_an_error() {
        assert!(blocks("<!-- guest: c/a.c -->\nwords\n").is_err());
        assert!(blocks("<!-- guest: c/a.c -->\n```c\nint a;\n").is_err());
    }
}
