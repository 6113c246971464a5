//! Who is listened to: the command line, the environment, the file, the defaults, in this order.

use std::{fs, path::Path};

use crate::{command, ended, place};

/// What holds of a setting, and who says so.
fn line(file: Option<&Path>, environment: &[(&str, &str)], arguments: &[&str]) -> String {
    let mut command = command(&["node", "--print-config"]);
    command.args(arguments).envs(environment.iter().copied());
    if let Some(file) = file {
        command.arg("--config").arg(file);
    }
    let (code, output, said) = ended(command.output().unwrap());
    assert_eq!(code, Some(0), "{said}");
    output.lines().find(|line| line.starts_with("http.port = ")).unwrap().to_owned()
}

#[test]
fn the_command_line_counts_before_the_environment_before_the_file_before_the_default() {
    let file = place("precedence").join("node.toml");
    fs::write(&file, "[http]\nport = 1001").unwrap();
    let variable = [("SHIFTWORK_NODE_HTTP_PORT", "1002")];
    let option = ["--http.port", "1003"];
    assert_eq!(line(None, &[], &[]), "http.port = 8545 # default");
    let in_file = format!("http.port = 1001 # {}", file.display());
    assert_eq!(line(Some(&file), &[], &[]), in_file);
    assert_eq!(line(Some(&file), &variable, &[]), "http.port = 1002 # environment");
    assert_eq!(line(Some(&file), &variable, &option), "http.port = 1003 # command line");
    let named = [("SHIFTWORK_NODE_CONFIG", file.to_str().unwrap())];
    assert_eq!(line(None, &named, &[]), in_file);
}

#[test]
fn the_file_in_the_configuration_folder_is_read_if_it_is_there() {
    let folder = place("folder");
    fs::create_dir_all(folder.join("shiftwork")).unwrap();
    let file = folder.join("shiftwork/node.toml");
    fs::write(&file, "http.port = 1001").unwrap();
    let folder = [("XDG_CONFIG_HOME", folder.to_str().unwrap())];
    assert_eq!(line(None, &folder, &[]), format!("http.port = 1001 # {}", file.display()));
}

#[test]
fn what_is_printed_is_a_file_that_says_the_same() {
    let file = place("round-trip").join("node.toml");
    let print = |arguments: &[&str]| {
        let arguments = [&["node", "--print-config"], arguments].concat();
        let (code, output, said) = crate::run(&arguments);
        assert_eq!(code, Some(0), "{said}");
        output
    };
    let first = print(&["--no-fee", "--http.hosts", "a", "--http.hosts", "b", "--limit.body=7M"]);
    fs::write(&file, &first).unwrap();
    let second = print(&["--config", file.to_str().unwrap()]);
    let values = |text: &str| -> Vec<String> {
        text.lines().map(|line| line.split(" # ").next().unwrap().to_owned()).collect()
    };
    assert_eq!(values(&first), values(&second));
    assert!(first.contains("http.hosts = [\"a\", \"b\"]"), "{first}");
}

#[test]
fn what_means_nothing_is_named_with_the_nearest_that_does() {
    let file = place("unknown").join("node.toml");
    fs::write(&file, "http.prot = 1").unwrap();
    let (code, _, said) = crate::run(&["node", "--config", file.to_str().unwrap()]);
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("http.prot means nothing here: did you mean http.port?"), "{said}");

    let mut command = command(&["node", "--in-memory"]);
    command.env("SHIFTWORK_NODE_HTTP_PORT", "nine");
    let (code, _, said) = ended(command.output().unwrap());
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("SHIFTWORK_NODE_HTTP_PORT: `nine`"), "{said}");
}

/// No error: others make variables with such names too.
#[test]
fn an_unknown_variable_is_warned_of() {
    let mut command = command(&["node", "--in-memory", "--http.port", "0", "--accounts", "1001"]);
    command.env("SHIFTWORK_NODE_HTP_PORT", "1");
    let (code, _, said) = ended(command.output().unwrap());
    assert_eq!(code, Some(1), "the accounts are too many: {said}");
    assert!(said.contains("did you mean SHIFTWORK_NODE_HTTP_PORT?"), "{said}");
}
