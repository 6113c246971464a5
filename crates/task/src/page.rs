//! `docs/abi.md` and the guide, for the tests that compare what they say with the code.

pub(crate) const PAGE: &str = include_str!("../../../docs/abi.md");

pub(crate) const GUIDE: &str = include_str!("../../../docs/tasks.md");

/// The cells of the table whose header begins so, line by line, without the marks of code.
pub(crate) fn table(header: &str) -> Vec<Vec<&'static str>> {
    let (_, rest) = PAGE.split_once(header).expect("the page has the table");
    let lines = rest.lines().skip(2).take_while(|line| line.starts_with('|'));
    let cells = |line: &'static str| {
        line.trim_matches('|').split('|').map(|cell| cell.trim().trim_matches('`')).collect()
    };
    lines.map(cells).collect()
}
