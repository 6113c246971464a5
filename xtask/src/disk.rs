//! Is there room on the disk for what the tests build?

use std::{fs, path::Path};

use anyhow::{Context, Result, bail};

use crate::shell;

const GIB: u64 = 1 << 30;

/// What `cargo xtask test` leaves in an empty target directory, and some room for what it removes again.
const NEEDED: u64 = 16 * GIB;

/// An error if the disk would be full before the tests are through. What is in the target directory
/// already counts: it is built over.
pub(crate) fn has_room_for_tests() -> Result<()> {
    let dir = shell::target_dir();
    fs::create_dir_all(&dir).with_context(|| format!("could not make {}", dir.display()))?;
    let disk = rustix::fs::statvfs(&dir)
        .with_context(|| format!("could not ask how much room {} has", dir.display()))?;
    suffices(&dir, disk.f_bavail * disk.f_frsize, size_of(&dir))
}

fn suffices(dir: &Path, free: u64, there: u64) -> Result<()> {
    if free + there >= NEEDED {
        return Ok(());
    }
    let gib = |bytes: u64| bytes as f64 / GIB as f64;
    bail!(
        "the tests need {:.0} GiB in {}: {:.1} are used there already, and {:.1} are free; make room, \
         or set CARGO_TARGET_DIR to a folder on another disk",
        gib(NEEDED),
        dir.display(),
        gib(there),
        gib(free)
    )
}

/// Bytes of all files under a folder, about: whatever can not be read counts for nothing.
fn size_of(dir: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(dir) else { return 0 };
    let size = |entry: fs::DirEntry| match entry.metadata() {
        Ok(metadata) if metadata.is_dir() => size_of(&entry.path()),
        Ok(metadata) => metadata.len(),
        Err(_) => 0,
    };
    entries.flatten().map(size).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_little_room_is_told_with_what_is_needed_and_what_to_do() {
        let dir = Path::new("/somewhere/target");
        let error = suffices(dir, GIB, GIB / 2).unwrap_err().to_string();
        let said = "the tests need 16 GiB in /somewhere/target: 0.5 are used there already, and 1.0 are free";
        assert!(error.starts_with(said), "{error}");
        assert!(error.contains("CARGO_TARGET_DIR"), "{error}");
    }

    #[test]
    fn what_is_built_already_counts() {
        let dir = Path::new("target");
        assert!(suffices(dir, NEEDED, 0).is_ok());
        assert!(suffices(dir, GIB, NEEDED - GIB).is_ok());
        assert!(suffices(dir, GIB, NEEDED - GIB - 1).is_err());
    }

    #[test]
    fn a_folder_is_as_large_as_all_files_in_it() {
        let dir = shell::target_dir().join("disk-test");
        fs::create_dir_all(dir.join("deep/deeper")).unwrap();
        fs::write(dir.join("a"), [0; 100]).unwrap();
        fs::write(dir.join("deep/deeper/b"), [0; 23]).unwrap();
        assert_eq!(size_of(&dir), 123);
        assert_eq!(size_of(&dir.join("missing")), 0);
        fs::remove_dir_all(dir).unwrap();
    }
}
