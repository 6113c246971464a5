//! What an observer outside of a simulated world writes down: the fate of every message, and the
//! life of every worker.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use kernel::Handle;
use process::Pid;

/// What became of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It is on its way.
    Sent,
    /// Its receiver has read it.
    Delivered,
    /// Its sender got it back.
    Returned,
    /// Nobody read it: its receiver has exited.
    Unread { to: Pid, at: Duration },
}

/// A worker from its beginning to its end.
#[derive(Debug, Clone)]
pub(crate) struct Record {
    pub(crate) supervisor: Pid,
    pub(crate) id: Arc<str>,
    pub(crate) began: Duration,
    pub(crate) ended: Option<Duration>,
}

#[derive(Default)]
pub(crate) struct Book {
    pub(crate) fates: Vec<Fate>,
    pub(crate) lives: HashMap<Pid, Record>,
    /// The lives in the order of their beginnings.
    pub(crate) order: Vec<Pid>,
    /// The last message of each pair that was read.
    last: HashMap<(Pid, Pid), u32>,
    pub(crate) calls_answered: u32,
    pub(crate) calls_refused: u32,
    pub(crate) wrong: Vec<String>,
}

#[derive(Clone)]
pub(crate) struct Ledger {
    pub(crate) runtime: Handle,
    pub(crate) book: Arc<Mutex<Book>>,
}

impl Ledger {
    pub(crate) fn new(runtime: Handle) -> Ledger {
        Ledger { runtime, book: Arc::default() }
    }

    /// A message, which must have a fate from now on.
    pub(crate) fn message(&self, from: Pid, to: Pid) -> Letter {
        let mut book = self.book.lock().unwrap();
        book.fates.push(Fate::Sent);
        let number = book.fates.len() as u32 - 1;
        Letter { number, from, to, ledger: Some(self.clone()) }
    }

    /// A worker begins. Its end is noted when this is dropped.
    pub(crate) fn life(&self, pid: Pid, supervisor: Pid, id: Arc<str>) -> Life {
        let began = self.runtime.now();
        let mut book = self.book.lock().unwrap();
        book.order.push(pid);
        let twice = book.lives.insert(pid, Record { supervisor, id, began, ended: None });
        if twice.is_some() {
            book.wrong.push(format!("pid {pid} was used twice"));
        }
        Life { pid, ledger: self.clone() }
    }

    pub(crate) fn note_call(&self, answered: bool) {
        let mut book = self.book.lock().unwrap();
        if answered {
            book.calls_answered += 1;
        } else {
            book.calls_refused += 1;
        }
    }

    /// A call was not sent, and its caller was told: the message was dropped on the way.
    pub(crate) fn refused(&self, number: u32) {
        let mut book = self.book.lock().unwrap();
        let before = std::mem::replace(&mut book.fates[number as usize], Fate::Returned);
        if !matches!(before, Fate::Unread { .. }) {
            book.wrong.push(format!("call {number} was refused, and its message {before:?}"));
        }
    }

    pub(crate) fn wrong(&self, what: String) {
        self.book.lock().unwrap().wrong.push(what);
    }
}

/// A message that has one fate.
pub(crate) struct Letter {
    number: u32,
    from: Pid,
    to: Pid,
    ledger: Option<Ledger>,
}

impl Letter {
    pub(crate) fn number(&self) -> u32 {
        self.number
    }

    /// The receiver has read it. Numbers grow, so those of one pair must come in order.
    pub(crate) fn delivered(mut self, by: Pid) {
        let ledger = self.ledger.take().unwrap();
        let mut book = ledger.book.lock().unwrap();
        if by != self.to {
            book.wrong.push(format!("a message for {} came to {by}", self.to));
        }
        let last = book.last.insert((self.from, by), self.number);
        if last.is_some_and(|last| last >= self.number) {
            book.wrong.push(format!("from {} to {by}: {} after {last:?}", self.from, self.number));
        }
        book.settle(self.number, Fate::Delivered);
    }

    /// The sender has got it back.
    pub(crate) fn returned(mut self) {
        let ledger = self.ledger.take().unwrap();
        ledger.book.lock().unwrap().settle(self.number, Fate::Returned);
    }
}

impl Drop for Letter {
    fn drop(&mut self) {
        if let Some(ledger) = self.ledger.take() {
            let fate = Fate::Unread { to: self.to, at: ledger.runtime.now() };
            ledger.book.lock().unwrap().settle(self.number, fate);
        }
    }
}

pub(crate) struct Life {
    pid: Pid,
    ledger: Ledger,
}

impl Drop for Life {
    fn drop(&mut self) {
        let now = self.ledger.runtime.now();
        let mut book = self.ledger.book.lock().unwrap();
        book.lives.get_mut(&self.pid).unwrap().ended = Some(now);
    }
}

impl Book {
    fn settle(&mut self, number: u32, fate: Fate) {
        let before = std::mem::replace(&mut self.fates[number as usize], fate);
        if before != Fate::Sent {
            self.wrong.push(format!("message {number} was {before:?} and then {fate:?}"));
        }
    }

    /// Every message was read once, or given back, or its receiver had exited; all lives are over.
    pub(crate) fn check(&self) {
        assert!(self.wrong.is_empty(), "{:?}", &self.wrong[..self.wrong.len().min(5)]);
        for (number, fate) in self.fates.iter().enumerate() {
            match fate {
                Fate::Sent => panic!("message {number} is lost"),
                Fate::Delivered | Fate::Returned => {}
                Fate::Unread { to, at } => {
                    // One that was killed before its first turn has no life.
                    let ended = self.lives.get(to).map(|life| life.ended);
                    let exited = ended.is_none_or(|ended| ended.is_some_and(|ended| ended <= *at));
                    assert!(exited, "message {number} was dropped while {to} lived");
                }
            }
        }
        for (pid, life) in &self.lives {
            assert!(life.ended.is_some(), "{pid} ({}) never ended", life.id);
        }
    }

    /// When children of each supervisor failed and were started again: `(supervisor, id)` to times.
    pub(crate) fn restarts(&self) -> HashMap<(Pid, Arc<str>), Vec<Duration>> {
        let mut restarts: HashMap<_, Vec<Duration>> = HashMap::new();
        let mut before: HashMap<(Pid, Arc<str>), &Record> = HashMap::new();
        for pid in &self.order {
            let life = &self.lives[pid];
            let key = (life.supervisor, life.id.clone());
            if let Some(before) = before.insert(key.clone(), life) {
                let ended = before.ended.expect("a child is not started while it runs");
                assert!(ended <= life.began, "{} ran twice at once", life.id);
                restarts.entry(key).or_default().push(ended);
            }
        }
        restarts
    }

    pub(crate) fn count(&self, wanted: impl Fn(&Fate) -> bool) -> usize {
        self.fates.iter().filter(|fate| wanted(fate)).count()
    }
}
