//! Where does a crate's source ask for an ordering that could be weaker?
//!
//! A site is an `Acquire`, `Release` or `AcqRel` in the body of a function, or a call of
//! `fence`. Imports, attributes, enums, and everything in `mod tests` and `mod models` are not.
//! Tokens come from a real lexer, so comments and strings are never mistaken for code.
//!
//! A line that ends in `// weaken: <reason>`, or follows a line of such a comment, is excused: it
//! appears in the table with its reason instead of a model.

use std::{
    ops::Range,
    path::{Path, PathBuf},
};

use anyhow::{Result, anyhow, bail};
use proc_macro2::{Delimiter, Spacing, TokenStream, TokenTree};

#[derive(Debug, Clone)]
pub(crate) struct Site {
    /// Relative to the crate's folder.
    pub(crate) file: PathBuf,
    pub(crate) line: usize,
    pub(crate) function: String,
    /// The line of source, trimmed.
    pub(crate) snippet: String,
    pub(crate) kind: Kind,
    /// The expression, in bytes of the file: `Ordering::Acquire`, or the whole call of `fence`.
    pub(crate) range: Range<usize>,
    /// Why it needs no model.
    pub(crate) excuse: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Kind {
    Order(&'static str),
    /// A fence, with its argument as written.
    Fence(String),
}

impl Kind {
    /// Every single step down from here.
    pub(crate) fn weaker(&self) -> &'static [&'static str] {
        match self {
            Kind::Order("AcqRel") => &["Acquire", "Release"],
            Kind::Order(_) => &["Relaxed"],
            Kind::Fence(order) if order.ends_with("SeqCst") => &["nothing", "AcqRel"],
            Kind::Fence(_) => &["nothing"],
        }
    }

    pub(crate) fn describe(&self) -> String {
        match self {
            Kind::Order(order) => (*order).to_owned(),
            Kind::Fence(order) => format!("fence({order})"),
        }
    }
}

/// Test code that happens to live among the sources.
pub(crate) fn is_test_file(file: &Path) -> bool {
    file.with_extension("").components().any(|part| {
        let part = part.as_os_str().to_string_lossy();
        part.starts_with("model") || part.ends_with("models") || part.ends_with("tests")
    })
}

/// All sites of one file, in the order of the text.
pub(crate) fn find(file: &Path, text: &str) -> Result<Vec<Site>> {
    let tokens: TokenStream =
        text.parse().map_err(|error| anyhow!("{}: {error}", file.display()))?;
    let mut finder = Finder { file, text, sites: Vec::new() };
    finder.scan(tokens, None)?;
    Ok(finder.sites)
}

struct Finder<'a> {
    file: &'a Path,
    text: &'a str,
    sites: Vec<Site>,
}

impl Finder<'_> {
    /// Looks through one level of brackets. `function` is the innermost one around it.
    fn scan(&mut self, tokens: TokenStream, function: Option<&str>) -> Result<()> {
        let trees: Vec<TokenTree> = tokens.into_iter().collect();
        // The function whose signature we are in, until its body is over.
        let mut signature: Option<String> = None;
        let mut at = 0;
        while at < trees.len() {
            at = match &trees[at] {
                TokenTree::Ident(word) if word == "use" && !is_punct(trees.get(at + 1), '<') => {
                    past(&trees, at, |tree| is_punct(Some(tree), ';'))
                }
                TokenTree::Punct(mark) if mark.as_char() == '#' => past_attribute(&trees, at),
                TokenTree::Ident(word) if word == "mod" && is_test_module(trees.get(at + 1)) => {
                    past(&trees, at, is_body_or_semicolon)
                }
                TokenTree::Ident(word) if word == "enum" => past(&trees, at, is_body_or_semicolon),
                TokenTree::Ident(word) if word == "fn" => {
                    if let Some(TokenTree::Ident(name)) = trees.get(at + 1) {
                        signature = Some(name.to_string());
                        at + 2
                    } else {
                        at + 1
                    }
                }
                TokenTree::Ident(word) if word == "fence" && is_call(trees.get(at + 1)) => {
                    self.fence(&trees, at, function);
                    at + 2
                }
                TokenTree::Ident(word) => {
                    self.word(&trees, at, &word.to_string(), function)?;
                    at + 1
                }
                TokenTree::Group(group) => {
                    self.scan(group.stream(), signature.as_deref().or(function))?;
                    if group.delimiter() == Delimiter::Brace {
                        signature = None;
                    }
                    at + 1
                }
                TokenTree::Punct(_) | TokenTree::Literal(_) => at + 1,
            };
        }
        Ok(())
    }

    fn word(
        &mut self,
        trees: &[TokenTree],
        at: usize,
        word: &str,
        function: Option<&str>,
    ) -> Result<()> {
        let order = match word {
            "Acquire" => "Acquire",
            "Release" => "Release",
            "AcqRel" => "AcqRel",
            "SeqCst" => "SeqCst",
            _ => return Ok(()),
        };
        if !is_ordering(trees, at) {
            return Ok(());
        }
        let line = trees[at].span().start().line;
        if order == "SeqCst" && self.excuse(line).is_none() {
            bail!(
                "{}:{line}: a SeqCst access, which no model can guard; use a SeqCst fence, or say \
                 why not",
                self.file.display()
            );
        }
        let Some(function) = function else {
            bail!(
                "{}:{line}: an ordering outside a function; write it where it is used, so that \
                 each use can be weakened by itself",
                self.file.display()
            );
        };
        let start = path_start(trees, at);
        self.add(trees, start, at, function, Kind::Order(order));
        Ok(())
    }

    /// The reason given on this line, or on the one above.
    fn excuse(&self, line: usize) -> Option<String> {
        let comment = |line: usize| self.text.lines().nth(line).and_then(|l| split_comment(l).1);
        let above = line.checked_sub(2).and_then(comment);
        comment(line - 1).and_then(excuse).or_else(|| above.and_then(excuse))
    }

    fn fence(&mut self, trees: &[TokenTree], at: usize, function: Option<&str>) {
        let inner = trees[at + 1].span().byte_range();
        let argument = self.text[inner.start + 1..inner.end - 1].trim().to_owned();
        let function = function.unwrap_or("?");
        let start = path_start(trees, at);
        self.add(trees, start, at + 1, function, Kind::Fence(argument));
    }

    fn add(&mut self, trees: &[TokenTree], first: usize, last: usize, function: &str, kind: Kind) {
        let range = trees[first].span().byte_range().start..trees[last].span().byte_range().end;
        let line = trees[last].span().start().line;
        let code = self.text.lines().nth(line - 1).map_or("", |text| split_comment(text).0);
        let excuse = self.excuse(line);
        self.sites.push(Site {
            file: self.file.to_owned(),
            line,
            function: function.to_owned(),
            snippet: code.trim().to_owned(),
            kind,
            range,
            excuse,
        });
    }
}

/// The reason in `// weaken: reason`.
fn excuse(comment: &str) -> Option<String> {
    let reason = comment.trim().strip_prefix("//")?.trim().strip_prefix("weaken:")?;
    Some(reason.trim().to_owned())
}

fn split_comment(line: &str) -> (&str, Option<&str>) {
    match line.find("//") {
        Some(at) => (&line[..at], Some(&line[at..])),
        None => (line, None),
    }
}

fn is_punct(tree: Option<&TokenTree>, wanted: char) -> bool {
    matches!(tree, Some(TokenTree::Punct(mark)) if mark.as_char() == wanted)
}

fn is_joint(tree: Option<&TokenTree>, wanted: char) -> bool {
    let joint = |mark: &proc_macro2::Punct| mark.spacing() == Spacing::Joint;
    matches!(tree, Some(TokenTree::Punct(mark)) if mark.as_char() == wanted && joint(mark))
}

fn is_call(tree: Option<&TokenTree>) -> bool {
    matches!(tree, Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Parenthesis)
}

fn is_test_module(tree: Option<&TokenTree>) -> bool {
    matches!(tree, Some(TokenTree::Ident(name)) if name == "tests" || name == "models")
}

fn is_body_or_semicolon(tree: &TokenTree) -> bool {
    is_punct(Some(tree), ';')
        || matches!(tree, TokenTree::Group(group) if group.delimiter() == Delimiter::Brace)
}

/// The place after the next tree that is the last of its kind.
fn past(trees: &[TokenTree], at: usize, last: impl Fn(&TokenTree) -> bool) -> usize {
    trees[at..].iter().position(last).map_or(trees.len(), |found| at + found + 1)
}

fn past_attribute(trees: &[TokenTree], at: usize) -> usize {
    let at = if is_punct(trees.get(at + 1), '!') { at + 2 } else { at + 1 };
    match trees.get(at) {
        Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Bracket => at + 1,
        _ => at,
    }
}

/// Is the word at `at` one of `Ordering`'s, and a value? Not a pattern, and not the variant or
/// the name of another type.
fn is_ordering(trees: &[TokenTree], at: usize) -> bool {
    let after = |n: usize| trees.get(at + n);
    let pattern = is_joint(after(1), '=') && is_punct(after(2), '>');
    let longer = is_joint(after(1), ':') || is_call(after(1));
    let foreign = match path_start(trees, at) {
        start if start == at => false,
        _ => !matches!(&trees[at - 3], TokenTree::Ident(owner) if owner == "Ordering"),
    };
    !pattern && !longer && !foreign
}

/// Where the path that ends at `at` begins: `atomic::Ordering::Acquire` begins at `atomic`.
fn path_start(trees: &[TokenTree], at: usize) -> usize {
    let mut start = at;
    while start >= 3
        && is_punct(trees.get(start - 1), ':')
        && is_joint(trees.get(start - 2), ':')
        && matches!(trees[start - 3], TokenTree::Ident(_))
    {
        start -= 3;
    }
    start
}

#[cfg(test)]
mod tests;
