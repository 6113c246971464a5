//! Who says what: the command line before the environment, that before the file, that before the
//! defaults.

use std::{
    cmp::Ordering,
    collections::BTreeMap,
    env, fmt, fs,
    path::{Path, PathBuf},
};

use toml::{Table, Value};

use super::{
    chosen::Chosen,
    option::{PREFIX, Setting, Shape},
    options::SETTINGS,
    paths,
};

/// The variable that names the file.
pub(crate) const CONFIG_VARIABLE: &str = "SHIFTWORK_NODE_CONFIG";

/// Where a value comes from. The first counts before the others.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Source {
    CommandLine,
    Environment,
    File(PathBuf),
    Default,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::CommandLine => f.write_str("command line"),
            Source::Environment => f.write_str("environment"),
            Source::File(path) => write!(f, "{}", path.display()),
            Source::Default => f.write_str("default"),
        }
    }
}

/// What all of them say together.
pub(crate) struct Resolved {
    pub(crate) chosen: Chosen,
    /// One for each setting, in their order.
    pub(crate) sources: Vec<Source>,
    /// What looks like a mistake and need not be one.
    pub(crate) warnings: Vec<String>,
}

/// Puts it together.
pub(crate) fn resolve(
    given: &BTreeMap<&'static str, String>,
    file: Option<&Path>,
) -> Result<Resolved, String> {
    let file = file.map(PathBuf::from).or_else(|| {
        env::var_os(CONFIG_VARIABLE).filter(|value| !value.is_empty()).map(PathBuf::from)
    });
    let file = file.or_else(|| paths::config().filter(|path| path.exists()));
    let in_file = file.as_deref().map(read).transpose()?.unwrap_or_default();
    let mut chosen = Chosen::default();
    let mut sources = Vec::new();
    for setting in SETTINGS {
        let (source, name, value) = if let Some(value) = given.get(setting.name) {
            (Source::CommandLine, format!("--{}", setting.name), value.clone())
        } else if let Some(value) = variable(setting)? {
            (Source::Environment, setting.variable(), value)
        } else if let (Some(value), Some(path)) = (in_file.get(setting.name), &file) {
            let name = format!("{}: {}", path.display(), setting.name);
            (Source::File(path.clone()), name, value.clone())
        } else {
            sources.push(Source::Default);
            continue;
        };
        (setting.set)(&mut chosen, &value).map_err(|why| format!("{name}: {why}"))?;
        sources.push(source);
    }
    settle_storage(&mut chosen, &mut sources)?;
    Ok(Resolved { chosen, sources, warnings: unknown_variables() })
}

/// `data-dir` and `in-memory` are two answers to one question: that of the first source counts, and
/// the other is then as if nobody had given it.
fn settle_storage(chosen: &mut Chosen, sources: &mut [Source]) -> Result<(), String> {
    let Some(directory) = chosen.data_dir.as_deref().filter(|_| chosen.in_memory) else {
        return Ok(());
    };
    let place =
        |name| SETTINGS.iter().position(|setting| setting.name == name).expect("in the list");
    let (on_disk, in_memory) = (place("data-dir"), place("in-memory"));
    match sources[on_disk].cmp(&sources[in_memory]) {
        Ordering::Less => chosen.in_memory = false,
        Ordering::Greater => chosen.data_dir = None,
        Ordering::Equal => {
            return Err(format!(
                "{}: in-memory and data-dir {} contradict each other: leave one out",
                sources[on_disk],
                directory.display()
            ));
        }
    }
    let first = sources[on_disk].clone().min(sources[in_memory].clone());
    sources[on_disk] = first.clone();
    sources[in_memory] = first;
    Ok(())
}

fn variable(setting: &Setting) -> Result<Option<String>, String> {
    let name = setting.variable();
    match env::var(&name) {
        Ok(value) => Ok(Some(value)),
        Err(env::VarError::NotPresent) => Ok(None),
        Err(env::VarError::NotUnicode(_)) => Err(format!("{name}: it is not UTF-8")),
    }
}

/// Variables that begin as ours do. No error: others make such names too, for a service of that
/// name for example.
fn unknown_variables() -> Vec<String> {
    let known: Vec<String> = SETTINGS.iter().map(Setting::variable).collect();
    let names = env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    let unknown = names.filter(|name| {
        name.starts_with(PREFIX) && name != CONFIG_VARIABLE && !known.contains(name)
    });
    let tell = |name: String| {
        let meant = nearest(&name, known.iter().map(String::as_str));
        let meant = meant.map_or(String::new(), |meant| format!(": did you mean {meant}?"));
        format!("the environment variable {name} means nothing here{meant}")
    };
    unknown.map(tell).collect()
}

fn read(path: &Path) -> Result<BTreeMap<String, String>, String> {
    let shown = path.display();
    let text = fs::read_to_string(path).map_err(|why| format!("{shown}: {why}"))?;
    parse(&text).map_err(|why| format!("{shown}: {why}"))
}

/// The settings in a file: `http.port = 1` and `port = 1` in the table `[http]` are the same.
fn parse(text: &str) -> Result<BTreeMap<String, String>, String> {
    let table: Table = toml::from_str(text).map_err(|why| why.to_string())?;
    let mut found = BTreeMap::new();
    flatten("", &table, &mut found)?;
    Ok(found)
}

fn flatten(
    prefix: &str,
    table: &Table,
    found: &mut BTreeMap<String, String>,
) -> Result<(), String> {
    for (key, value) in table {
        let name = format!("{prefix}{key}");
        let setting = SETTINGS.iter().find(|setting| setting.name == name);
        match (setting, value) {
            (Some(setting), value) => {
                let text = text(setting, value).map_err(|why| format!("{name}: {why}"))?;
                found.insert(name, text);
            }
            (None, Value::Table(inner))
                if SETTINGS.iter().any(|one| one.name.starts_with(&format!("{name}."))) =>
            {
                flatten(&format!("{name}."), inner, found)?;
            }
            (None, _) => {
                let meant = nearest(&name, SETTINGS.iter().map(|setting| setting.name));
                let meant = meant.map_or_else(
                    || "`shiftwork node --print-config` shows all that there are".to_owned(),
                    |meant| format!("did you mean {meant}?"),
                );
                return Err(format!("{name} means nothing here: {meant}"));
            }
        }
    }
    Ok(())
}

/// A value of the file, as it would stand on the command line.
fn text(setting: &Setting, value: &Value) -> Result<String, String> {
    match (setting.shape, value) {
        (Shape::Flag, Value::Boolean(on)) => Ok(on.to_string()),
        (Shape::Flag, _) => Err(format!("it is true or false, and not {value}")),
        (_, Value::String(text)) => Ok(text.clone()),
        (Shape::Number(_), Value::Integer(number)) => Ok(number.to_string()),
        (Shape::Number(_), Value::Float(number)) => Ok(number.to_string()),
        (Shape::Value("BOOL"), Value::Boolean(on)) => Ok(on.to_string()),
        (Shape::List(_), Value::Array(parts)) => {
            let part = |part: &Value| part.as_str().map(str::to_owned);
            let parts: Option<Vec<String>> = parts.iter().map(part).collect();
            parts.map(|parts| parts.join(",")).ok_or_else(|| "it is a list of texts".to_owned())
        }
        (Shape::Number(_), _) => Err(format!("it is a number, or a text, and not {value}")),
        (Shape::List(_), _) => Err(format!("it is a list of texts, and not {value}")),
        _ => Err(format!("it is a text in quotes, and not {value}")),
    }
}

/// The name that is most like this one, if any is.
fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let likeness = |known: &str| strsim::jaro_winkler(name, known);
    known
        .map(|known| (likeness(known), known))
        .filter(|(likeness, _)| *likeness > 0.8)
        .max_by(|(a, _), (b, _)| a.total_cmp(b))
        .map(|(_, known)| known)
}

/// All settings as a file that would say the same, with where each comes from.
pub(crate) fn print(resolved: &Resolved) -> String {
    let mut text = String::from("# What holds, and who says so.\n");
    let mut group = "";
    for (setting, source) in SETTINGS.iter().zip(&resolved.sources) {
        if setting.group != group {
            group = setting.group;
            text.push_str(&format!("\n# {group}\n"));
        }
        let value = (setting.show)(&resolved.chosen);
        let value = match setting.shape {
            Shape::Flag => value,
            Shape::Number(_) if value.parse::<i64>().is_ok() => value,
            Shape::List(_) => {
                let parts = value.split(',').filter(|part| !part.is_empty());
                Value::Array(parts.map(|part| Value::String(part.to_owned())).collect()).to_string()
            }
            _ => Value::String(value).to_string(),
        };
        text.push_str(&format!("{} = {value} # {source}\n", setting.name));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_and_dotted_keys_are_the_same() {
        let dotted = parse("http.port = 1\nhttp.hosts = ['a', 'b']\nno-fee = true").unwrap();
        let tables = parse("no-fee = true\n[http]\nport = 1\nhosts = ['a', 'b']").unwrap();
        assert_eq!(dotted, tables);
        assert_eq!((&*dotted["http.port"], &*dotted["http.hosts"]), ("1", "a,b"));
    }

    #[test]
    fn what_means_nothing_is_named_with_the_nearest_that_does() {
        for (text, expect) in [
            ("htpp.port = 1", "did you mean http.port?"),
            ("[http]\nprot = 1", "did you mean http.port?"),
            ("workres = 2", "did you mean workers?"),
            ("zzz = 2", "--print-config"),
            ("[http.port]\nx = 1", "http.port: it is a number"),
            ("no-fee = 'yes'", "no-fee: it is true or false"),
            ("log-level = 3", "log-level: it is a text"),
            ("http.hosts = [1]", "list of texts"),
            ("a = ", "TOML parse error"),
        ] {
            let wrong = parse(text).unwrap_err();
            assert!(wrong.contains(expect), "{text}: {wrong}");
        }
    }

    #[test]
    fn what_is_printed_can_be_read_and_says_the_same() {
        let mut chosen = Chosen::default();
        for (name, value) in
            [("http.hosts", "a,b"), ("limit.body", "7M"), ("balance", "0.5"), ("mnemonic", "a\"b")]
        {
            let setting = SETTINGS.iter().find(|setting| setting.name == name).unwrap();
            (setting.set)(&mut chosen, value).unwrap();
        }
        let sources = SETTINGS.iter().map(|_| Source::CommandLine).collect();
        let resolved = Resolved { chosen, sources, warnings: Vec::new() };
        let read = parse(&print(&resolved)).unwrap();
        for setting in SETTINGS {
            assert_eq!(read[setting.name], (setting.show)(&resolved.chosen), "{}", setting.name);
        }
    }
}
