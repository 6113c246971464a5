//! Does `top` show a real node, and pause its workers?

use std::{
    io::{BufRead, BufReader},
    process::{Child, Command, Stdio},
};

use crate::{Pty, command};

/// A node that runs, on any free port. Dropped, it is killed.
struct Node {
    child: Child,
    url: String,
}

impl Node {
    fn start(arguments: &[&str]) -> Node {
        let mut command = Command::new(env!("CARGO_BIN_EXE_shiftwork"));
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("SHIFTWORK_") {
                command.env_remove(name);
            }
        }
        let nowhere = env!("CARGO_TARGET_TMPDIR");
        command.env("HOME", nowhere).env_remove("XDG_DATA_HOME").env_remove("XDG_CONFIG_HOME");
        command.args(["node", "--http.port", "0", "--in-memory", "--workers", "2"]).args(arguments);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let banner = BufReader::new(child.stdout.as_mut().unwrap()).lines().map(Result::unwrap);
        let line = banner.into_iter().find(|line| line.contains("http://"));
        let line = line.expect("the banner has an endpoint");
        let host = line.split("http://").nth(1).unwrap().split(['/', ' ']).next().unwrap();
        Node { url: format!("http://{host}"), child }
    }

    fn top(&self) -> Pty {
        let mut top = Pty::start(command(&[&self.url, "--interval", "0.05"]), 80, 24);
        top.wait_for("transactions/s");
        top
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn workers_of_a_node_are_paused_and_resumed() {
    let node = Node::start(&["--admin-api"]);
    let mut top = node.top();
    top.press("\x1b[B");
    top.wait_for(">shards 1");
    let is = |state: &'static str| {
        move |screen: &str| {
            let mut rows = screen.lines().filter(|line| line.starts_with(">shards 1"));
            rows.any(|row| row.contains(state))
        }
    };
    top.press("p");
    top.wait_for("paused shards 1");
    top.wait("it is seen", is("paused"));
    top.press("p");
    top.wait_for("resumed shards 1");
    top.wait("it is seen", |screen| !is("paused")(screen) && screen.contains(">shards 1"));
    top.press("q");
    assert!(top.end().0.success());
}

#[test]
fn a_node_without_its_admin_interface_says_how_to_get_it() {
    let node = Node::start(&[]);
    let mut top = node.top();
    for expect in ["node 0.1.0  up", ">shards 0", "queries 0", "RUNTIME", "0 shards"] {
        top.wait_for(expect);
    }
    top.press("p");
    top.wait_for("shards 0 is not paused: start the node with --admin-api to allow it");
    drop(node);
    top.wait_for("lost, trying again");
    top.press("q");
    assert!(top.end().0.success());
}
