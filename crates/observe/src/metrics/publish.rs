//! How do the numbers reach the crate `metrics`, and through it any exporter?

use std::collections::HashMap;

use ::metrics::{Key, Label, Level, Metadata, Recorder};

use super::{Distribution, Family, Kind, Sample, Samples, Unit, Value};

/// So many values of a histogram are recorded at a time, or a few more.
const RECORDED_MAX: u64 = 1_000;

/// Hands samples over to the recorder that the program has installed for the crate `metrics`.
///
/// Call [`publish`](Publisher::publish) now and then: every ten seconds, or when an exporter is about
/// to be asked. What is published:
///
/// - Counters as absolute values. Those in seconds become gauges, because counters of that crate
///   are whole numbers.
/// - Gauges as they are.
/// - Of histograms what is new since the last time, each value as the upper bound of its bucket: at
///   most twice the true one. Exporters keep every value for a while, so of more than a thousand
///   new ones only about a thousand are recorded, in the same proportions, and never none of a
///   bucket that has some. The distribution is right, the count is not.
/// - Names, units and descriptions as they are in the list of families.
///
/// ```
/// use observe::metrics::{Publisher, Samples};
///
/// let runtime = kernel::Runtime::builder().workers(2).build()?;
/// let mut publisher = Publisher::new();
/// // Every ten seconds:
/// let mut samples = Samples::new();
/// samples.runtime("tills", &runtime);
/// publisher.publish(&samples);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Default)]
pub struct Publisher {
    /// Of those that were in the last samples.
    published: Published,
}

/// The counts of each histogram when it was last published, by name and labels.
type Published = HashMap<(&'static str, Vec<String>), Vec<u64>>;

impl Publisher {
    /// It has published nothing yet.
    pub fn new() -> Publisher {
        Publisher::default()
    }

    /// Hands these over to the recorder that is installed, for this thread or for all. Without one
    /// nothing happens.
    pub fn publish(&mut self, samples: &Samples) {
        ::metrics::with_recorder(|recorder| self.publish_to(recorder, samples));
    }

    /// Hands these over to this recorder.
    pub fn publish_to(&mut self, recorder: &dyn Recorder, samples: &Samples) {
        // What is no longer among them is forgotten: runtimes come and go.
        let before = std::mem::take(&mut self.published);
        for (family, samples) in samples.families() {
            describe(recorder, family);
            for sample in samples {
                self.sample(recorder, family, sample, &before);
            }
        }
    }

    fn sample(
        &mut self,
        recorder: &dyn Recorder,
        family: &'static Family,
        sample: &Sample,
        before: &Published,
    ) {
        let labels = family.labels.iter().zip(&sample.labels);
        let labels: Vec<_> = labels.map(|(name, is)| Label::new(*name, is.clone())).collect();
        let key = Key::from_parts(family.name, labels);
        let about = Metadata::new("shiftwork", Level::INFO, Some(module_path!()));
        match (&sample.value, is_counter(family)) {
            (Value::Whole(number), true) => {
                recorder.register_counter(&key, &about).absolute(*number);
            }
            (Value::Whole(number), false) => {
                recorder.register_gauge(&key, &about).set(*number as f64);
            }
            (Value::Real(number), _) => recorder.register_gauge(&key, &about).set(*number),
            (Value::Distribution(now), _) => {
                let histogram = recorder.register_histogram(&key, &about);
                let key = (family.name, sample.labels.clone());
                for (value, count) in new_in(now, before.get(&key)) {
                    histogram.record_many(value, count as usize);
                }
                self.published.insert(key, now.counts().to_vec());
            }
        }
    }
}

/// What is new in a histogram: values, each with how often it is to be recorded.
fn new_in(now: &Distribution, before: Option<&Vec<u64>>) -> Vec<(f64, u64)> {
    let before = before.map_or(&[][..], Vec::as_slice);
    // Fewer than before: another has taken the name, and all of its values are new.
    let is_same = before.iter().zip(now.counts()).all(|(before, now)| before <= now);
    let before = |bucket: usize| before.get(bucket).filter(|_| is_same).copied().unwrap_or(0);
    let values = now.bounds().iter().chain(now.bounds().last());
    let new = now.counts().iter().enumerate().map(|(bucket, now)| now - before(bucket));
    let new: Vec<_> = values.copied().zip(new).filter(|(_, count)| *count > 0).collect();
    let all: u64 = new.iter().map(|(_, count)| count).sum();
    let part = all.div_ceil(RECORDED_MAX).max(1);
    new.into_iter().map(|(value, count)| (value, count.div_ceil(part))).collect()
}

fn is_counter(family: &Family) -> bool {
    family.kind == Kind::Counter && family.unit != Unit::Seconds
}

fn describe(recorder: &dyn Recorder, family: &'static Family) {
    let (name, help) = (family.name.into(), family.help.into());
    let unit = match family.unit {
        Unit::Seconds => Some(::metrics::Unit::Seconds),
        Unit::Bytes => Some(::metrics::Unit::Bytes),
        Unit::Count => Some(::metrics::Unit::Count),
        Unit::Ratio | Unit::Info => None,
    };
    match family.kind {
        Kind::Histogram => recorder.describe_histogram(name, unit, help),
        Kind::Counter if is_counter(family) => recorder.describe_counter(name, unit, help),
        Kind::Counter | Kind::Gauge => recorder.describe_gauge(name, unit, help),
    }
}
