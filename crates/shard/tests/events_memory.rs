//! Does publishing allocate, with many subscribers?

use std::{
    alloc::{GlobalAlloc, Layout, System},
    cell::Cell,
    num::NonZeroUsize,
    sync::Arc,
};

use shard::events::{Event, Hub};

struct Counting;

thread_local! {
    /// Of this thread only: the test's own runner allocates when it likes.
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: it passes everything on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: by the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: by the caller's promise.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[derive(Clone)]
struct Shared(Arc<()>);

impl Event for Shared {
    type Interest = ();

    fn concerns(&self, (): &()) -> bool {
        true
    }
}

#[test]
fn publishing_allocates_nothing_until_all_are_full() {
    const ROOM: usize = 16;
    let hub = Hub::new();
    let room = NonZeroUsize::new(ROOM).expect("it is not 0");
    let subscriptions: Vec<_> = (0..1_000).map(|_| hub.subscribe(room, ())).collect();
    let event = Shared(Arc::new(()));
    let before = ALLOCATIONS.get();
    assert!(before > subscriptions.len(), "the counter counts");
    for _ in 0..ROOM {
        hub.publish(&event);
    }
    assert_eq!(ALLOCATIONS.get(), before);
    assert_eq!(Arc::strong_count(&event.0), 1 + ROOM * subscriptions.len());
}
