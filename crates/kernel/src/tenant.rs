//! What settles on a runtime and lives as long: the tables of whoever builds upon the kernel.
//!
//! There are few kinds of tenants, each looked up by its type. A tenant hears when the runtime has
//! closed, since it may hold strands that nobody else would end, and what becomes of the workers.

use std::{
    any::{Any, TypeId},
    sync::OnceLock,
};

use crate::{attributes::WorkerId, panics, report::WorkerChange};

/// Something that a crate on top of the kernel keeps per runtime.
///
/// ```
/// use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
/// use kernel::{Runtime, Tenant, WorkerChange, WorkerId};
///
/// #[derive(Default)]
/// struct Ends {
///     workers: AtomicUsize,
///     all: AtomicUsize,
/// }
///
/// impl Tenant for Ends {
///     fn closed(&self) {}
///
///     fn worker_changed(&self, _: WorkerId, change: WorkerChange) {
///         self.workers.fetch_add((change == WorkerChange::Stopping).into(), SeqCst);
///     }
///
///     fn deserted(&self) {
///         self.all.fetch_add(1, SeqCst);
///     }
/// }
///
/// let runtime = Runtime::builder().workers(2).build()?;
/// let handle = runtime.handle();
/// let ends = handle.tenant(Ends::default);
/// runtime.shutdown();
/// assert_eq!((ends.workers.load(SeqCst), ends.all.load(SeqCst)), (2, 1));
/// # Ok::<(), kernel::BuildError>(())
/// ```
pub trait Tenant: Any + Send + Sync {
    /// The runtime has closed: nothing gets a turn any more, and a strand that is woken ends. It may
    /// be called more than once.
    fn closed(&self);

    /// A worker has got ready or paused, or ends: said on that worker's thread, so this should be short.
    /// What happened before the tenant had settled it does not hear.
    fn worker_changed(&self, worker: WorkerId, change: WorkerChange) {
        let _ = (worker, change);
    }

    /// The last worker has ended, or the simulation: nothing more is said of workers.
    fn deserted(&self) {}
}

/// So many kinds of tenants a runtime has room for.
const TENANTS_MAX: usize = 8;

#[derive(Default)]
pub(crate) struct Tenants([OnceLock<Room>; TENANTS_MAX]);

/// A tenant, and the type it is of.
struct Room(TypeId, Box<dyn Tenant>);

impl Tenants {
    #[inline]
    pub(crate) fn get<T: Tenant>(&self, make: impl FnOnce() -> T) -> &T {
        match self.0[0].get().and_then(as_a) {
            Some(tenant) => tenant,
            None => self.find(make),
        }
    }

    #[cold]
    fn find<T: Tenant>(&self, make: impl FnOnce() -> T) -> &T {
        let mut make = Some(make);
        for room in &self.0 {
            let tenant = room.get_or_init(|| {
                let make = make.take().expect("a tenant is made once, in the first free room");
                Room(TypeId::of::<T>(), Box::new(make()))
            });
            if let Some(tenant) = as_a(tenant) {
                return tenant;
            }
        }
        panic!("a runtime has room for {TENANTS_MAX} kinds of tenants");
    }

    pub(crate) fn close(&self) {
        self.each(Tenant::closed);
    }

    pub(crate) fn worker_changed(&self, worker: WorkerId, change: WorkerChange) {
        self.each(|tenant| tenant.worker_changed(worker, change));
    }

    pub(crate) fn desert(&self) {
        self.each(Tenant::deserted);
    }

    fn each(&self, tell: impl Fn(&dyn Tenant)) {
        for tenant in self.0.iter().filter_map(OnceLock::get) {
            panics::contain(|| tell(&*tenant.1));
        }
    }
}

#[inline]
fn as_a<T: Tenant>(room: &Room) -> Option<&T> {
    // SAFETY: the room says which type its tenant is of.
    (room.0 == TypeId::of::<T>()).then(|| unsafe { &*(&raw const *room.1).cast::<T>() })
}
