//! How are text, lines and bars written as SVG, so that no name can break the picture?
//!
//! ```
//! use observe::svg::{Canvas, INK, Text};
//!
//! let mut canvas = Canvas::new(200.0, 40.0);
//! canvas.text(10.0, 25.0, &Text::new(INK), "<till> & Co.");
//! assert!(canvas.finish("A till").contains("&lt;till&gt; &amp; Co.</text>"));
//! ```

use std::fmt::Write;

/// Text that matters.
pub const INK: &str = "#1a1a1a";
/// Text that explains.
pub const QUIET: &str = "#595959";
/// Lines in the background.
pub const GRID: &str = "#e0e0e0";
/// Lines that values are measured from.
pub const AXIS: &str = "#8c8c8c";

/// A picture that grows.
#[derive(Debug, Clone)]
pub struct Canvas {
    width: f64,
    height: f64,
    body: String,
}

/// Which part of a text stands at its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Anchor {
    /// Its beginning.
    Start,
    /// Its middle.
    Middle,
    /// Its end.
    End,
}

/// How a text looks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Text {
    /// As CSS writes it.
    pub colour: &'static str,
    /// In pixels.
    pub size: f64,
    /// Whether it is in bold type.
    pub bold: bool,
    /// What of it stands at its place.
    pub anchor: Anchor,
}

impl Text {
    /// A text of twelve pixels, from its place on.
    pub fn new(colour: &'static str) -> Text {
        Text { colour, size: 12.0, bold: false, anchor: Anchor::Start }
    }

    /// The same, but with that part at its place.
    #[must_use]
    pub fn anchored(self, anchor: Anchor) -> Text {
        Text { anchor, ..self }
    }
}

/// How a line looks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stroke {
    /// As CSS writes it.
    pub colour: &'static str,
    /// In pixels.
    pub width: f64,
    /// Lengths of dashes and gaps; empty: a line without gaps.
    pub dash: &'static str,
}

impl Stroke {
    /// A line of one pixel.
    pub fn thin(colour: &'static str) -> Stroke {
        Stroke { colour, width: 1.0, dash: "" }
    }

    fn attributes(&self) -> String {
        let mut text = format!("stroke=\"{}\" stroke-width=\"{}\"", self.colour, self.width);
        if !self.dash.is_empty() {
            text.push_str(&format!(" stroke-dasharray=\"{}\"", self.dash));
        }
        text
    }
}

impl Canvas {
    /// An empty picture of this size, on white.
    pub fn new(width: f64, height: f64) -> Canvas {
        Canvas { width, height, body: String::new() }
    }

    /// Writes a text, whatever is in it.
    pub fn text(&mut self, x: f64, y: f64, look: &Text, text: &str) {
        let anchor = match look.anchor {
            Anchor::Start => "",
            Anchor::Middle => " text-anchor=\"middle\"",
            Anchor::End => " text-anchor=\"end\"",
        };
        let bold = if look.bold { " font-weight=\"bold\"" } else { "" };
        self.put(&format!(
            "<text x=\"{x:.1}\" y=\"{y:.1}\" fill=\"{}\" font-size=\"{}\"{anchor}{bold}>{}</text>",
            look.colour,
            look.size,
            escape(text)
        ));
    }

    /// Draws a line.
    pub fn line(&mut self, from: (f64, f64), to: (f64, f64), stroke: &Stroke) {
        self.put(&format!(
            "<line x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\" {}/>",
            from.0,
            from.1,
            to.0,
            to.1,
            stroke.attributes()
        ));
    }

    /// Draws a line through several points.
    pub fn path(&mut self, points: &[(f64, f64)], stroke: &Stroke) {
        let points: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        self.put(&format!(
            "<polyline points=\"{}\" fill=\"none\" stroke-linejoin=\"round\" {}/>",
            points.join(" "),
            stroke.attributes()
        ));
    }

    /// Draws a small dot.
    pub fn dot(&mut self, at: (f64, f64), colour: &str) {
        self.put(&format!(
            "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"2.2\" fill=\"{colour}\"/>",
            at.0, at.1
        ));
    }

    /// Draws a bar.
    pub fn bar(&mut self, at: (f64, f64), size: (f64, f64), colour: &str, opacity: f64) {
        self.put(&format!(
            "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" fill=\"{colour}\" \
             fill-opacity=\"{opacity}\"/>",
            at.0, at.1, size.0, size.1
        ));
    }

    /// Draws a bar that says what it is to whoever points at it.
    pub fn named_bar(&mut self, at: (f64, f64), size: (f64, f64), colour: &str, name: &str) {
        // Neighbours of one colour are told apart, where there is room for it.
        let edge = if size.0 > 3.0 { " stroke=\"#ffffff\" stroke-width=\"0.6\"" } else { "" };
        self.put(&format!(
            "<rect x=\"{:.2}\" y=\"{:.1}\" width=\"{:.2}\" height=\"{:.1}\" fill=\"{colour}\"{edge}>\
             <title>{}</title></rect>",
            at.0,
            at.1,
            size.0,
            size.1,
            escape(name)
        ));
    }

    fn put(&mut self, element: &str) {
        self.body.push_str(element);
        self.body.push('\n');
    }

    /// The whole file; the title is for those who do not see it.
    pub fn finish(self, title: &str) -> String {
        let Canvas { width, height, body } = self;
        let mut svg = String::new();
        // Writing to a string does not fail.
        let _ = write!(
            svg,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
             viewBox=\"0 0 {width} {height}\" role=\"img\" \
             font-family=\"system-ui, 'DejaVu Sans', Helvetica, Arial, sans-serif\">\n\
             <title>{}</title>\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n{body}</svg>\n",
            escape(title)
        );
        svg
    }
}

/// A name may contain what SVG may not.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            // Not allowed in XML at all.
            bad if bad.is_control() || matches!(bad, '\u{fffe}' | '\u{ffff}') => {
                escaped.push('\u{fffd}')
            }
            other => escaped.push(other),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_can_not_break_the_picture() {
        assert_eq!(escape("<a & \"b\">\u{1}"), "&lt;a &amp; &quot;b&quot;&gt;\u{fffd}");
    }
}
