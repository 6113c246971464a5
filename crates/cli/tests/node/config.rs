//! Who is listened to: the command line, the environment, the file, the defaults, in this order.

use std::{fs, path::Path};

use crate::{command, ended, place};

/// What holds of the port, and who says so.
fn line(file: Option<&Path>, environment: &[(&str, &str)], arguments: &[&str]) -> String {
    let [line] = lines(["http.port"], file, environment, arguments);
    line
}

/// What holds of some settings, and who says so.
fn lines<const N: usize>(
    names: [&str; N],
    file: Option<&Path>,
    environment: &[(&str, &str)],
    arguments: &[&str],
) -> [String; N] {
    let mut command = command(&["node", "--print-config"]);
    command.args(arguments).envs(environment.iter().copied());
    if let Some(file) = file {
        command.arg("--config").arg(file);
    }
    let (code, output, said) = ended(command.output().unwrap());
    assert_eq!(code, Some(0), "{said}");
    names.map(|name| {
        let line = output.lines().find(|line| line.split(" = ").next() == Some(name));
        line.unwrap_or_else(|| panic!("no {name} in {output}")).to_owned()
    })
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
fn what_is_on_in_the_file_or_the_environment_is_turned_off_on_the_command_line() {
    let file = place("turned-off").join("node.toml");
    fs::write(&file, "no-fee = true\nno-dashboard = true").unwrap();
    let variable = [("SHIFTWORK_NODE_STRICT", "true")];
    let off = ["--no-fee=false", "--strict=false", "--dev-api", "--admin-api=true"];
    let names = ["no-fee", "strict", "no-dashboard", "dev-api", "admin-api"];
    let expect = [
        "no-fee = false # command line".to_owned(),
        "strict = false # command line".to_owned(),
        format!("no-dashboard = true # {}", file.display()),
        "dev-api = true # command line".to_owned(),
        "admin-api = true # command line".to_owned(),
    ];
    assert_eq!(lines(names, Some(&file), &variable, &off), expect);
    let (code, _, said) = crate::run(&["node", "--no-fee=maybe"]);
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("--no-fee: `maybe`"), "{said}");
    // What stands apart is no value of it.
    let (code, _, said) = crate::run(&["node", "--no-fee", "false"]);
    assert_eq!(code, Some(2), "{said}");
}

/// Where blocks are kept is one question with two options: the first who says something of it counts.
#[test]
fn a_later_place_for_the_data_does_not_contradict_an_earlier_one() {
    let folder = place("storage");
    let on_disk = folder.join("on-disk.toml");
    fs::write(&on_disk, "data-dir = '/file'").unwrap();
    let in_memory = folder.join("in-memory.toml");
    fs::write(&in_memory, "in-memory = true").unwrap();
    let storage = |file: Option<&Path>, environment: &[(&str, &str)], arguments: &[&str]| {
        lines(["data-dir", "in-memory"], file, environment, arguments)
    };
    let memory =
        |who: &str| [format!("data-dir = \"\" # {who}"), format!("in-memory = true # {who}")];
    let disk = |path: &str, who: &str| {
        [format!("data-dir = \"{path}\" # {who}"), format!("in-memory = false # {who}")]
    };
    let directory = [("SHIFTWORK_NODE_DATA_DIR", "/variable")];
    let nowhere = [("SHIFTWORK_NODE_IN_MEMORY", "true")];

    assert_eq!(storage(Some(&on_disk), &[], &["--in-memory"]), memory("command line"));
    assert_eq!(storage(None, &directory, &["--in-memory"]), memory("command line"));
    assert_eq!(storage(Some(&on_disk), &nowhere, &[]), memory("environment"));
    let option = ["--data-dir", "/option"];
    assert_eq!(storage(Some(&in_memory), &[], &option), disk("/option", "command line"));
    assert_eq!(storage(None, &nowhere, &option), disk("/option", "command line"));
    assert_eq!(storage(Some(&in_memory), &directory, &[]), disk("/variable", "environment"));
    let [kept, _] = storage(Some(&on_disk), &nowhere, &["--in-memory=false"]);
    assert_eq!(kept, format!("data-dir = \"/file\" # {}", on_disk.display()));

    // Both from one source: nobody can tell which is meant.
    let both = [directory[0], nowhere[0]];
    let mut asked = command(&["node", "--print-config"]);
    let (code, _, said) = ended(asked.envs(both).output().unwrap());
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("environment: in-memory and data-dir /variable contradict"), "{said}");
    assert_eq!(storage(None, &both, &["--in-memory"]), memory("command line"));
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
