//! Text, lines and scales in SVG.

use std::{fmt::Write, time::Duration};

use crate::text::precise;

/// Text that matters.
pub(super) const INK: &str = "#1a1a1a";
/// Text that explains.
pub(super) const QUIET: &str = "#595959";
pub(super) const GRID: &str = "#e0e0e0";
pub(super) const AXIS: &str = "#8c8c8c";

/// A picture that grows.
pub(super) struct Canvas {
    width: f64,
    height: f64,
    body: String,
}

#[derive(Clone, Copy)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

/// How a text looks.
#[derive(Clone, Copy)]
pub(super) struct Text {
    pub(super) colour: &'static str,
    pub(super) size: f64,
    pub(super) bold: bool,
    pub(super) anchor: Anchor,
}

impl Text {
    pub(super) fn new(colour: &'static str) -> Text {
        Text { colour, size: 12.0, bold: false, anchor: Anchor::Start }
    }

    pub(super) fn anchored(self, anchor: Anchor) -> Text {
        Text { anchor, ..self }
    }
}

/// How a line looks.
#[derive(Clone, Copy)]
pub(super) struct Stroke {
    pub(super) colour: &'static str,
    pub(super) width: f64,
    pub(super) dash: &'static str,
}

impl Stroke {
    pub(super) fn thin(colour: &'static str) -> Stroke {
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
    pub(super) fn new(width: f64, height: f64) -> Canvas {
        Canvas { width, height, body: String::new() }
    }

    pub(super) fn text(&mut self, x: f64, y: f64, look: &Text, text: &str) {
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

    pub(super) fn line(&mut self, from: (f64, f64), to: (f64, f64), stroke: &Stroke) {
        self.put(&format!(
            "<line x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\" {}/>",
            from.0,
            from.1,
            to.0,
            to.1,
            stroke.attributes()
        ));
    }

    pub(super) fn path(&mut self, points: &[(f64, f64)], stroke: &Stroke) {
        let points: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        self.put(&format!(
            "<polyline points=\"{}\" fill=\"none\" stroke-linejoin=\"round\" {}/>",
            points.join(" "),
            stroke.attributes()
        ));
    }

    pub(super) fn dot(&mut self, at: (f64, f64), colour: &str) {
        self.put(&format!(
            "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"2.2\" fill=\"{colour}\"/>",
            at.0, at.1
        ));
    }

    pub(super) fn bar(&mut self, at: (f64, f64), size: (f64, f64), colour: &str, opacity: f64) {
        self.put(&format!(
            "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" fill=\"{colour}\" \
             fill-opacity=\"{opacity}\"/>",
            at.0, at.1, size.0, size.1
        ));
    }

    fn put(&mut self, element: &str) {
        self.body.push_str(element);
        self.body.push('\n');
    }

    /// The file.
    pub(super) fn finish(self, title: &str) -> String {
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

/// What a name of a file may contain and SVG may not.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            // Not allowed in XML at all.
            control if control.is_control() => escaped.push('\u{fffd}'),
            other => escaped.push(other),
        }
    }
    escaped
}

/// A number of 1, 2 or 5 times a power of ten that is not smaller.
pub(super) fn round_up(value: f64) -> f64 {
    if value <= 0.0 {
        return 1.0;
    }
    let power = 10f64.powf(value.log10().floor());
    let steps = [1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0];
    let step = steps.into_iter().find(|step| step * power >= value * 0.999_999);
    step.unwrap_or(10.0) * power
}

/// Seconds at a tick: without digits that say nothing.
pub(super) fn tick(seconds: f64) -> String {
    if seconds == 0.0 {
        return "0".to_owned();
    }
    let text = precise(Duration::from_secs_f64(seconds));
    match text.split_once(' ') {
        Some((number, unit)) if number.contains('.') => {
            format!("{} {unit}", number.trim_end_matches('0').trim_end_matches('.'))
        }
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scales_end_at_round_numbers() {
        assert_eq!(round_up(0.0), 1.0);
        assert_eq!(round_up(0.7), 0.8);
        assert_eq!(round_up(1.0), 1.0);
        assert_eq!(round_up(1.2), 1.5);
        assert_eq!(round_up(87.0), 100.0);
    }

    #[test]
    fn ticks_say_no_more_than_they_know() {
        assert_eq!(tick(0.0), "0");
        assert_eq!(tick(0.5), "500 ms");
        assert_eq!(tick(0.0015), "1.5 ms");
        assert_eq!(tick(2.0), "2 s");
    }

    #[test]
    fn names_of_files_can_not_break_the_picture() {
        assert_eq!(escape("<a & \"b\">\u{1}"), "&lt;a &amp; &quot;b&quot;&gt;\u{fffd}");
    }
}
