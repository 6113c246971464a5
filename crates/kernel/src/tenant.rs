//! What settles on a runtime and lives as long: the tables of whoever builds upon the kernel.
//!
//! There are few kinds of tenants, each looked up by its type. A tenant hears when the runtime has
//! closed, since it may hold strands that nobody else would end.

use std::{
    any::{Any, TypeId},
    sync::OnceLock,
};

use crate::panics;

/// Something that a crate on top of the kernel keeps per runtime.
pub trait Tenant: Any + Send + Sync {
    /// The runtime has closed: nothing gets a turn any more, and a strand that is woken ends. It may
    /// be called more than once.
    fn closed(&self);
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
        for tenant in self.0.iter().filter_map(OnceLock::get) {
            panics::contain(|| tenant.1.closed());
        }
    }
}

#[inline]
fn as_a<T: Tenant>(room: &Room) -> Option<&T> {
    // SAFETY: the room says which type its tenant is of.
    (room.0 == TypeId::of::<T>()).then(|| unsafe { &*(&raw const *room.1).cast::<T>() })
}
