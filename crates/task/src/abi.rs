//! What a guest may ask of the host: one table of imports, one list of codes.
//!
//! `docs/abi.md` is this file in prose; a test compares the two. A change that breaks guests counts
//! [`VERSION`] up.

use std::fmt;

/// The version of the interface between guests and host. A guest may import the global-free function
/// `abi_version` to see it.
pub const VERSION: i32 = 1;

/// The module name of every import.
pub(crate) const MODULE: &str = "shiftwork";

/// The answer of a host call. Where a call returns an id, a code comes negative.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(i32)]
pub enum Code {
    /// It was done.
    Ok = 0,
    /// The channel is closed (and, for a receiver, empty), or the mutex is.
    Closed = 1,
    /// The time is over.
    TimedOut = 2,
    /// The task that was awaited has failed.
    Failed = 3,
    /// The task that calls is asked to end.
    Cancelled = 4,
    /// What there is to give does not fit the buffer; nothing was taken. Its length is given.
    TooSmall = 5,
    /// There is no such task, channel or mutex.
    NoSuch = 6,
    /// A limit of the program does not allow it.
    Limit = 7,
    /// The mutex is poisoned: its owner ended without unlocking it.
    Poisoned = 8,
    /// An argument makes no sense: a pointer outside the memory, a length below 0, oneself.
    BadArgument = 9,
}

impl Code {
    /// As a call that returns an `i32` gives it.
    pub(crate) fn plain(self) -> u64 {
        self as i32 as u32 as u64
    }

    /// As a call that returns an id gives it: negative.
    pub(crate) fn negative(self) -> u64 {
        -(self as i32 as i64) as u64
    }
}

/// A type of a parameter or a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Type {
    I32,
    I64,
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Type::I32 => "i32",
            Type::I64 => "i64",
        })
    }
}

/// A function that guests may import.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub(crate) enum Call {
    AbiVersion,
    Spawn,
    SpawnWith,
    Input,
    Await,
    YieldNow,
    Self_,
    Sleep,
    ChanOpen,
    ChanSend,
    ChanRecv,
    ChanClose,
    Select,
    MutexOpen,
    Lock,
    Unlock,
    MutexClose,
    Log,
    Now,
    Random,
}

/// The name, parameters and result of a call.
pub(crate) struct Import {
    pub(crate) call: Call,
    pub(crate) name: &'static str,
    pub(crate) parameters: &'static [Type],
    pub(crate) result: Option<Type>,
}

/// Every call, in the order of [`Call`].
pub(crate) const IMPORTS: &[Import] = {
    use Call::*;
    use Type::*;
    const fn import(
        call: Call,
        name: &'static str,
        parameters: &'static [Type],
        result: Option<Type>,
    ) -> Import {
        Import { call, name, parameters, result }
    }
    &[
        import(AbiVersion, "abi_version", &[], Some(I32)),
        import(Spawn, "spawn", &[I32, I64], Some(I64)),
        import(SpawnWith, "spawn_with", &[I32, I32, I32], Some(I64)),
        import(Input, "input", &[I32, I32], Some(I32)),
        import(Await, "await", &[I64, I32], Some(I32)),
        import(YieldNow, "yield_now", &[], None),
        import(Self_, "self", &[], Some(I64)),
        import(Sleep, "sleep", &[I64], None),
        import(ChanOpen, "chan_open", &[I32], Some(I64)),
        import(ChanSend, "chan_send", &[I64, I32, I32], Some(I32)),
        import(ChanRecv, "chan_recv", &[I64, I32, I32, I32], Some(I32)),
        import(ChanClose, "chan_close", &[I64], Some(I32)),
        import(Select, "select", &[I32, I32, I64], Some(I32)),
        import(MutexOpen, "mutex_open", &[I32, I32], Some(I64)),
        import(Lock, "lock", &[I64, I32, I32, I32], Some(I32)),
        import(Unlock, "unlock", &[I64, I32, I32], Some(I32)),
        import(MutexClose, "mutex_close", &[I64], Some(I32)),
        import(Log, "log", &[I32, I32, I32], None),
        import(Now, "now", &[], Some(I64)),
        import(Random, "random", &[I32, I32], None),
    ]
};

/// The most parameters that any import has.
pub(crate) const MAX_PARAMETERS: usize = 4;

impl Call {
    pub(crate) fn import(self) -> &'static Import {
        &IMPORTS[self as usize]
    }

    pub(crate) fn by_name(name: &str) -> Option<Call> {
        IMPORTS.iter().find(|import| import.name == name).map(|import| import.call)
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use crate::page::{GUIDE, PAGE, table};

    fn signature(import: &Import) -> String {
        let parameters: Vec<String> = import.parameters.iter().map(Type::to_string).collect();
        let result = import.result.map(|result| format!(" -> {result}")).unwrap_or_default();
        format!("({}){result}", parameters.join(", "))
    }

    #[test]
    fn the_page_has_every_call_in_order_with_its_signature() {
        let page = table("| import |");
        let documented: Vec<_> = page.iter().map(|row| (row[0], row[1].to_owned())).collect();
        let imports: Vec<_> =
            IMPORTS.iter().map(|import| (import.name, signature(import))).collect();
        assert_eq!(documented, imports);
    }

    #[test]
    fn the_page_names_every_parameter() {
        for (row, import) in table("| import |").iter().zip(IMPORTS) {
            let (shown, _) = row[2].split_once("`: ").expect("`name(parameters)`: what it does");
            let (name, parameters) = shown.trim_end_matches(')').split_once('(').unwrap();
            let named = parameters.split(", ").filter(|parameter| !parameter.is_empty()).count();
            assert_eq!((name, named), (import.name, import.parameters.len()));
        }
    }

    #[test]
    fn the_page_has_every_code() {
        use Code::*;
        let codes = [
            Ok,
            Closed,
            TimedOut,
            Failed,
            Cancelled,
            TooSmall,
            NoSuch,
            Limit,
            Poisoned,
            BadArgument,
        ];
        let same = |code: &Code, row: &Vec<&str>| {
            let name = row[1].replace(' ', "");
            row[0] == (*code as i32).to_string() && format!("{code:?}").eq_ignore_ascii_case(&name)
        };
        let page = table("| code |");
        assert_eq!(page.len(), codes.len());
        for (code, row) in codes.iter().zip(&page) {
            assert!(same(code, row), "{code:?} is not {row:?}");
        }
    }

    #[test]
    fn the_guide_knows_how_many_calls_there_are() {
        let said = format!("the host's functions, of which there are {}:", IMPORTS.len());
        assert!(GUIDE.contains(&said), "{said}");
    }

    #[test]
    fn the_page_has_the_version() {
        assert!(PAGE.starts_with(&format!("# The host ABI, version {VERSION}\n")));
    }

    #[test]
    fn calls_are_where_their_number_says() {
        for (at, import) in IMPORTS.iter().enumerate() {
            assert_eq!(import.call as usize, at);
            assert!(import.parameters.len() <= MAX_PARAMETERS);
            assert_eq!(Call::by_name(import.name), Some(import.call));
        }
    }
}
