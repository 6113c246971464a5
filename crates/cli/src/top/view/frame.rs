//! What stands above and below the lists?

use ratatui::text::{Line, Span};

use super::{line, style};
use crate::{
    text::thousands,
    top::{
        keys::HELP,
        model::{Focus, Mode, Model},
        words::{age, cut, left, rate, width},
    },
};

const LOST: &str = "lost, trying again";
const KEYS: &str = "q quit  ? help  / filter  s sort  r reverse  p pause  Tab other list";

/// Which program this is, and whether it answers.
pub(super) fn title(model: &Model, columns: usize) -> Line<'static> {
    let picture = &model.picture;
    let lost = if model.lost.is_some() { LOST } else { "" };
    let room = columns.saturating_sub(width(lost) + !lost.is_empty() as usize);
    let program = cut(&picture.program, room);
    let rest = format!("  up {}  {}", age(picture.uptime_seconds), model.url);
    let rest = left(&rest, room.saturating_sub(width(&program)));
    let gap = " ".repeat(columns.saturating_sub(width(&program) + width(&rest) + width(lost)));
    line(vec![
        Span::styled(program, style::BOLD),
        Span::raw(rest),
        Span::raw(gap),
        Span::styled(cut(lost, columns), style::BAD.patch(style::BOLD)),
    ])
}

/// How much is done per second, of each kind.
pub(super) fn throughput(model: &Model, columns: usize) -> Line<'static> {
    let rates = model.picture.done.iter().map(|done| match done.rate {
        Some(per_second) => format!("{} {}/s", rate(Some(per_second)), done.what),
        None => format!("{} {}", thousands(done.count), done.what),
    });
    line(vec![Span::raw(cut(&rates.collect::<Vec<_>>().join("   "), columns))])
}

/// What only a node has.
pub(super) fn node(model: &Model, columns: usize) -> Option<Line<'static>> {
    let node = model.picture.node.as_ref()?;
    let counted = |count: u64, what: &str| {
        format!("{} {what}{}", thousands(count), if count == 1 { "" } else { "s" })
    };
    let mut text = counted(node.shards, "shard");
    if node.quarantined > 0 {
        text += &format!(" ({} quarantined)", thousands(node.quarantined));
    }
    let [pooled, failed] = [node.pooled, node.failed].map(thousands);
    let open = counted(node.connections, "connection");
    text += &format!("   {pooled} pooled   {failed} failed   {open}");
    let mut trouble = String::new();
    if let Some(chain) = &node.base_chain {
        let number = chain.number.map_or_else(|| "?".to_owned(), thousands);
        let stale = if chain.fresh { "" } else { " (not fresh)" };
        text += &format!("   base chain at {number}{stale}");
        if let Some(why) = &chain.trouble {
            trouble = format!(": {why}");
        }
    }
    let text = cut(&text, columns);
    let trouble = cut(&trouble, columns.saturating_sub(width(&text)));
    Some(line(vec![Span::raw(text), Span::styled(trouble, style::BAD)]))
}

/// What each key does, in two columns where they have room.
pub(super) fn help(columns: usize) -> Vec<Line<'static>> {
    let entry = |(keys, what): &(&str, &str)| format!("{keys:>8}  {what}");
    let halves = if columns >= 80 { 2 } else { 1 };
    let rows = HELP.len().div_ceil(halves);
    let row = |at: usize| {
        let pieces = HELP.iter().skip(at).step_by(rows).take(halves);
        let pieces = pieces.map(|piece| left(&entry(piece), columns / halves));
        line(pieces.map(Span::raw).collect())
    };
    (0..rows).map(row).collect()
}

/// The last line: what is typed, what has happened, what is wrong, or what one can do.
pub(super) fn last(model: &Model, columns: usize) -> Line<'static> {
    let (text, style) = if model.mode == Mode::Filter {
        // The end of it, where one types.
        let mut typed = model.filter.as_str();
        while width(typed) + 2 > columns && !typed.is_empty() {
            typed = &typed[typed.chars().next().map_or(0, char::len_utf8)..];
        }
        (format!("/{typed}▏"), style::BOLD)
    } else if let Some(notice) = &model.notice {
        (notice.text.clone(), if notice.is_bad { style::BAD } else { style::BOLD })
    } else if let Some(why) = &model.lost {
        (why.clone(), style::BAD)
    } else if model.mode == Mode::Help {
        ("any key leads back".to_owned(), style::DIM)
    } else {
        match chosen(model) {
            Some(text) => (text, style::PLAIN),
            None if model.filter.is_empty() => (KEYS.to_owned(), style::DIM),
            None => (format!("only: {} (Esc shows all)", model.filter), style::BOLD),
        }
    };
    line(vec![Span::styled(cut(&text, columns), style)])
}

/// All of the name and the error, which have little room in a row.
fn chosen(model: &Model) -> Option<String> {
    if model.focus != Focus::Entries {
        return None;
    }
    let entries = model.entries();
    let entry = entries.get(model.chosen(&entries)?)?;
    let error = if entry.error.is_empty() { String::new() } else { format!(": {}", entry.error) };
    Some(format!("{} {}{error}", entry.kind, entry.name))
}
