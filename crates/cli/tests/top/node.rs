//! Does `top` show a real node and a real demo, and pause their workers?

use std::{
    io::{self, BufRead, BufReader},
    process::{Child, Stdio},
    thread,
};

use crate::{Pty, command, common};

/// A program that runs. Dropped, it is killed.
struct Running {
    child: Child,
    url: String,
}

impl Running {
    /// When it has said where it is.
    fn start(arguments: &[&str]) -> Running {
        let (said, tell) = io::pipe().unwrap();
        // A node tells it on standard output, a demo on standard error.
        let (output, errors) = if arguments[0] == "node" {
            (Stdio::from(tell), Stdio::null())
        } else {
            (Stdio::null(), Stdio::from(tell))
        };
        let mut program = common::command(arguments);
        let child = program.stdout(output).stderr(errors).spawn().unwrap();
        let mut lines = BufReader::new(said).lines().map(Result::unwrap);
        let line = lines.find(|line| line.contains("http://")).expect("it says where it is");
        let host = line.split("http://").nth(1).unwrap().split(['/', ' ']).next().unwrap();
        let url = format!("http://{host}");
        // It may go on to speak.
        thread::Builder::new().spawn(move || lines.for_each(drop)).unwrap();
        Running { url, child }
    }

    fn node(arguments: &[&str]) -> Running {
        let always = ["node", "--http.port", "0", "--in-memory", "--workers", "2"];
        Running::start(&[&always, arguments].concat())
    }

    fn top(&self) -> Pty {
        let mut top = Pty::start(command(&[&self.url, "--interval", "0.05"]), 80, 24);
        top.wait_for("turns/s");
        top
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The second worker of this runtime is paused and goes on.
fn pause_and_resume(mut top: Pty, runtime: &str) {
    let name = format!("{runtime} 1");
    let is_paused = |screen: &str| {
        let row = screen.lines().find(|line| line.starts_with(&format!(">{name}")));
        row.map(|row| row.contains("paused"))
    };
    top.press("\x1b[B");
    top.wait("chosen", |screen| is_paused(screen) == Some(false));
    top.press("p");
    top.wait_for(&format!("paused {name}"));
    top.wait("seen as paused", |screen| is_paused(screen) == Some(true));
    top.press("p");
    top.wait_for(&format!("resumed {name}"));
    top.wait("seen to go on", |screen| is_paused(screen) == Some(false));
    top.press("q");
    assert!(top.end().0.success());
}

#[test]
fn workers_of_a_node_are_paused_and_resumed() {
    let node = Running::node(&["--admin-api"]);
    pause_and_resume(node.top(), "shards");
}

#[test]
fn workers_of_a_demo_are_paused_and_resumed() {
    let arguments = ["demo", "--listen", "127.0.0.1:0", "--seconds", "3600", "--workers", "2"];
    let demo = Running::start(&arguments);
    let mut top = demo.top();
    for expect in ["demo 0.1.0  up", ">demo 0", "jobs/s", "messages/s", "process"] {
        top.wait_for(expect);
    }
    pause_and_resume(top, "demo");
}

#[test]
fn a_node_without_its_admin_interface_says_how_to_get_it() {
    let node = Running::node(&[]);
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
