//! Where the module comes from: a file with WebAssembly, or with its text format.

use std::{fs::File, io::Read, path::Path};

use anyhow::{Context, Result, bail, ensure};
use shiftwork::task::Limits;

/// What every module begins with.
const MAGIC: &[u8] = b"\0asm";

/// The module in a file, binary.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>> {
    let name = path.display();
    let file = File::open(path).with_context(|| format!("could not open {name}"))?;
    let is_directory = file.metadata().is_ok_and(|metadata| metadata.is_dir());
    ensure!(!is_directory, "{name} is a directory: name the .wasm file in it");
    // One byte more than there may be: the loader then says that it is too large. A device without an
    // end is not read for ever.
    let most = Limits::default().module_bytes as u64 + 1;
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes).with_context(|| format!("could not read {name}"))?;
    ensure!(!bytes.is_empty(), "{name} is empty: it is no WebAssembly module");
    if path.extension().is_none_or(|extension| extension != "wat") {
        let is_text = bytes.trim_ascii_start().starts_with(b"(");
        let hint = if is_text { "; if it is the text format, name it .wat" } else { "" };
        ensure!(
            bytes.starts_with(MAGIC),
            "{name}: not a WebAssembly module: it does not begin with \\0asm{hint}"
        );
        return Ok(bytes);
    }
    match wat::parse_bytes(&bytes) {
        Ok(module) => Ok(module.into_owned()),
        Err(mut error) => {
            error.set_path(path);
            bail!("{error}")
        }
    }
}
