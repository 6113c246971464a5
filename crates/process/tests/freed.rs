//! Is every process freed, whatever became of its addresses?

use std::{
    alloc::{GlobalAlloc, Layout, System},
    cell::Cell,
    panic,
    sync::{Arc, Mutex},
};

use kernel::{Runtime, yield_now};
use process::{Addr, Context, Processes};

struct Counting;

thread_local! {
    /// By this thread: a simulation has no other, and the tests' own program allocates beside it.
    static BYTES: Cell<isize> = const { Cell::new(0) };
}

fn count(bytes: isize) {
    BYTES.set(BYTES.get() + bytes);
}

// SAFETY: it passes everything on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        // SAFETY: by the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        count(-(layout.size() as isize));
        // SAFETY: by the caller's promise.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// More than a process counts at once.
const CHILDREN: u64 = 40;

#[derive(Debug, Clone, Copy)]
enum Fate {
    Ends,
    EndsBeforeItsChildren,
    Panics,
    PanicsWhileDropped,
    IsKilled,
    IsKilledUnstarted,
    IsLeftBehind,
}

struct PanicsInDrop;

impl Drop for PanicsInDrop {
    fn drop(&mut self) {
        panic!("while it is dropped");
    }
}

/// A process gives its address to many children, who hand their answers off to it, and to somebody
/// outside, who keeps one for longer than it lives.
fn family(fate: Fate) {
    let mut simulation = Runtime::builder().workers(2).on_report(|_| {}).simulate(7).unwrap();
    let kept = Arc::new(Mutex::new(Vec::<Addr<Box<u64>>>::new()));
    let keep = kept.clone();
    let parent = simulation.spawn_pid(move |mut ctx: Context<Box<u64>>| async move {
        for number in 0..CHILDREN {
            let up = ctx.addr();
            let child = move |_: Context<()>| async move {
                if number % 3 == 0 {
                    yield_now().await;
                }
                // It may have ended, and then the answer comes back.
                let _ = up.hand_off_last(Box::new(number));
            };
            ctx.runtime().spawn_pid(child).unwrap();
        }
        keep.lock().unwrap().extend([ctx.addr(), ctx.addr()]);
        match fate {
            Fate::EndsBeforeItsChildren => return,
            Fate::Panics => panic!("in its turn"),
            _ => {}
        }
        let _late = matches!(fate, Fate::PanicsWhileDropped).then(|| PanicsInDrop);
        let mut sum = 0;
        for _ in 0..CHILDREN {
            sum += *ctx.receive().await.unwrap();
        }
        assert_eq!(sum, (0..CHILDREN).sum());
        if matches!(fate, Fate::IsKilled | Fate::IsLeftBehind) {
            ctx.receive().await;
        }
    });
    let parent = parent.unwrap();
    if matches!(fate, Fate::IsKilledUnstarted) {
        assert!(simulation.kill_process(parent));
    }
    simulation.run();
    let lives = kept.lock().unwrap().iter().any(Addr::is_alive);
    assert_eq!(lives, matches!(fate, Fate::IsKilled | Fate::IsLeftBehind));
    if matches!(fate, Fate::IsKilled) {
        assert!(simulation.kill_process(parent));
        simulation.run();
    }
    drop(simulation);
    kept.lock().unwrap().clear();
}

/// A message that asks for an address of its receiver when it is dropped.
struct Asks {
    whom: Arc<Mutex<Option<Context<Asks>>>>,
    got: Arc<Mutex<Vec<Addr<Asks>>>>,
}

impl Drop for Asks {
    fn drop(&mut self) {
        let address = self.whom.lock().unwrap().as_ref().map(Context::addr);
        self.got.lock().unwrap().extend(address);
    }
}

/// A process exits with such a message unread, after it was asked for so many addresses.
fn asked_while_it_exits(before: usize) {
    let mut simulation = Runtime::builder().workers(1).simulate(7).unwrap();
    let (whom, got) = (Arc::default(), Arc::default());
    let letter = Asks { whom: Arc::clone(&whom), got: Arc::clone(&got) };
    let theirs = Arc::clone(&whom);
    let process = async move |ctx: Context<Asks>| {
        let addresses: Vec<_> = (0..before).map(|_| ctx.addr()).collect();
        assert!(addresses[0].send(letter).is_ok());
        drop(addresses);
        *theirs.lock().unwrap() = Some(ctx);
    };
    simulation.spawn_pid(process).unwrap();
    simulation.run();
    drop(whom.lock().unwrap().take());
    let got = std::mem::take(&mut *got.lock().unwrap());
    assert!(matches!(&got[..], [address] if !address.is_alive()));
    // It has not been given to somebody else.
    let other = simulation.spawn_process(async |mut ctx: Context<Asks>| drop(ctx.receive().await));
    assert!(other.unwrap().is_alive() && !got[0].is_alive());
}

/// How many bytes it leaves behind.
fn left_by(scenario: impl Fn()) -> isize {
    // What a thread keeps for the next time is made the first time.
    scenario();
    let before = BYTES.get();
    scenario();
    BYTES.get() - before
}

#[test]
fn a_process_that_is_asked_for_its_address_while_it_exits_is_freed_after_that_one() {
    let left = [1, 2, 16, 17, 40].map(|before| left_by(|| asked_while_it_exits(before)));
    assert_eq!(left, [0; 5]);
}

#[test]
fn a_process_that_gave_its_address_away_is_freed_whatever_became_of_it() {
    let fates = [
        Fate::Ends,
        Fate::EndsBeforeItsChildren,
        Fate::Panics,
        Fate::PanicsWhileDropped,
        Fate::IsKilled,
        Fate::IsKilledUnstarted,
        Fate::IsLeftBehind,
    ];
    // What is printed of a panic is kept by the tests' own program.
    let printing = panic::take_hook();
    panic::set_hook(Box::new(|_| ()));
    let left = fates.map(|fate| (fate, left_by(|| family(fate))));
    panic::set_hook(printing);
    assert!(left.iter().all(|&(_, bytes)| bytes == 0), "bytes that are left: {left:?}");
}
