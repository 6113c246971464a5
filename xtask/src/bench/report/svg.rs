//! How are text, bars and lines written as SVG?

use std::fmt::Write;

pub(crate) const INK: &str = "#1a1a1a";
pub(crate) const QUIET: &str = "#595959";
pub(crate) const GRID: &str = "#e0e0e0";
pub(crate) const OURS: &str = "#0b6e4f";
pub(crate) const PEER: &str = "#9fb3c8";
pub(crate) const INFORMATION: &str = "#cbbfe0";
pub(crate) const LOSS: &str = "#c44e00";

/// A picture that grows.
pub(crate) struct Svg {
    body: String,
}

/// Where a text stands, and how it looks.
#[derive(Clone, Copy)]
pub(crate) struct At {
    pub(crate) x: f64,
    pub(crate) y: f64,
    pub(crate) size: f64,
    pub(crate) colour: &'static str,
    /// `start`, `middle` or `end`.
    pub(crate) anchor: &'static str,
    pub(crate) bold: bool,
}

impl At {
    pub(crate) fn new(x: f64, y: f64) -> At {
        At { x, y, size: 11.0, colour: INK, anchor: "start", bold: false }
    }
}

impl Svg {
    pub(crate) fn new() -> Svg {
        Svg { body: String::new() }
    }

    pub(crate) fn text(&mut self, at: At, text: &str) {
        let At { x, y, size, colour, anchor, bold } = at;
        let bold = if bold { " font-weight=\"bold\"" } else { "" };
        let text = escape(text);
        self.put(format!(
            "<text x=\"{x:.1}\" y=\"{y:.1}\" font-size=\"{size}\" fill=\"{colour}\" \
             text-anchor=\"{anchor}\"{bold}>{text}</text>"
        ));
    }

    pub(crate) fn bar(&mut self, at: (f64, f64), size: (f64, f64), colour: &str) {
        self.put(format!(
            "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" fill=\"{colour}\"/>",
            at.0, at.1, size.0, size.1
        ));
    }

    pub(crate) fn line(&mut self, from: (f64, f64), to: (f64, f64), colour: &str) {
        self.put(format!(
            "<line x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\" stroke=\"{colour}\"/>",
            from.0, from.1, to.0, to.1
        ));
    }

    fn put(&mut self, element: String) {
        // Writing to a string does not fail.
        let _ = writeln!(self.body, "{element}");
    }

    /// The file; the title is for those who do not see it.
    pub(crate) fn finish(self, title: &str, width: f64, height: f64) -> String {
        let (title, body) = (escape(title), self.body);
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" \
             width=\"{width:.0}\" height=\"{height:.0}\" role=\"img\" \
             font-family=\"system-ui, 'DejaVu Sans', Helvetica, Arial, sans-serif\">\n\
             <title>{title}</title>\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n\
             {body}</svg>\n"
        )
    }
}

/// A name may contain what SVG may not.
pub(crate) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            bad if bad.is_control() => escaped.push('\u{fffd}'),
            other => escaped.push(other),
        }
    }
    escaped
}
