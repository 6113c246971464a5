//! Does `shiftwork top` show what a program does, on a real terminal?

#[path = "../common/mod.rs"]
mod common;
mod node;
mod once;
mod pty;
mod server;

use std::process::Command;

use pty::Pty;
use server::Server;

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_shiftwork"));
    command.arg("top").args(arguments).env_remove("NO_COLOR");
    command
}

/// `top` of this server, in a terminal of this size, when it has found rates.
fn start(server: &Server, columns: u16, rows: u16) -> Pty {
    let mut top = Pty::start(command(&[&server.url(), "--interval", "0.05"]), columns, rows);
    top.wait_for("50 transactions/s");
    top
}

/// Whether these stand below each other.
fn in_order(screen: &str, names: [&str; 3]) -> bool {
    let at = names.map(|name| screen.find(name));
    at.iter().all(Option::is_some) && at.is_sorted()
}

#[test]
fn every_size_shows_workers_and_entries_and_q_gives_the_terminal_back() {
    let server = Server::start();
    for (columns, rows) in [(80, 24), (120, 40), (40, 10)] {
        let mut top = start(&server, columns, rows);
        assert!(top.screen().alternate_screen() && top.screen().hide_cursor());
        for expect in ["node 0.1.0  up", ">shards 0", "running", "1,000", "alpha", "beta 漢字"] {
            top.wait_for(expect);
        }
        top.press("q");
        let (status, left) = top.end();
        assert_eq!((status.code(), left.as_str()), (Some(0), ""), "{columns} x {rows}");
    }
}

#[test]
fn names_of_strangers_move_nothing_and_set_no_title() {
    let server = Server::start();
    let mut top = start(&server, 80, 24);
    for expect in ["evil␛]0;title␇", "␛[2Jgamma␍␊", "trap␛[31m"] {
        top.wait_for(expect);
    }
    // A wide name takes its columns, and what is behind it stands where it should.
    let text = top.text();
    let row = |name: &str| text.lines().find(|line| line.contains(name)).unwrap().to_owned();
    let columns = |name: &str, number: &str| {
        let row = row(name);
        let before = &row[..row.find(number).unwrap()];
        before.chars().count() + before.chars().filter(|c| ('一'..='鿿').contains(c)).count()
    };
    assert_eq!(columns("alpha", " 30 "), columns("beta", " 20 "), "{text}");
}

#[test]
fn keys_sort_and_turn_and_filter() {
    let server = Server::start();
    let mut top = start(&server, 80, 24);
    top.wait("by rate", |screen| in_order(screen, ["alpha", "beta", "gamma"]));
    top.press("w");
    top.wait("by what waits", |screen| in_order(screen, ["beta", "gamma", "alpha"]));
    top.press("r");
    top.wait("turned", |screen| in_order(screen, ["alpha", "gamma", "beta"]));
    top.press("d");
    top.wait_for("DONE/S▼");
    top.press("/BET");
    top.wait("only one", |screen| screen.contains("/BET▏") && !screen.contains("alpha"));
    top.press("\r");
    top.wait_for("only: BET (Esc shows all)");
    top.press("\x1b");
    top.wait_for("alpha");
    top.press("?");
    top.wait_for("pause the chosen worker");
    top.press("x");
    top.wait_for("alpha");
    top.press("\t\x1b[F");
    top.wait_for("task ␛[2Jgamma␍␊: trap␛[31m");
    // Ctrl-C, which is a key here.
    top.press("\x03");
    assert!(top.end().0.success());
}

#[test]
fn the_picture_follows_the_size() {
    let server = Server::start();
    let mut top = start(&server, 80, 24);
    top.wait_for("q quit  ? help");
    top.resize(120, 40);
    top.wait_for("WAITING for shards");
    top.resize(40, 10);
    top.wait("narrow", |screen| !screen.contains("STEALS/S") && screen.contains(">shards 0"));
    for (columns, rows) in [(1, 1), (3, 2), (200, 3), (20, 50)] {
        top.resize(columns, rows);
    }
    top.resize(80, 24);
    top.wait_for("STEALS/S");
    top.press("q");
    assert!(top.end().0.success());
}

#[test]
fn a_worker_is_paused_and_resumed_or_one_reads_how_to_allow_it() {
    let server = Server::start();
    let mut top = start(&server, 80, 24);
    top.press("\x1b[B");
    top.wait_for(">shards 1");
    top.press("p");
    top.wait_for("paused shards 1");
    top.wait("it is seen", |screen| screen.contains(">shards 1 paused"));
    top.press("p");
    top.wait_for("resumed shards 1");
    top.wait("it is seen", |screen| screen.contains(">shards 1 idle"));
    top.press("\x1b[A");
    top.wait_for(">shards 0");
    top.press("p");
    top.wait_for("shards 0 is not paused: no ␛worker");
    server.now(|script| script.admin = false);
    top.press("p");
    top.wait_for("start the node with --admin-api to allow it");
    top.press("q");
    assert!(top.end().0.success());
}

#[test]
fn a_program_that_goes_away_is_waited_for() {
    let server = Server::start();
    let mut top = start(&server, 80, 24);
    server.now(|script| script.gone = true);
    top.wait_for("lost, trying again");
    assert!(top.text().contains(">shards 0"), "what was seen last stays:\n{}", top.text());
    // It is another run: no rate may come from the difference.
    server.now(|script| (script.gone, script.seconds) = (false, 1));
    top.wait_for("it has been started again");
    top.wait("it is found", |screen| !screen.contains("lost") && screen.contains("50 transac"));
    server.now(|script| script.gone = true);
    top.wait_for("lost, trying again");
    server.now(|script| script.gone = false);
    top.wait_for("it is back");
    server.now(|script| script.instead = Some(b"{\"program\":\x1b}".to_vec()));
    top.wait_for("lost, trying again");
    top.press("q");
    assert!(top.end().0.success());
}

#[test]
fn signals_give_the_terminal_back() {
    let server = Server::start();
    for signal in ["-TERM", "-INT", "-HUP"] {
        let top = start(&server, 80, 24);
        top.signal(signal);
        let (status, left) = top.end();
        assert_eq!((status.code(), left.as_str()), (Some(0), ""), "{signal}");
    }
}
