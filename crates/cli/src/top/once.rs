//! How is one frame printed, for a script?

use std::{
    io::{self, IsTerminal, Write},
    thread,
    time::Duration,
};

use anyhow::Result;

use super::{
    client::Client,
    look,
    model::Model,
    view::{self, Size},
};

/// Where there is no terminal.
const COLUMNS: usize = 80;

/// Two looks, so that there are rates.
pub(crate) fn run(client: &Client, mut model: Model, interval: Duration) -> Result<()> {
    model.seen(look(client)?);
    thread::sleep(interval);
    model.seen(look(client)?);
    let text = view::text(&model, size());
    Ok(io::stdout().write_all(text.as_bytes())?)
}

/// As wide as the terminal, and as long as it takes.
fn size() -> Size {
    let out = io::stdout();
    let found = out.is_terminal().then(|| rustix::termios::tcgetwinsize(&out).ok()).flatten();
    let columns = found.map_or(0, |size| usize::from(size.ws_col));
    Size { columns: if columns == 0 { COLUMNS } else { columns }, rows: None }
}
