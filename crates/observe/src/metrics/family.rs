//! What is a family of numbers, and what may it be called?

/// Numbers of one name, which labels tell apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Family {
    /// As everybody outside knows it.
    pub name: &'static str,
    /// How its numbers move.
    pub kind: Kind,
    /// What they are numbers of.
    pub unit: Unit,
    /// The names of its labels. Every number has a value for each.
    pub labels: &'static [&'static str],
    /// One line that says what is counted.
    pub help: &'static str,
}

/// How the numbers of a family move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// They only grow, from when the program started.
    Counter,
    /// They go up and down.
    Gauge,
    /// Counts by size.
    Histogram,
}

impl Kind {
    /// As Prometheus calls it.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Histogram => "histogram",
        }
    }
}

/// What numbers are numbers of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Things. The name says which.
    Count,
    /// Time.
    Seconds,
    /// Memory.
    Bytes,
    /// A share, or one thing by another.
    Ratio,
    /// Nothing: the number is 1, and its labels tell something.
    Info,
}

impl Unit {
    /// All there are.
    pub const ALL: [Unit; 5] = [Unit::Count, Unit::Seconds, Unit::Bytes, Unit::Ratio, Unit::Info];

    /// What names of that unit end with.
    pub fn suffix(self) -> Option<&'static str> {
        match self {
            Unit::Count => None,
            Unit::Seconds => Some("_seconds"),
            Unit::Bytes => Some("_bytes"),
            Unit::Ratio => Some("_ratio"),
            Unit::Info => Some("_info"),
        }
    }
}

impl Family {
    /// Whether its name is as names are here, and begins with one of these.
    ///
    /// # Errors
    /// What is wrong with it, as a sentence.
    ///
    /// ```
    /// use observe::metrics::{Family, Kind, Unit};
    ///
    /// let served = Family {
    ///     name: "bakery_loaves_total",
    ///     kind: Kind::Counter,
    ///     unit: Unit::Count,
    ///     labels: &["shop"],
    ///     help: "Loaves that were sold.",
    /// };
    /// assert_eq!(served.check(&["bakery_"]), Ok(()));
    /// let slow = Family { name: "bakery_oven_ms", unit: Unit::Seconds, ..served };
    /// assert!(slow.check(&["bakery_"]).is_err());
    /// ```
    pub fn check(&self, prefixes: &[&str]) -> Result<(), String> {
        let Family { name, kind, unit, labels, help } = *self;
        let fail = |why: &str| Err(format!("{name}: {why}"));
        let Some(what) = prefixes.iter().find_map(|prefix| name.strip_prefix(prefix)) else {
            return fail(&format!("begins with none of {}", prefixes.join(", ")));
        };
        if what.is_empty() || !is_snake_case(name) {
            return fail("is not words of small letters with one underscore between two");
        }
        let (what, is_total) = match what.strip_suffix("_total") {
            Some(what) => (what, true),
            None => (what, false),
        };
        if is_total != (kind == Kind::Counter) {
            return fail("counters, and nothing else, end with _total");
        }
        // A name that is the unit alone, such as process_cpu_seconds without its prefix, is well.
        let ends = |unit: Unit| {
            let suffix = unit.suffix()?;
            (what.ends_with(suffix) || what == &suffix[1..]).then_some(unit)
        };
        if Unit::ALL.into_iter().find_map(ends).unwrap_or(Unit::Count) != unit {
            return fail("the end of the name is not its unit");
        }
        if ["_bucket", "_sum", "_count"].iter().any(|part| what.ends_with(part)) {
            return fail("ends as a part of a histogram does");
        }
        if !labels.iter().all(|label| is_snake_case(label) && !["le", "quantile"].contains(label)) {
            return fail("a label is not in snake case, or is one of Prometheus' own");
        }
        if !help.ends_with('.') || help.contains('\n') {
            return fail("its help is not one line that ends with a full stop");
        }
        Ok(())
    }
}

fn is_snake_case(name: &str) -> bool {
    let word = |word: &str| {
        !word.is_empty()
            && word.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
    };
    name.split('_').all(word) && !name.starts_with(|first: char| first.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    const FINE: Family = Family {
        name: "a_turns_total",
        kind: Kind::Counter,
        unit: Unit::Count,
        labels: &["worker"],
        help: "Turns.",
    };

    #[test]
    fn what_breaks_the_scheme_is_told() {
        let gauge =
            Family { name: "a_cpu_seconds", kind: Kind::Gauge, unit: Unit::Seconds, ..FINE };
        assert_eq!((FINE.check(&["b_", "a_"]), gauge.check(&["a_"])), (Ok(()), Ok(())));
        let wrong = [
            Family { name: "c_turns_total", ..FINE },
            Family { name: "a_", ..FINE },
            Family { name: "a_Turns_total", ..FINE },
            Family { name: "a__turns_total", ..FINE },
            Family { name: "a_turns", ..FINE },
            Family { name: "a_turns_total", kind: Kind::Gauge, ..FINE },
            Family { name: "a_cpu_seconds_total", ..FINE },
            Family { name: "a_cpu", ..gauge },
            Family { name: "a_seconds_cpu", ..gauge },
            Family { name: "a_turns_count", ..gauge },
            Family { labels: &["le"], ..FINE },
            Family { labels: &["Worker"], ..FINE },
            Family { help: "Turns", ..FINE },
            Family { help: "Two\nlines.", ..FINE },
        ];
        for family in wrong {
            let told = family.check(&["a_"]);
            assert!(
                told.as_ref().is_err_and(|why| why.starts_with(family.name)),
                "{family:?} {told:?}"
            );
        }
    }
}
