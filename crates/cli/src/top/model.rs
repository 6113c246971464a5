//! What does the viewer know, and what has been chosen?

use super::{
    keys::Action,
    picture::{Entry, Picture, Worker},
    sort::Sort,
    state::State,
    waiting::Recent,
    words::clean,
};

/// A longer one finds nothing.
const FILTER_CHARS_MAX: usize = 64;
/// So far a page goes.
const PAGE: isize = 10;

/// Everything that the view draws.
#[derive(Debug, Default)]
pub(crate) struct Model {
    /// Where the program is.
    pub(crate) url: String,
    pub(crate) picture: Picture,
    /// Why the program does not answer, while it does not.
    pub(crate) lost: Option<String>,
    pub(crate) sort: Sort,
    pub(crate) filter: String,
    pub(crate) mode: Mode,
    /// Which list the arrows move in.
    pub(crate) focus: Focus,
    /// The chosen worker, by its place in the list.
    pub(crate) worker: usize,
    /// The last line has something to say, until the next key.
    pub(crate) notice: Option<Notice>,
    /// Kind and name of the entry that is chosen, if one is.
    chosen: Option<(String, String)>,
    state: Option<State>,
    recent: Vec<Recent>,
}

/// What keys mean.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Mode {
    #[default]
    Look,
    /// A filter is being typed.
    Filter,
    Help,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Focus {
    #[default]
    Workers,
    Entries,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Notice {
    pub(crate) text: String,
    pub(crate) is_bad: bool,
}

/// What the program is to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Order {
    /// As the program calls it, not as it is shown.
    pub(crate) runtime: String,
    pub(crate) worker: usize,
    /// Otherwise it resumes.
    pub(crate) pause: bool,
}

/// What is to be done after a key.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum Next {
    Draw,
    Ask(Order),
    Quit,
}

impl Model {
    pub(crate) fn new(url: &str) -> Model {
        Model { url: clean(url), ..Model::default() }
    }

    /// The program has answered.
    pub(crate) fn seen(&mut self, now: State) {
        let before = self.state.as_ref().filter(|before| now.follows(before));
        let snapshot = &now.snapshot;
        let names = |state: &State| -> Vec<String> {
            state.snapshot.runtimes.iter().map(|runtime| runtime.name.clone()).collect()
        };
        if before.is_none_or(|before| names(before) != names(&now)) {
            self.recent = vec![Recent::default(); snapshot.runtimes.len()];
        }
        for (recent, runtime) in self.recent.iter_mut().zip(&snapshot.runtimes) {
            recent.add(snapshot.uptime_seconds, runtime.waiting.clone());
        }
        self.picture = Picture::new(before, &now, &self.recent);
        if self.lost.take().is_some() {
            let again = self.state.is_some() && before.is_none();
            self.tell(if again { "it has been started again" } else { "it is back" }, false);
        }
        self.worker = self.worker.min(self.picture.workers.len().saturating_sub(1));
        self.state = Some(now);
    }

    /// The program has not answered. What was seen last stays.
    pub(crate) fn lost(&mut self, why: &str) {
        self.lost = Some(clean(why));
    }

    /// The program has done what it was told, or has not.
    pub(crate) fn answered(&mut self, order: &Order, result: Result<(), String>) {
        let done = if order.pause { "paused" } else { "resumed" };
        let worker = format!("{} {}", order.runtime, order.worker);
        match result {
            Ok(()) => self.tell(&format!("{done} {worker}"), false),
            Err(why) => self.tell(&format!("{worker} is not {done}: {why}"), true),
        }
    }

    fn tell(&mut self, text: &str, is_bad: bool) {
        self.notice = Some(Notice { text: clean(text), is_bad });
    }

    /// Those that are shown, in order.
    pub(crate) fn entries(&self) -> Vec<&Entry> {
        self.sort.apply(&self.picture.entries, &self.filter)
    }

    /// The place of the chosen one among these.
    pub(crate) fn chosen(&self, entries: &[&Entry]) -> Option<usize> {
        let (kind, name) = self.chosen.as_ref()?;
        entries.iter().position(|entry| entry.kind == *kind && entry.name == *name)
    }

    pub(crate) fn act(&mut self, action: Action) -> Next {
        self.notice = None;
        match action {
            Action::Quit => return Next::Quit,
            Action::Help => self.mode = Mode::Help,
            Action::Look => self.mode = Mode::Look,
            Action::Sort(by) if self.sort.by == by => self.sort.reversed ^= true,
            Action::Sort(by) => self.sort = Sort { by, reversed: false },
            Action::SortNext => self.sort = self.sort.next(),
            Action::Reverse => self.sort.reversed ^= true,
            Action::Filter => self.mode = Mode::Filter,
            Action::FilterAdd(c) => {
                if self.filter.chars().count() < FILTER_CHARS_MAX {
                    self.filter.push_str(&clean(c.encode_utf8(&mut [0; 4])));
                }
            }
            Action::FilterBack => {
                self.filter.pop();
            }
            Action::FilterEmpty => self.filter.clear(),
            Action::FilterDrop => {
                self.filter.clear();
                self.mode = Mode::Look;
            }
            Action::Focus => {
                self.focus = match self.focus {
                    Focus::Workers => Focus::Entries,
                    Focus::Entries => Focus::Workers,
                };
                if self.focus == Focus::Entries && self.chosen(&self.entries()).is_none() {
                    self.choose(0);
                }
            }
            Action::Move(by) => self.go(by),
            Action::Page(by) => self.go(by * PAGE),
            Action::First => self.go(isize::MIN),
            Action::Last => self.go(isize::MAX),
            Action::Pause => return self.pause(),
        }
        Next::Draw
    }

    fn go(&mut self, by: isize) {
        match self.focus {
            Focus::Workers => {
                let last = self.picture.workers.len().saturating_sub(1);
                self.worker = self.worker.saturating_add_signed(by).min(last);
            }
            Focus::Entries => {
                let at = self.chosen(&self.entries()).unwrap_or(0);
                self.choose(at.saturating_add_signed(by));
            }
        }
    }

    /// The entry at this place, or the last one.
    fn choose(&mut self, at: usize) {
        let entries = self.entries();
        let entry = entries.get(at.min(entries.len().saturating_sub(1)));
        self.chosen = entry.map(|entry| (entry.kind.clone(), entry.name.clone()));
    }

    fn pause(&mut self) -> Next {
        let worker = self.picture.workers.get(self.worker);
        let runtimes = self.state.as_ref().map(|state| &state.snapshot.runtimes);
        let Some((worker, runtimes)) = worker.zip(runtimes) else { return Next::Draw };
        let Worker { runtime, number, .. } = *worker;
        let pause = worker.state != "paused";
        let doing = if pause { "pausing" } else { "resuming" };
        let text = format!("{doing} {}…", worker.name);
        let Some(runtime) = runtimes.get(runtime) else { return Next::Draw };
        let order = Order { runtime: runtime.name.clone(), worker: number, pause };
        self.tell(&text, false);
        Next::Ask(order)
    }
}

#[cfg(test)]
mod tests {
    use super::{super::sort::Column, *};
    use observe::{Snapshot, snapshot};

    fn state(uptime_seconds: f64, entries: &[(&str, u64)], worker_state: &str) -> State {
        let worker =
            snapshot::Worker { state: worker_state.to_owned(), ..snapshot::Worker::default() };
        let runtime = |name: &str| snapshot::Runtime {
            name: name.to_owned(),
            workers: vec![worker.clone(); 2],
            waiting: vec![0, uptime_seconds as u64],
            ..snapshot::Runtime::default()
        };
        let entry = |(name, done): &(&str, u64)| snapshot::Entry {
            name: (*name).to_owned(),
            done: *done,
            ..snapshot::Entry::default()
        };
        State {
            snapshot: Snapshot {
                uptime_seconds,
                runtimes: vec![runtime("one\n"), runtime("two")],
                entries: entries.iter().map(entry).collect(),
                ..Snapshot::default()
            },
            node: None,
        }
    }

    fn look(model: &mut Model, actions: &[Action]) {
        for action in actions {
            assert_eq!(model.act(*action), Next::Draw, "{action:?}");
        }
    }

    #[test]
    fn the_chosen_entry_stays_chosen_when_the_order_changes() {
        let mut model = Model::new("here");
        model.seen(state(1.0, &[("a", 0), ("b", 0), ("c", 0)], "idle"));
        look(&mut model, &[Action::Sort(Column::Name), Action::Focus, Action::Move(1)]);
        assert_eq!(model.chosen(&model.entries()), Some(1));
        look(&mut model, &[Action::Reverse, Action::Move(1)]);
        let entries = model.entries();
        assert_eq!((entries[2].name.as_str(), model.chosen(&entries)), ("a", Some(2)));
        look(&mut model, &[Action::Last, Action::Page(1), Action::Move(1)]);
        assert_eq!(model.chosen(&model.entries()), Some(2));
        look(&mut model, &[Action::First]);
        assert_eq!(model.chosen(&model.entries()), Some(0));
        model.seen(state(2.0, &[], "idle"));
        assert_eq!(model.chosen(&model.entries()), None);
        look(&mut model, &[Action::Move(-1)]);
    }

    #[test]
    fn a_worker_is_asked_for_by_the_name_that_the_program_knows() {
        let mut model = Model::new("here");
        assert_eq!(model.act(Action::Pause), Next::Draw, "there is none");
        model.seen(state(1.0, &[], "running"));
        look(&mut model, &[Action::Move(1)]);
        let order = |pause| Order { runtime: "one\n".to_owned(), worker: 1, pause };
        assert_eq!(model.act(Action::Pause), Next::Ask(order(true)));
        assert_eq!(model.notice.as_ref().unwrap().text, "pausing one␊ 1…");
        model.answered(&order(true), Ok(()));
        assert_eq!(model.notice.as_ref().unwrap().text, "paused one␊ 1");
        model.seen(state(2.0, &[], "paused"));
        assert_eq!(model.act(Action::Pause), Next::Ask(order(false)));
        model.answered(&order(false), Err("no\x1b".to_owned()));
        let notice = model.notice.clone().unwrap();
        assert_eq!((notice.text.as_str(), notice.is_bad), ("one␊ 1 is not resumed: no␛", true));
        look(&mut model, &[Action::Last]);
        assert_eq!((model.worker, model.notice), (3, None));
    }

    #[test]
    fn the_same_column_twice_turns_the_order() {
        let mut model = Model::new("here");
        look(&mut model, &[Action::Sort(Column::Done)]);
        assert!(!model.sort.reversed);
        look(&mut model, &[Action::Sort(Column::Done)]);
        assert!(model.sort.reversed);
        look(&mut model, &[Action::SortNext]);
        assert_eq!(model.sort, Sort { by: Column::Waiting, reversed: false });
    }

    #[test]
    fn a_filter_is_typed_kept_and_dropped() {
        let mut model = Model::new("here");
        model.seen(state(1.0, &[("apple", 0), ("pear", 0)], "idle"));
        look(&mut model, &[Action::Filter]);
        for c in "pe".chars() {
            look(&mut model, &[Action::FilterAdd(c)]);
        }
        assert_eq!((model.mode, model.entries().len()), (Mode::Filter, 1));
        look(&mut model, &[Action::FilterBack, Action::Look]);
        assert_eq!((model.filter.as_str(), model.entries().len()), ("p", 2));
        look(&mut model, &[Action::FilterDrop]);
        assert_eq!((model.filter.as_str(), model.mode), ("", Mode::Look));
        for _ in 0..1_000 {
            look(&mut model, &[Action::FilterAdd('x')]);
        }
        assert_eq!(model.filter.len(), FILTER_CHARS_MAX);
    }

    #[test]
    fn a_program_that_comes_back_goes_on_and_one_that_restarts_begins_anew() {
        let mut model = Model::new("here");
        model.seen(state(10.0, &[("a", 10)], "idle"));
        model.lost("gone\x1b");
        assert_eq!(model.lost.as_deref(), Some("gone␛"));
        model.seen(state(20.0, &[("a", 30)], "idle"));
        assert_eq!((model.lost.as_ref(), model.picture.entries[0].rate), (None, Some(2.0)));
        assert_eq!(model.notice.as_ref().unwrap().text, "it is back");
        assert_eq!(model.picture.runtimes[0].waiting.seconds, Some(10.0));
        model.lost("gone");
        model.seen(state(1.0, &[("a", 40)], "idle"));
        assert_eq!(model.picture.entries[0].rate, None);
        assert_eq!(model.notice.as_ref().unwrap().text, "it has been started again");
        assert_eq!(model.picture.runtimes[0].waiting.seconds, None);
    }
}
