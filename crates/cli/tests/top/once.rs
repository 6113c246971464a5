//! Is one frame printed that a script can read, and is it said why there is none?

use std::{net::TcpListener, process::Stdio};

use crate::{Pty, Server, command};

/// Exit code, output, and what else was said.
fn run(arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = command(arguments).stdin(Stdio::null()).output().unwrap();
    let [said, why] = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
    (output.status.code(), said, why)
}

#[track_caller]
fn check_refused(arguments: &[&str], code: i32, expect: &str) {
    let (found, said, why) = run(arguments);
    assert!(why.contains(expect) && !why.contains('\x1b'), "{arguments:?} said: {why}");
    assert_eq!((found, said.as_str()), (Some(code), ""), "{arguments:?}");
}

#[test]
fn one_frame_is_plain_text_in_eighty_columns() {
    let server = Server::start();
    let (code, text, why) = run(&["--once", "--interval", "0.05", &server.url()]);
    assert_eq!((code, why.as_str()), (Some(0), ""));
    for expect in [
        "node 0.1.0  up 1 min 42 s",
        "50 transactions/s",
        ">shards 0 running    █████░░░░░ 50 %     1,000         0 evil␛]0;title␇",
        " shards       12       3     1 µs     1 µs     █",
        " shard   alpha",
        "trap␛[31m",
    ] {
        assert!(text.contains(expect), "no {expect}:\n{text}");
    }
    assert!(!text.contains('\x1b') && text.lines().all(|line| line.chars().count() <= 80));
}

#[test]
fn a_script_chooses_order_and_filter() {
    let server = Server::start();
    let url = server.url();
    let arguments = ["--once", "--interval", "0.05", "--sort", "waiting", "--reverse", &url];
    let (_, text, _) = run(&arguments);
    assert!(crate::in_order(&text, ["alpha", "gamma", "beta"]), "{text}");
    let (_, text, _) = run(&["--once", "--interval", "0.05", "--filter", "PROC", &url]);
    assert!(text.contains("beta") && !text.contains("alpha"), "{text}");
}

#[test]
fn one_frame_is_as_wide_as_the_terminal() {
    let server = Server::start();
    let arguments = ["--once", "--interval", "0.05", &server.url()];
    let (status, text) = Pty::start(command(&arguments), 120, 60).end();
    assert!(status.success());
    assert!(text.contains("██████████░░░░░░░░░░ 50 %"), "{text}");
}

#[test]
fn who_does_not_answer_is_named_with_what_to_do() {
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let expect = format!(
        "error: nothing answers at http://{nobody}: is the node running? start one with \
         `shiftwork node`"
    );
    check_refused(&["--once", &nobody.to_string()], 1, &expect);
    // The same on a terminal, which is left alone.
    let (status, text) = Pty::start(command(&[&nobody.to_string()]), 80, 24).end();
    assert!(text.contains("is the node running?"), "{text}");
    assert_eq!(status.code(), Some(1));
}

#[test]
fn answers_that_make_no_sense_are_told_without_being_obeyed() {
    let server = Server::start();
    let url = server.url();
    for (instead, expect) in [
        (&b"\x1b[2J"[..], "makes no sense"),
        (b"{}", "missing field"),
        (br#"{"program":"a\u001b","version":1}"#, "makes no sense"),
        (&[b' '; 9 << 20], "longer than 8388608 bytes"),
    ] {
        server.now(|script| script.instead = Some(instead.to_vec()));
        check_refused(&["--once", &url], 1, expect);
    }
    check_refused(&["--once", &format!("{url}/elsewhere/")], 1, "is it a node of Shiftwork");
    server.now(|script| script.gone = true);
    check_refused(&["--once", &url], 1, "not whole");
}

#[test]
fn bad_arguments_get_clear_errors() {
    check_refused(&["--interval", "0"], 2, "from 0.05 to 3600");
    check_refused(&["--interval", "-1"], 2, "from 0.05 to 3600");
    check_refused(&["--interval", "often"], 2, "not a number");
    check_refused(&["--sort", "colour"], 2, "kind, name, state, rate, done, waiting, error");
    check_refused(&["https://localhost"], 1, "begins with http://");
    check_refused(&["http://a\x1bb/"], 1, "no URL of a node");
    let server = Server::start();
    check_refused(&[&server.url()], 1, "standard output is no terminal: use --once");
}
