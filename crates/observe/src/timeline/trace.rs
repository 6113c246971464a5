//! How is a recording written as a trace?
//!
//! In the JSON format of Chrome's trace viewer, which Perfetto reads: turns are complete events
//! (`X`), arrows are `s` and `f`, the counter is `C`, parks are instants. Events are written one by
//! one in their order; nothing is gathered but what is known of open turns.
//!
//! An arrow must start and end inside of a slice. A wake by a turn lies in its slice; one that a
//! worker does right after the turn (its strand goes back into line) starts at the slice's end. What
//! happens outside of all turns gets a slice of no length to start from.

use std::{
    fmt,
    io::{self, BufWriter, Write},
    time::Duration,
};

use kernel::{Event, EventKind, Recording, StrandId};

use crate::timeline::{
    flows::{Flow, Flows},
    tracks::{Slice, Turns},
};

/// Longer names are cut.
const NAME_MAX: usize = 200;

/// Writes recordings of one or several runtimes as one trace, which <https://ui.perfetto.dev> opens.
/// Each runtime has a name.
///
/// Recordings of the same virtual run give the same bytes. What did not fit a recording is said in
/// the trace.
///
/// ```no_run
/// use std::fs::File;
///
/// let runtime = kernel::Runtime::new()?;
/// runtime.record(true);
/// // Work.
/// observe::timeline::write(&mut File::create("out.json")?, &[("app", &runtime.recording())])?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Those of `out`.
pub fn write<W: Write + ?Sized>(out: &mut W, runtimes: &[(&str, &Recording)]) -> io::Result<()> {
    let mut out = BufWriter::new(out);
    // All times are told from the start of the first runtime.
    let zero = runtimes.iter().filter_map(|(_, recording)| recording.origin).min();
    out.write_all(b"{\"displayTimeUnit\":\"ns\",\"otherData\":{\"program\":\"shiftwork\"")?;
    for (name, recording) in runtimes {
        write!(out, ",{}:", json(&format!("{name}: events that no longer fitted")))?;
        write!(out, "\"{}\"", recording.dropped)?;
    }
    out.write_all(b"},\"traceEvents\":[")?;
    let mut trace = Trace { out, first: true };
    let mut next_id = 0;
    // No process and no track has the number of another: Perfetto takes a thread that is called as
    // its process for the main one, and threads of the same number for one.
    let mut pid = 1;
    for (name, recording) in runtimes {
        let offset = match (recording.origin, zero) {
            (Some(origin), Some(zero)) => origin.saturating_duration_since(zero),
            _ => Duration::ZERO,
        };
        let process = Process { trace: &mut trace, recording, pid, offset };
        pid = process.outside() + 1;
        process.write(name, &mut next_id)?;
    }
    trace.out.write_all(b"\n]}\n")?;
    trace.out.flush()
}

struct Trace<W: Write> {
    out: W,
    first: bool,
}

impl<W: Write> Trace<W> {
    /// Writes one event; `rest` are its fields after the phase.
    fn event(&mut self, phase: char, rest: fmt::Arguments<'_>) -> io::Result<()> {
        self.out.write_all(if self.first { b"\n" } else { b",\n" })?;
        self.first = false;
        write!(self.out, "{{\"ph\":\"{phase}\",{rest}}}")
    }
}

/// A runtime in the trace.
struct Process<'a, W: Write> {
    trace: &'a mut Trace<W>,
    recording: &'a Recording,
    pid: usize,
    offset: Duration,
}

/// Where on a worker's track we are.
#[derive(Default)]
struct Cursor {
    /// Slices that have begun and not ended, the innermost last.
    open: Vec<Slice>,
    /// The one that ended last.
    last: Option<Slice>,
}

impl<W: Write> Process<'_, W> {
    fn write(mut self, name: &str, next_id: &mut u64) -> io::Result<()> {
        let recording = self.recording;
        self.write_names(name)?;
        let turns = Turns::of(recording);
        let flows = Flows::of(recording, next_id);
        let mut cursors: Vec<Cursor> = Vec::new();
        cursors.resize_with(recording.workers, Cursor::default);
        for (worker, track) in turns.tracks.iter().enumerate() {
            for slice in &track.slices[..track.cut] {
                self.write_slice(worker, slice)?;
                cursors[worker].open.push(*slice);
            }
        }
        for (index, event) in recording.events.iter().enumerate() {
            let worker = event.worker.map(|worker| worker.get());
            if let (Some(worker), Some(slice)) = (worker, turns.begun[index]) {
                let slice = turns.tracks[worker].slices[slice];
                self.write_slice(worker, &slice)?;
                cursors[worker].open.push(slice);
                for flow in flows.to.get(&index).into_iter().flatten() {
                    if flow.from > index {
                        // Of the same moment, on another worker: its start still comes first.
                        self.write_start_of(flow, &recording.events[flow.from], &mut cursors)?;
                    }
                    self.write_end_of(flow, worker, event.at)?;
                }
                if let Some(queued) = event.queued {
                    self.write_queued(event.at, queued)?;
                }
                continue;
            }
            if let Some(flow) = flows.from.get(&index).filter(|flow| flow.to > index) {
                self.write_start_of(flow, event, &mut cursors)?;
            }
            match (event.kind, worker) {
                (EventKind::Park | EventKind::Unpark, Some(worker)) => {
                    self.write_instant(worker, event)?;
                }
                (kind, Some(worker)) if kind.ends_a_turn() => {
                    if let Some(cursor) = cursors.get_mut(worker)
                        && let Some(ended) = cursor.open.pop()
                    {
                        cursor.last = Some(ended);
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// What the tracks are called, and what is missing.
    fn write_names(&mut self, name: &str) -> io::Result<()> {
        let (pid, recording, outside) = (self.pid, self.recording, self.outside());
        let name = json(name);
        let mut named = |what: &str, tid: usize, args: fmt::Arguments<'_>| {
            let rest =
                format_args!("\"pid\":{pid},\"tid\":{tid},\"name\":\"{what}\",\"args\":{{{args}}}");
            self.trace.event('M', rest)
        };
        named("process_name", pid, format_args!("\"name\":{name}"))?;
        named("process_sort_index", pid, format_args!("\"sort_index\":{pid}"))?;
        for worker in 0..recording.workers {
            let tid = pid + 1 + worker;
            named("thread_name", tid, format_args!("\"name\":\"worker {worker}\""))?;
            named("thread_sort_index", tid, format_args!("\"sort_index\":{tid}"))?;
        }
        if recording.events.iter().any(|event| event.worker.is_none()) {
            named("thread_name", outside, format_args!("\"name\":\"outside\""))?;
            named("thread_sort_index", outside, format_args!("\"sort_index\":{outside}"))?;
        }
        if recording.dropped > 0 {
            let at = self.micros(recording.events.first().map_or(recording.until, |e| e.at));
            let dropped = recording.dropped;
            let rest = format_args!(
                "\"pid\":{pid},\"tid\":{pid},\"ts\":{at},\"s\":\"p\",\"name\":\"{dropped} earlier \
                 events no longer fitted\""
            );
            self.trace.event('i', rest)?;
        }
        Ok(())
    }

    /// The track of a worker.
    fn track(&self, worker: usize) -> usize {
        self.pid + 1 + worker
    }

    /// The track of all threads that are not workers.
    fn outside(&self) -> usize {
        self.track(self.recording.workers)
    }

    fn write_slice(&mut self, worker: usize, slice: &Slice) -> io::Result<()> {
        let (pid, tid) = (self.pid, self.track(worker));
        let (at, length) = (self.micros(slice.start), Micros(slice.end - slice.start));
        let name = self.name_of(slice.strand);
        let strand = Field("strand", slice.strand.map(StrandId::get));
        let waited = Field("waited_us", slice.waited.map(Micros));
        let cut = Field("beginning", slice.cut.then_some("\"no longer fitted\""));
        let ending = slice.ending.as_str();
        let rest = format_args!(
            "\"pid\":{pid},\"tid\":{tid},\"ts\":{at},\"dur\":{length},\"cat\":\"turn\",\
             \"name\":{name},\"args\":{{\"ended\":\"{ending}\"{strand}{waited}{cut}}}"
        );
        self.trace.event('X', rest)
    }

    /// A slice of no length, outside of all turns.
    fn write_point(&mut self, tid: usize, at: Duration, name: &str) -> io::Result<()> {
        let (pid, at, name) = (self.pid, self.micros(at), json(name));
        let rest = format_args!(
            "\"pid\":{pid},\"tid\":{tid},\"ts\":{at},\"dur\":0,\"cat\":\"point\",\"name\":{name}"
        );
        self.trace.event('X', rest)
    }

    fn write_start_of(
        &mut self,
        flow: &Flow,
        event: &Event,
        cursors: &mut [Cursor],
    ) -> io::Result<()> {
        // A steal starts with whom it was stolen from.
        let from = if event.kind == EventKind::Steal { event.victim } else { event.worker };
        let cursor = from.and_then(|worker| Some((worker.get(), cursors.get(worker.get())?)));
        let (tid, at) = match cursor {
            Some((worker, cursor)) => {
                let back = |last: &&Slice| last.end == event.at || follows(last, event);
                let last = cursor.last.as_ref().filter(back);
                // One whose beginning is missing may be drawn from a later moment on.
                let open = cursor.open.last().filter(|slice| slice.start <= event.at);
                let at = match (open, last) {
                    (Some(_), _) => event.at,
                    (None, Some(last)) => last.end,
                    (None, None) => {
                        let name = format!("{} {}", flow.cause.as_str(), self.plain(event.strand));
                        self.write_point(self.track(worker), event.at, &name)?;
                        event.at
                    }
                };
                (self.track(worker), at)
            }
            None => {
                let name = format!("{} {}", flow.cause.as_str(), self.plain(event.strand));
                let tid = self.outside();
                self.write_point(tid, event.at, &name)?;
                (tid, event.at)
            }
        };
        self.write_flow('s', flow, tid, at, "")
    }

    fn write_end_of(&mut self, flow: &Flow, worker: usize, at: Duration) -> io::Result<()> {
        self.write_flow('f', flow, self.track(worker), at, ",\"bp\":\"e\"")
    }

    fn write_flow(
        &mut self,
        phase: char,
        flow: &Flow,
        tid: usize,
        at: Duration,
        more: &str,
    ) -> io::Result<()> {
        let (pid, at, id, cause) = (self.pid, self.micros(at), flow.id, flow.cause.as_str());
        let rest = format_args!(
            "\"pid\":{pid},\"tid\":{tid},\"ts\":{at},\"id\":{id},\"cat\":\"{cause}\",\
             \"name\":\"{cause}\"{more}"
        );
        self.trace.event(phase, rest)
    }

    fn write_queued(&mut self, at: Duration, queued: u32) -> io::Result<()> {
        let (pid, at) = (self.pid, self.micros(at));
        let rest = format_args!(
            "\"pid\":{pid},\"ts\":{at},\"name\":\"queued\",\"args\":{{\"entries\":{queued}}}"
        );
        self.trace.event('C', rest)
    }

    fn write_instant(&mut self, worker: usize, event: &Event) -> io::Result<()> {
        let (pid, tid, at) = (self.pid, self.track(worker), self.micros(event.at));
        let kind = event.kind;
        let rest =
            format_args!("\"pid\":{pid},\"tid\":{tid},\"ts\":{at},\"s\":\"t\",\"name\":\"{kind}\"");
        self.trace.event('i', rest)
    }

    fn micros(&self, at: Duration) -> Micros {
        Micros(self.offset + at)
    }

    fn name_of(&self, strand: Option<StrandId>) -> String {
        json(&self.plain(strand))
    }

    fn plain(&self, strand: Option<StrandId>) -> String {
        let mut name = self.recording.name_of(strand);
        if let Some((end, _)) = name.char_indices().nth(NAME_MAX) {
            name.truncate(end);
            name.push('…');
        }
        name
    }
}

/// Whether a worker did this right after a turn and because of it: the strand went back into line,
/// or handed its worker on.
fn follows(last: &Slice, event: &Event) -> bool {
    match event.kind {
        EventKind::Wake => last.strand.is_some() && last.strand == event.strand,
        EventKind::HandOff => true,
        _ => false,
    }
}

/// Text as JSON has it: control characters and quotes are escaped.
fn json(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// A duration in microseconds, to the nanosecond.
#[derive(Clone, Copy)]
struct Micros(Duration);

impl fmt::Display for Micros {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nanos = self.0.as_nanos();
        write!(f, "{}.{:03}", nanos / 1000, nanos % 1000)
    }
}

/// A further argument, if there is one.
struct Field<T>(&'static str, Option<T>);

impl<T: fmt::Display> fmt::Display for Field<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.1 {
            Some(value) => write!(f, ",\"{}\":{value}", self.0),
            None => Ok(()),
        }
    }
}
