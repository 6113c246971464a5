//! The table of what was weakened and what noticed: for the terminal, and for the documentation.

use std::{fs, path::Path};

use anyhow::{Context, Result};

use super::sites::Site;

pub(crate) struct Row<'a> {
    pub(crate) site: &'a Site,
    pub(crate) weaker: &'static str,
    pub(crate) verdict: Verdict,
}

pub(crate) enum Verdict {
    /// This model failed, and said this.
    Caught {
        model: String,
        said: String,
    },
    /// Every model that comes by the site passed; so many do.
    Survived(usize),
    /// This model neither passed nor failed within the limit.
    TimedOut(String),
    Excused(String),
}

impl Verdict {
    pub(crate) fn is_fine(&self) -> bool {
        matches!(self, Verdict::Caught { .. } | Verdict::Excused(_))
    }
}

impl Row<'_> {
    pub(crate) fn place(&self) -> String {
        format!("{}:{}", self.site.file.display(), self.site.line)
    }

    pub(crate) fn change(&self) -> String {
        format!("{} -> {}", self.site.kind.describe(), self.weaker)
    }

    /// One line for the terminal.
    pub(crate) fn line(&self) -> String {
        let verdict = match &self.verdict {
            Verdict::Caught { model, said } => format!("caught by {model} ({said})"),
            Verdict::Survived(0) => "SURVIVED: no model comes by".to_owned(),
            Verdict::Survived(n) => format!("SURVIVED: {n} models come by, all pass"),
            Verdict::TimedOut(model) => format!("ERROR: {model} did not end in time"),
            Verdict::Excused(reason) => format!("excused: {reason}"),
        };
        format!("{:<34} {:<12} {:<26} {verdict}", self.place(), self.site.function, self.change())
    }
}

/// The table for the documentation. It names functions and lines of code, since numbers of lines
/// are false after the next change.
pub(crate) fn markdown(rows: &[Row<'_>]) -> String {
    let mut text = String::from(
        "| Where | Line of code | Weakened to | Model that fails |\n|---|---|---|---|\n",
    );
    for row in rows {
        let file = row.site.file.strip_prefix("src").unwrap_or(&row.site.file);
        let verdict = match &row.verdict {
            Verdict::Caught { model, .. } => format!("`{model}`"),
            Verdict::Survived(_) => "**none**".to_owned(),
            Verdict::TimedOut(model) => format!("**`{model}` does not end**"),
            Verdict::Excused(reason) => format!("none: {reason}"),
        };
        let weaker = match row.weaker {
            "nothing" => "removed".to_owned(),
            weaker => format!("`{weaker}`"),
        };
        text.push_str(&format!(
            "| `{}`, `{}` | `{}` | {weaker} | {verdict} |\n",
            file.display(),
            row.site.function,
            row.site.snippet.replace('|', "\\|"),
        ));
    }
    text
}

/// Replaces what stands between the markers of this name.
pub(crate) fn write_between_markers(file: &Path, name: &str, table: &str) -> Result<()> {
    let text = fs::read_to_string(file).with_context(|| format!("no {}", file.display()))?;
    let text = replace_between_markers(&text, name, table)
        .with_context(|| format!("{} has no {}", file.display(), markers(name).join(" and ")))?;
    fs::write(file, text)?;
    Ok(())
}

fn markers(name: &str) -> [String; 2] {
    ["begin", "end"].map(|which| format!("<!-- weaken:{name}:{which} -->"))
}

fn replace_between_markers(text: &str, name: &str, table: &str) -> Option<String> {
    let [first, last] = markers(name);
    let begin = text.find(&first)? + first.len();
    let end = begin + text[begin..].find(&last)?;
    Some(format!("{}\n{table}{}", &text[..begin], &text[end..]))
}

#[cfg(test)]
mod tests {
    use super::super::sites;
    use super::*;

    #[test]
    fn only_what_stands_between_the_markers_changes() {
        let [begin, end] = markers("kernel");
        let text = format!("before\n{begin}\nold\n{end}\nafter\n");
        let new = replace_between_markers(&text, "kernel", "| new |\n").unwrap();
        assert_eq!(new, format!("before\n{begin}\n| new |\n{end}\nafter\n"));
        assert!(replace_between_markers(&text, "process", "x").is_none());
    }

    #[test]
    fn a_row_names_the_function_and_the_code() {
        let text = "fn wake() { self.step(|word| (word | WOKEN, Release)) }";
        let site = &sites::find(Path::new("src/strand/state.rs"), text).unwrap()[0];
        let verdict = Verdict::Caught { model: "m::x".to_owned(), said: "deadlock".to_owned() };
        let rows = [Row { site, weaker: "Relaxed", verdict }];
        let table = markdown(&rows);
        assert!(table.contains("| `strand/state.rs`, `wake` | `fn wake()"));
        assert!(table.contains("\\| WOKEN"));
        assert!(table.contains("| `Relaxed` | `m::x` |"));
    }
}
