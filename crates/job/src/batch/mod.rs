//! Jobs that are submitted together, and who of them waits for whom.

pub(crate) mod handle;
pub(crate) mod layout;
pub(crate) mod node;
pub(crate) mod shape;
pub(crate) mod typed;

use std::{fmt, sync::Arc, time::Duration};

use crate::{
    about::{About, Kept},
    batch::{
        layout::{Edge, Layout, lay_out},
        node::{After, Node, Predecessor},
        shape::Shape,
    },
    body::Body,
    error::Error,
    graph::{
        cell::{Bodies, Cell},
        cells::Cells,
        typed::Payloads,
        word::Word,
    },
    id::{BATCH_MAX, JobId},
    job::Job,
    sync::atomic::Ordering::Relaxed,
};

/// So many dependencies a batch can have.
pub const DEPENDENCIES_MAX: usize = 1 << 26;

/// The ticket of a batch whose jobs have no tokens: nobody can ask for one of them.
pub(crate) const UNNAMED: u64 = u64::MAX;

/// What a job that fails, or is cancelled, does to those that depend on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum OnFailure {
    /// They fail too, with the reason, without having run.
    #[default]
    FailDependents,
    /// They run all the same, and find no result.
    RunDependents,
}

/// Jobs that are put together, checked, and submitted as one.
///
/// ```
/// use job::{Batch, Job, Pool};
///
/// let pool = Pool::new()?;
/// let mut batch = Batch::new();
/// let fetch = batch.add(Job::new(|_| "a long text"));
/// let text = fetch.dep();
/// let count = batch.add(Job::new(move |cx| cx.get(text).unwrap().len()).after(&fetch));
/// let handle = pool.submit_batch(batch)?;
/// assert_eq!(handle.job(count).join()?, 11);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "its jobs are done once the batch is submitted"]
pub struct Batch {
    pub(crate) ticket: u64,
    pub(crate) words: Vec<Word>,
    pub(crate) cells: Content,
    edges: Vec<Edge>,
    /// Whether a job waits for one that was added later, so that there may be a cycle.
    tangled: bool,
    /// Dependencies that are not known by an index: on others, and by ids.
    pub(crate) open: Vec<(u32, After)>,
    pub(crate) kept: Vec<Kept>,
    pub(crate) ids: Vec<(u32, JobId)>,
    pub(crate) deadlines: Vec<(u32, Duration)>,
    pub(crate) on_failure: OnFailure,
    /// What failed in other batches does not count.
    pub(crate) forgiving: bool,
    pub(crate) timed: bool,
    pub(crate) by_levels: bool,
    pub(crate) some_resumable: bool,
    pub(crate) layout: Option<Arc<Layout>>,
}

/// The bodies: each of a type of its own, or all of one.
pub(crate) enum Content {
    Mixed(Bodies),
    Typed(Payloads),
}

impl Content {
    pub(crate) fn into_cells(self) -> Cells {
        match self {
            Content::Mixed(bodies) => Cells::Mixed(bodies.into_cells()),
            Content::Typed(payloads) => Cells::Typed(payloads.into_cells()),
        }
    }
}

impl Default for Batch {
    fn default() -> Batch {
        Batch::new()
    }
}

impl Batch {
    /// A batch without jobs.
    pub fn new() -> Batch {
        Batch::with_capacity(0)
    }

    /// A batch with room for so many jobs.
    pub fn with_capacity(jobs: usize) -> Batch {
        // Tokens of one batch are worth nothing in another. Not one of the facade's: it is no
        // business of a model.
        static TICKETS: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(1);
        let mut batch = Batch::of(TICKETS.fetch_add(1, Relaxed));
        batch.words.reserve_exact(jobs);
        if let Content::Mixed(bodies) = &mut batch.cells {
            bodies.0.reserve_exact(jobs);
        }
        batch
    }

    /// A batch of one job, for which nobody needs tokens.
    pub(crate) fn single<B: Body>(body: B, about: Option<&About>, after: &[After]) -> Batch {
        let mut batch = Batch::of(0);
        batch.push(body, about);
        for after in after {
            batch.link(0, after.clone());
        }
        batch
    }

    /// Takes the body of a batch of one job back.
    pub(crate) fn into_single<B: Body>(mut self) -> B {
        match &mut self.cells {
            // SAFETY: `single` made it, with a body of this type.
            Content::Mixed(bodies) => unsafe { bodies.pop() }.expect("it has one job"),
            Content::Typed(_) => unreachable!("it has one job of its own type"),
        }
    }

    fn of(ticket: u64) -> Batch {
        Batch {
            ticket,
            words: Vec::new(),
            cells: Content::Mixed(Bodies::default()),
            edges: Vec::new(),
            tangled: false,
            open: Vec::new(),
            kept: Vec::new(),
            ids: Vec::new(),
            deadlines: Vec::new(),
            on_failure: OnFailure::default(),
            forgiving: false,
            timed: false,
            by_levels: false,
            some_resumable: false,
            layout: None,
        }
    }

    /// Adds a job.
    #[inline]
    pub fn add<B: Body>(&mut self, job: Job<B>) -> Node<B::Output, B::Error> {
        let Job { body, about, after } = job;
        let index = self.push(body, about.as_ref());
        for after in after {
            self.link(index, after);
        }
        Node::new(self.ticket, index)
    }

    #[inline]
    fn push<B: Body>(&mut self, body: B, about: Option<&About>) -> u32 {
        match &mut self.cells {
            Content::Mixed(bodies) => bodies.0.push(Cell::new(body)),
            Content::Typed(_) => panic!("a typed batch takes no other jobs"),
        }
        self.some_resumable |= B::RESUMABLE;
        let index = self.push_word();
        if let Some(about) = about {
            self.kept.resize(index as usize, Kept::default());
            self.kept.push(Kept::new(about));
            self.ids.extend(about.id.map(|id| (index, id)));
            self.deadlines.extend(about.deadline.map(|deadline| (index, deadline)));
        }
        index
    }

    #[inline]
    fn push_word(&mut self) -> u32 {
        self.words.push(Word::new(0));
        self.layout = None;
        self.len() as u32 - 1
    }

    /// Makes a job of this batch wait for another: one of the batch, whichever was added first, or
    /// one that was submitted before.
    ///
    /// # Panics
    /// If `job` is of another batch.
    #[inline]
    pub fn depend<R, E>(&mut self, job: &Node<R, E>, on: &impl Predecessor) {
        assert_eq!(job.dep().batch(), self.ticket, "the job is of another batch");
        self.layout = None;
        self.link(job.dep().index(), on.to_after());
    }

    #[inline]
    fn link(&mut self, index: u32, after: After) {
        match after {
            After::Node { batch, index: before } => {
                assert_eq!(
                    batch, self.ticket,
                    "a job waits for one of another batch that is not submitted yet"
                );
                self.connect(before, index);
            }
            other => self.open.push((index, other)),
        }
    }

    #[inline]
    pub(crate) fn connect(&mut self, before: u32, index: u32) {
        self.tangled |= before >= index;
        // A batch with too many dependencies is refused before the count could overflow.
        if self.edges.len() <= DEPENDENCIES_MAX {
            self.words[index as usize].expect_one_more();
        }
        self.edges.push((before, index));
    }

    /// What a job that fails does to those that depend on it: they fail too unless said otherwise.
    pub fn on_failure(mut self, on_failure: OnFailure) -> Batch {
        self.on_failure = on_failure;
        self
    }

    /// Times every job, however many there are.
    pub fn timed(mut self) -> Batch {
        self.timed = true;
        self
    }

    /// Runs it level by level: first the jobs that wait for nobody, then those that wait only for
    /// these, and so on, and nobody starts with a level before all jobs of the one before have ended.
    /// For very many very small jobs this costs a fraction of counting who waits for whom. It is wrong
    /// where jobs take long or wait for each other by other means: a single one keeps all later levels
    /// waiting, also those that do not depend on it.
    ///
    /// It is a hint. Other policies than [`WorkStealing`](crate::Policy::WorkStealing) have an order of
    /// their own; there, in a simulation, and for batches that depend on others or have resumable jobs,
    /// it changes nothing.
    ///
    /// ```
    /// use std::convert::Infallible;
    /// use job::{Context, Pool, Shape};
    ///
    /// // A thousand columns; each cell waits for three of the row above.
    /// let above = |cell: u32| [999, 1_000, 1_001].map(|back| cell.saturating_sub(back));
    /// let before: Vec<[u32; 3]> = (0..100_000).map(above).collect();
    /// let shape = Shape::from_predecessors(100_000, |cell| match cell {
    ///     0..1_001 => &[],
    ///     _ => &before[cell as usize],
    /// })?;
    /// let pool = Pool::new()?;
    /// let step = |(), cx: &mut Context<'_, '_>| Ok::<u32, Infallible>(cx.index());
    /// let batch = shape.batch(vec![(); shape.len()], step).by_levels();
    /// pool.submit_batch(batch)?.wait()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn by_levels(mut self) -> Batch {
        self.by_levels = true;
        self
    }

    /// How many jobs it has.
    #[inline]
    pub fn len(&self) -> usize {
        self.words.len()
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// Checks and lays out the dependencies now, so that the submission takes no time for it. It is
    /// done there otherwise.
    ///
    /// # Errors
    /// If jobs wait for each other, an id is there twice, or the batch is too large.
    pub fn seal(&mut self) -> Result<(), Error> {
        if self.layout.is_none() {
            self.lay_out()?;
        }
        if let Some(layout) = &self.layout
            && self.by_levels
        {
            layout.levels();
        }
        Ok(())
    }

    fn lay_out(&mut self) -> Result<(), Error> {
        self.resolve_own()?;
        let (jobs, dependencies) = (self.len(), self.edges.len() + self.open.len());
        if jobs > BATCH_MAX {
            return Err(Error::TooLarge { size: jobs, max: BATCH_MAX });
        }
        if dependencies > DEPENDENCIES_MAX {
            return Err(Error::TooLarge { size: dependencies, max: DEPENDENCIES_MAX });
        }
        match lay_out(&self.words, &self.edges, self.tangled) {
            Ok(layout) => self.layout = Some(Arc::new(layout)),
            Err(cycle) => {
                return Err(Error::Cycle(cycle.into_iter().map(|at| self.name(at)).collect()));
            }
        }
        Ok(())
    }

    /// Who waits for whom in this batch, for further batches that are alike: see [`Shape`].
    ///
    /// # Errors
    /// As for [`seal`](Batch::seal).
    pub fn shape(&mut self) -> Result<Shape, Error> {
        self.seal()?;
        Ok(Shape::new(self.layout.clone().expect("it was sealed")))
    }

    /// A batch of this shape.
    pub(crate) fn shaped(layout: &Arc<Layout>, cells: Content) -> Batch {
        let mut batch = Batch::of(UNNAMED);
        batch.words = layout.words();
        batch.layout = Some(layout.clone());
        batch.cells = cells;
        batch
    }

    /// A batch of jobs that wait for so many others each, by these dependencies on jobs before them.
    /// Its content is still to come: see [`Pool::take_with`](crate::Pool::take_with).
    pub(crate) fn hollow(words: Vec<Word>, edges: Vec<Edge>, kept: Vec<Kept>) -> Batch {
        debug_assert!(
            edges.iter().all(|(before, index)| before < index),
            "it could wait for itself"
        );
        Batch { words, edges, kept, ..Batch::new() }
    }

    /// Finds ids that are there twice, and dependencies by id on jobs of this batch.
    fn resolve_own(&mut self) -> Result<(), Error> {
        if self.ids.is_empty() {
            return Ok(());
        }
        let mut own = std::collections::HashMap::with_capacity(self.ids.len());
        for (index, id) in &self.ids {
            if own.insert(*id, *index).is_some() {
                return Err(Error::DuplicateJob(*id));
            }
        }
        let mut found = Vec::new();
        self.open.retain(|(index, after)| match after {
            After::Id(id) => match own.get(id) {
                Some(before) => {
                    found.push((*before, *index));
                    false
                }
                None => true,
            },
            _ => true,
        });
        for (before, index) in found {
            self.connect(before, index);
        }
        Ok(())
    }

    /// How many jobs wait for one; for a sealed batch.
    pub(crate) fn successors(&self, index: u32) -> u32 {
        let starts = self.layout.as_ref().map_or(&[][..], |layout| &layout.starts);
        match starts.get(index as usize..index as usize + 2) {
            Some([from, to]) => to - from,
            _ => 0,
        }
    }

    /// What a job is called before it is submitted.
    pub(crate) fn name(&self, index: u32) -> JobId {
        match self.ids.binary_search_by_key(&index, |(at, _)| *at) {
            Ok(at) => self.ids[at].1,
            Err(_) => JobId::ours(0, index),
        }
    }
}

impl fmt::Debug for Batch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Batch")
            .field("jobs", &self.len())
            .field("dependencies", &(self.edges.len() + self.open.len()))
            .field("on_failure", &self.on_failure)
            .finish_non_exhaustive()
    }
}
