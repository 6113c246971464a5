//! What does each key do?

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use super::{model::Mode, sort::Column};

/// What somebody wants who presses a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    Quit,
    Help,
    /// Back from help, and done with the filter.
    Look,
    Sort(Column),
    SortNext,
    Reverse,
    Filter,
    FilterAdd(char),
    FilterBack,
    FilterEmpty,
    /// No filter any more.
    FilterDrop,
    /// To the other list.
    Focus,
    Move(isize),
    Page(isize),
    First,
    Last,
    /// Pauses a worker, or resumes it if it is paused.
    Pause,
}

/// What `?` shows.
pub(crate) const HELP: [(&str, &str); 15] = [
    ("up down", "choose; also PgUp PgDn Home End"),
    ("Tab", "to the other list"),
    ("p", "pause the chosen worker, or resume it"),
    ("/", "filter; Esc drops the filter"),
    ("d", "sort by what is done per second"),
    ("D", "sort by what has been done"),
    ("w", "sort by what waits"),
    ("k", "sort by kind"),
    ("n", "sort by name"),
    ("t", "sort by state"),
    ("e", "sort by error"),
    ("s", "sort by the next column"),
    ("r", "the other way round"),
    ("?", "this help"),
    ("q", "quit; also Ctrl-C"),
];

/// `None`: nothing.
pub(crate) fn action(mode: Mode, key: KeyEvent) -> Option<Action> {
    if key.kind == KeyEventKind::Release {
        return None;
    }
    if key.modifiers.contains(KeyModifiers::CONTROL) {
        return match key.code {
            KeyCode::Char('c') => Some(Action::Quit),
            KeyCode::Char('u') if mode == Mode::Filter => Some(Action::FilterEmpty),
            _ => None,
        };
    }
    match mode {
        Mode::Look => look(key.code),
        Mode::Filter => filter(key.code),
        // Any key leads back.
        Mode::Help if key.code == KeyCode::Char('q') => Some(Action::Quit),
        Mode::Help => Some(Action::Look),
    }
}

fn look(code: KeyCode) -> Option<Action> {
    Some(match code {
        KeyCode::Char('q') => Action::Quit,
        KeyCode::Char('?' | 'h') => Action::Help,
        KeyCode::Char('/') => Action::Filter,
        KeyCode::Char('p') => Action::Pause,
        KeyCode::Char('r') => Action::Reverse,
        KeyCode::Char('s') => Action::SortNext,
        KeyCode::Char(c) => Action::Sort(Column::ALL.into_iter().find(|it| it.key() == c)?),
        KeyCode::Esc => Action::FilterDrop,
        KeyCode::Tab | KeyCode::BackTab => Action::Focus,
        KeyCode::Up => Action::Move(-1),
        KeyCode::Down => Action::Move(1),
        KeyCode::PageUp => Action::Page(-1),
        KeyCode::PageDown => Action::Page(1),
        KeyCode::Home => Action::First,
        KeyCode::End => Action::Last,
        _ => return None,
    })
}

fn filter(code: KeyCode) -> Option<Action> {
    Some(match code {
        KeyCode::Char(c) if !c.is_control() => Action::FilterAdd(c),
        KeyCode::Backspace => Action::FilterBack,
        KeyCode::Enter => Action::Look,
        KeyCode::Esc => Action::FilterDrop,
        KeyCode::Up => Action::Move(-1),
        KeyCode::Down => Action::Move(1),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn press(mode: Mode, code: KeyCode) -> Option<Action> {
        action(mode, KeyEvent::new(code, KeyModifiers::NONE))
    }

    #[test]
    fn every_key_of_the_help_does_something() {
        for (keys, _) in HELP {
            let code = match keys {
                "up down" => KeyCode::Up,
                "Tab" => KeyCode::Tab,
                key => KeyCode::Char(key.chars().next().unwrap()),
            };
            assert!(press(Mode::Look, code).is_some(), "{keys}");
        }
        for column in Column::ALL {
            let key = column.key();
            assert_eq!(press(Mode::Look, KeyCode::Char(key)), Some(Action::Sort(column)));
            assert!(HELP.iter().any(|(keys, _)| *keys == key.to_string()), "{key}");
        }
    }

    #[test]
    fn ctrl_c_quits_always_and_q_unless_a_filter_is_typed() {
        for mode in [Mode::Look, Mode::Filter, Mode::Help] {
            let ctrl_c = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
            assert_eq!(action(mode, ctrl_c), Some(Action::Quit));
        }
        assert_eq!(press(Mode::Look, KeyCode::Char('q')), Some(Action::Quit));
        assert_eq!(press(Mode::Filter, KeyCode::Char('q')), Some(Action::FilterAdd('q')));
        assert_eq!(press(Mode::Help, KeyCode::Char('x')), Some(Action::Look));
        assert_eq!(press(Mode::Look, KeyCode::Char('x')), None);
    }
}
