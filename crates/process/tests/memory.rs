//! How much memory does an idle process take?

use std::{
    alloc::{GlobalAlloc, Layout, System},
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
};

use kernel::Runtime;
use process::{Addr, Context, Processes};

struct Counting;

static BYTES: AtomicUsize = AtomicUsize::new(0);

// SAFETY: it passes everything on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        BYTES.fetch_add(layout.size(), Relaxed);
        // SAFETY: by the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        BYTES.fetch_sub(layout.size(), Relaxed);
        // SAFETY: by the caller's promise.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// With its mailbox, its place in the table, and all else.
#[test]
fn an_idle_process_takes_232_bytes_at_most() {
    const COUNT: usize = 100_000;
    const HANDFUL: usize = 1_000;
    let mut simulation = Runtime::builder().workers(1).simulate(0).unwrap();
    let mut crowd: Vec<Addr<u64>> = Vec::with_capacity(COUNT);
    let before = BYTES.load(Relaxed);
    for _ in 0..COUNT / HANDFUL {
        for _ in 0..HANDFUL {
            let process = simulation.spawn_process(|mut ctx: Context<u64>| async move {
                let mut sum = 0;
                while let Some(number) = ctx.receive().await {
                    sum += number;
                }
                assert!(sum < u64::MAX);
            });
            crowd.push(process.unwrap());
        }
        // In handfuls, since what is queued takes memory of its own.
        simulation.run();
    }
    let each = (BYTES.load(Relaxed) - before) / COUNT;
    println!("{each} bytes per process");
    assert!(each <= 232, "{each} bytes per process");
}
