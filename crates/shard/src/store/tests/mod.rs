//! Does a store keep its promises, whatever the disk does?

mod crashes;
pub(crate) mod directory;
mod files;
mod measure;
mod model;
mod promises;
