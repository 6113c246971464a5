//! Where the memory of strands comes from, and where it goes.
//!
//! A strand that is made on one worker often ends on another. An allocator takes such memory back
//! piece by piece, by steps on a word that both cores want, and finds it again by following
//! pointers through memory that lies in the other core's cache. So each worker keeps a *stock*: the
//! addresses of free pieces, by size, in an array. What one has too many of and another lacks
//! passes through the runtime's *store*, many at a time; what nobody wants goes back to the
//! allocator. To take and to give back touches no piece.

use std::{
    alloc::{self, Layout},
    array,
    cell::RefCell,
    ptr::NonNull,
};

use crate::sync::{self, CACHE_LINE, Mutex};

/// Sizes are this far apart.
const GRAIN: usize = 16;
/// So much less than a multiple of that are all but small ones: an allocator that keeps a word beside
/// each piece, or looks for a few bytes more so as to align it, has a size that fits just this.
const LESS: usize = 8;
/// What pieces are aligned to, but for small ones: more is rare, and costs some allocators much.
const ALIGN: usize = 8;
/// Pieces of up to so many bytes fill cache lines of their own: else a turn of one strand would take
/// a line from the core where its neighbour runs. In larger ones that is rarer, and memory counts.
const SMALL: usize = 2 * CACHE_LINE;
/// Strands that are larger are the allocator's business.
const SIZE_MAX: usize = CLASSES * GRAIN - LESS;
const CLASSES: usize = 32;

/// So many pieces of a size move between a stock and the store at once; a stock keeps at most twice
/// as many. Miri and the model checkers shall see memory that is freed, freed.
const MOVE: usize = if cfg!(any(loom, shuttle, miri)) { 0 } else { 64 };
const STOCK_MAX: usize = 2 * MOVE;
/// So many pieces of a size the store keeps at most.
const STORE_MAX: usize = 64 * MOVE;

/// The piece that will be taken after so many is fetched when one is taken: it may lie in the
/// cache of the core that gave it back.
const AHEAD: usize = 3;

/// A piece of memory that nobody uses.
struct Piece(NonNull<u8>);

// SAFETY: memory may be used and freed by any thread.
unsafe impl Send for Piece {}

type Pieces = [Vec<Piece>; CLASSES];

/// A worker's own pieces.
pub(crate) struct Stock(RefCell<Pieces>);

/// The pieces that all workers share.
pub(crate) struct Store([Mutex<Vec<Piece>>; CLASSES]);

/// The size a strand gets, and its class.
#[inline]
const fn class(layout: Layout) -> Option<(Layout, usize)> {
    let (grain, less) = if layout.size() <= SMALL { (CACHE_LINE, 0) } else { (GRAIN, LESS) };
    let most = (layout.size() + less).next_multiple_of(grain);
    if layout.align() > ALIGN || most == 0 || layout.size() > SIZE_MAX {
        return None;
    }
    let class = most / GRAIN - 1;
    Some((layout_of(class), class))
}

const fn layout_of(class: usize) -> Layout {
    let most = (class + 1) * GRAIN;
    let (size, align) = if most <= SMALL { (most, CACHE_LINE) } else { (most - LESS, ALIGN) };
    match Layout::from_size_align(size, align) {
        Ok(layout) => layout,
        Err(_) => panic!("a small size"),
    }
}

/// Memory for a strand of this layout, which is not of size zero; from the stock of whoever has one.
#[inline]
pub(crate) fn take(stock: Option<(&Stock, &Store)>, layout: Layout) -> NonNull<u8> {
    let Some((whole, class)) = class(layout) else { return allocate(layout) };
    let kept = stock.and_then(|(stock, store)| {
        let own = &mut stock.0.borrow_mut()[class];
        let piece = own.pop().or_else(|| store.refill(class, own));
        if let Some(soon) = own.len().checked_sub(AHEAD) {
            sync::prefetch(own[soon].0.as_ptr(), whole.size());
        }
        piece
    });
    kept.map_or_else(|| allocate(whole), |piece| piece.0)
}

/// Asks for a strand's memory to be brought here for writing. A small one has no more than two lines,
/// and what lies behind them may be in use on another core.
#[cfg(not(any(loom, shuttle)))]
#[inline(always)]
pub(crate) fn prefetch(strand: *const u8) {
    sync::prefetch(strand, SMALL);
}

/// Gives memory back.
///
/// # Safety
/// It is from `take` with the same layout, and nobody uses it any more.
#[inline]
pub(crate) unsafe fn give_back(
    stock: Option<(&Stock, &Store)>,
    memory: NonNull<u8>,
    layout: Layout,
) {
    let Some((whole, class)) = class(layout) else {
        // SAFETY: by the caller's promise.
        return unsafe { alloc::dealloc(memory.as_ptr(), layout) };
    };
    if let Some((stock, store)) = stock.filter(|_| STOCK_MAX > 0) {
        let own = &mut stock.0.borrow_mut()[class];
        if own.len() == STOCK_MAX {
            store.relieve(class, own);
        }
        own.push(Piece(memory));
    } else {
        // SAFETY: by the caller's promise; `take` rounded it up in the same way.
        unsafe { alloc::dealloc(memory.as_ptr(), whole) };
    }
}

#[inline(never)]
fn allocate(layout: Layout) -> NonNull<u8> {
    // SAFETY: a strand has a header, so its size is not zero.
    let memory = unsafe { alloc::alloc(layout) };
    NonNull::new(memory).unwrap_or_else(|| alloc::handle_alloc_error(layout))
}

fn free(pieces: impl IntoIterator<Item = Piece>, class: usize) {
    let layout = layout_of(class);
    for piece in pieces {
        // SAFETY: pieces of this class were allocated with this layout, and nobody uses them.
        unsafe { alloc::dealloc(piece.0.as_ptr(), layout) };
    }
}

impl Stock {
    pub(crate) fn new() -> Stock {
        Stock(RefCell::new(array::from_fn(|_| Vec::new())))
    }
}

impl Drop for Stock {
    fn drop(&mut self) {
        for (class, pieces) in self.0.get_mut().iter_mut().enumerate() {
            free(pieces.drain(..), class);
        }
    }
}

impl Store {
    pub(crate) fn new() -> Store {
        Store(array::from_fn(|_| Mutex::default()))
    }

    /// Moves pieces to a stock that has none, new ones if there are no others, and one to the caller.
    #[cold]
    fn refill(&self, class: usize, own: &mut Vec<Piece>) -> Option<Piece> {
        let mut kept = self.0[class].lock();
        let from = kept.len().saturating_sub(MOVE);
        own.extend(kept.drain(from..));
        drop(kept);
        if own.is_empty() {
            own.extend((0..MOVE).map(|_| Piece(allocate(layout_of(class)))));
        }
        own.pop()
    }

    /// Takes pieces from a stock that has too many: those that have lain there longest.
    #[cold]
    fn relieve(&self, class: usize, own: &mut Vec<Piece>) {
        let mut kept = self.0[class].lock();
        if kept.len() < STORE_MAX {
            kept.extend(own.drain(..MOVE));
        } else {
            drop(kept);
            free(own.drain(..MOVE), class);
        }
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        for (class, pieces) in self.0.iter().enumerate() {
            free(std::mem::take(&mut *pieces.lock()), class);
        }
    }
}

#[cfg(all(test, not(any(loom, shuttle, miri))))]
mod tests {
    use super::*;

    fn layout(size: usize) -> Layout {
        Layout::from_size_align(size, 8).unwrap()
    }

    #[test]
    fn small_strands_fill_cache_lines_and_all_fit_their_class() {
        for size in 1..=SIZE_MAX {
            let (whole, class) = class(layout(size)).unwrap();
            assert_eq!(whole, layout_of(class));
            let (least, align) = if size <= 128 {
                (size.next_multiple_of(64), 64)
            } else {
                ((size + 8).next_multiple_of(16) - 8, 8)
            };
            assert_eq!((whole.size(), whole.align()), (least, align));
        }
        assert!(class(layout(SIZE_MAX + 1)).is_none());
    }

    #[test]
    fn given_back_and_taken_again_is_the_same_memory() {
        let (stock, store) = (Stock::new(), Store::new());
        let own = Some((&stock, &store));
        let first = take(own, layout(100));
        // SAFETY: it was just taken.
        unsafe { give_back(own, first, layout(100)) };
        let second = take(own, layout(111));
        assert_eq!(first, second, "of the same class");
        // SAFETY: as above.
        unsafe { give_back(own, second, layout(111)) };
    }

    #[test]
    fn what_one_gives_back_another_takes() {
        let (one, other, store) = (Stock::new(), Stock::new(), Store::new());
        // So many that nothing is left of what the stock has got for it.
        let taken: Vec<_> =
            (0..STOCK_MAX + MOVE).map(|_| take(Some((&one, &store)), layout(64))).collect();
        for memory in &taken {
            // SAFETY: it was taken above, and is given back once.
            unsafe { give_back(Some((&other, &store)), *memory, layout(64)) };
        }
        let again = take(Some((&one, &store)), layout(64));
        assert!(taken.contains(&again));
        // SAFETY: as above.
        unsafe { give_back(None, again, layout(64)) };
    }

    #[test]
    fn large_or_strictly_aligned_is_the_allocators() {
        assert!(class(layout(SIZE_MAX)).is_some() && class(layout(SIZE_MAX + 1)).is_none());
        assert!(class(Layout::from_size_align(64, 64).unwrap()).is_none());
    }
}
