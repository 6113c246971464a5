//! Where are the data and the configuration, if nobody says?

use std::{env, path::PathBuf};

/// `$XDG_DATA_HOME/shiftwork/node`, or else `~/.local/share/shiftwork/node`.
pub(crate) fn data() -> Result<PathBuf, String> {
    under("XDG_DATA_HOME", ".local/share").map(|data| data.join("shiftwork/node")).ok_or_else(
        || {
            "where your home is can not be told (HOME is not set): use --data-dir or --in-memory"
                .to_owned()
        },
    )
}

/// `$XDG_CONFIG_HOME/shiftwork/node.toml`, or else `~/.config/shiftwork/node.toml`.
pub(crate) fn config() -> Option<PathBuf> {
    under("XDG_CONFIG_HOME", ".config").map(|config| config.join("shiftwork/node.toml"))
}

/// The folder that a variable names, or one in the user's home.
fn under(variable: &str, otherwise: &str) -> Option<PathBuf> {
    let folder = |name: &str| {
        // A relative path is to be ignored, as the specification of these variables has it.
        env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute())
    };
    folder(variable).or_else(|| folder("HOME").map(|home| home.join(otherwise)))
}
