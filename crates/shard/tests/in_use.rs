//! A data directory that another process has open is refused, and given back in the end.
//!
//! It is alone in its file: a process that is being started holds for a moment what its parent has
//! open, so other tests beside it would find their directories in use.

mod common;

use std::process::Command;

use common::{
    config,
    directory::{Directory, open, used},
    shard, transfer,
};
use kernel::Runtime;

/// Tells the other process where to look.
const IN_USE: &str = "SHARD_TEST_DIRECTORY_IN_USE";

#[test]
fn a_directory_that_another_process_has_open_is_refused() {
    if let Some(path) = std::env::var_os(IN_USE) {
        return in_the_other_process(Directory(path.into()));
    }
    let directory = used("in-use");
    let runtime = Runtime::new().unwrap();
    let shards = open(&runtime, &directory).unwrap();
    let is_refused = || {
        let mut other = Command::new(std::env::current_exe().unwrap());
        let output = other.arg("--nocapture").env(IN_USE, &directory.0).output().unwrap();
        match &*String::from_utf8_lossy(&output.stdout) {
            out if out.contains("REFUSED") => true,
            out if out.contains("OPENED") => false,
            out => panic!("{out}{}", String::from_utf8_lossy(&output.stderr)),
        }
    };
    assert!(is_refused());
    // That has harmed nothing here.
    shards.accept(shard(1), transfer(&config(), shard(1), 0, 20)).unwrap().wait().unwrap();
    drop(shards);
    runtime.shutdown();
    assert!(!is_refused());
}

fn in_the_other_process(directory: Directory) {
    // The parent removes it.
    let directory = std::mem::ManuallyDrop::new(directory);
    let runtime = Runtime::new().unwrap();
    match open(&runtime, &directory) {
        Err(error) => {
            let (error, path) = (error.to_string(), directory.0.to_str().unwrap());
            assert!(error.contains("in use by another process"), "{error}");
            assert!(error.contains(path), "{error}");
            println!("REFUSED");
        }
        Ok(shards) => {
            assert_eq!(shards.get(shard(1)).unwrap().next_nonce(common::account(0)), Ok(21));
            println!("OPENED");
        }
    }
}
