//! Is the house in order? What can be said of all files is said here, as ordinary tests.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// Past this, look for the second subject.
const LINES_MAX: usize = 600;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_path_buf()
}

/// All files below the given folders (and directly in the root) with this ending.
fn files(ending: &str) -> Vec<PathBuf> {
    fn walk(dir: &Path, ending: &str, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
            let (path, name) = (entry.path(), entry.file_name());
            let hidden = name.to_string_lossy().starts_with('.');
            let ours = !hidden && name != "target" && name != "node_modules";
            if path.is_dir() && ours {
                walk(&path, ending, found);
            } else if path.extension().is_some_and(|found| found == ending) {
                found.push(path);
            }
        }
    }
    let mut found = Vec::new();
    walk(&root(), ending, &mut found);
    found.sort();
    assert!(!found.is_empty(), "no files ending in {ending}");
    found
}

/// Applies `complaint` to every file, and fails with all complaints at once.
#[track_caller]
fn check(files: Vec<PathBuf>, complaint: impl Fn(&Path, &str) -> Vec<String>) {
    let mut complaints = Vec::new();
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        let name = file.strip_prefix(root()).unwrap().display().to_string();
        complaints.extend(complaint(&file, &text).into_iter().map(|what| format!("{name}{what}")));
    }
    assert!(complaints.is_empty(), "\n{}\n", complaints.join("\n"));
}

/// Complains about each line that `is_bad`.
fn lines(text: &str, what: &str, is_bad: impl Fn(&str) -> bool) -> Vec<String> {
    let bad = text.lines().enumerate().filter(|(_, line)| is_bad(line));
    bad.map(|(at, line)| format!(":{}: {what}: {}", at + 1, line.trim())).collect()
}

#[test]
fn the_first_line_says_what_question_the_file_answers() {
    check(files("rs"), |_, text| {
        let fine = text.starts_with("//! ");
        if fine { vec![] } else { vec![": the first line is not `//! ...`".to_owned()] }
    });
}

#[test]
fn no_file_has_two_subjects() {
    check(files("rs"), |_, text| match text.lines().count() {
        count if count > LINES_MAX => vec![format!(": {count} lines, at most {LINES_MAX}")],
        _ => vec![],
    });
}

#[test]
fn tests_do_not_sleep() {
    let is_test = |file: &PathBuf| {
        let name = file.to_string_lossy();
        name.contains("/tests/") || name.ends_with("/tests.rs")
    };
    let needle = ["thread::", "sleep"].concat();
    let tests = files("rs").into_iter().filter(is_test).collect();
    check(tests, |_, text| {
        lines(text, "a test waits for something, it does not sleep", |line| line.contains(&needle))
    });
    // And in the `mod tests` at the end of a file.
    check(files("rs"), |_, text| {
        let tests = text.find("\nmod tests {").map_or("", |at| &text[at..]);
        lines(tests, "a test waits for something, it does not sleep", |line| line.contains(&needle))
    });
}

#[test]
fn plans_are_issues_and_not_comments() {
    let words = [["TO", "DO"].concat(), ["FIX", "ME"].concat(), ["XX", "X"].concat()];
    let all = files("rs").into_iter().chain(files("md")).chain(files("toml")).collect();
    check(all, |_, text| {
        lines(text, "open an issue instead", |line| {
            line.split(|c: char| !c.is_alphanumeric()).any(|word| words.iter().any(|w| w == word))
        })
    });
}

#[test]
fn links_in_the_documentation_lead_somewhere() {
    check(files("md"), |file, text| {
        let mut complaints = Vec::new();
        let mut in_code = false;
        for (at, line) in text.lines().enumerate() {
            if line.trim_start().starts_with("```") {
                in_code = !in_code;
            }
            if in_code {
                continue;
            }
            for target in link_targets(line) {
                let path = target.split('#').next().unwrap_or_default();
                let elsewhere = target.contains("://") || target.starts_with("mailto:");
                // Rustdoc checks links to items.
                let item = path.contains("::") || !path.contains(['.', '/', '-']);
                if elsewhere || item || path.is_empty() {
                    continue;
                }
                if !file.parent().unwrap().join(path).exists() {
                    complaints.push(format!(":{}: {target} leads nowhere", at + 1));
                }
            }
        }
        complaints
    });
}

/// The targets of `[text](target)` in a line.
fn link_targets(line: &str) -> Vec<&str> {
    let ends = line.split("](").skip(1);
    ends.filter_map(|rest| rest.split(')').next()).map(str::trim).collect()
}

#[test]
fn targets_of_links_are_found() {
    let line = "see [a](docs/a.md), [b](b.md#c) and `x[0](y)`";
    assert_eq!(link_targets(line), ["docs/a.md", "b.md#c", "y"]);
}
