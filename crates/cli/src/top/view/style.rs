//! Which colours mean what?
//!
//! Nothing is told by colour alone: some terminals have none.

use ratatui::style::{Color, Modifier, Style};

pub(crate) const PLAIN: Style = Style::new();
pub(crate) const BOLD: Style = Style::new().add_modifier(Modifier::BOLD);
pub(crate) const DIM: Style = Style::new().add_modifier(Modifier::DIM);
pub(crate) const BAD: Style = Style::new().fg(Color::Red);
pub(crate) const HEADING: Style = Style::new().fg(Color::Cyan);
/// Of the list in which the arrows move.
pub(crate) const HEADING_FOCUS: Style = HEADING.add_modifier(Modifier::BOLD);
/// The row that is chosen, in that list.
pub(crate) const CHOSEN: Style = Style::new().add_modifier(Modifier::REVERSED);

/// Of a worker, or of something that takes turns.
pub(crate) fn state(state: &str) -> Style {
    match state {
        "running" => Style::new().fg(Color::Green),
        "queued" | "paused" => Style::new().fg(Color::Yellow),
        "stopped" | "quarantined" | "failed" => BAD,
        _ => PLAIN,
    }
}

/// Green while there is room, yellow when there is hardly any.
pub(crate) fn busy(share: f64) -> Style {
    Style::new().fg(if share < 0.9 { Color::Green } else { Color::Yellow })
}

pub(crate) fn heading(has_focus: bool) -> Style {
    if has_focus { HEADING_FOCUS } else { HEADING }
}
