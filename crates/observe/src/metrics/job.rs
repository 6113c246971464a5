//! What has a pool of jobs done?

use job::Pool;

use super::{
    Samples,
    families::job::{
        DEADLINES_MISSED, ENDED, ENDED_BY_WORKER, ESTIMATE_ERROR, ESTIMATE_ERROR_RATIO, EXECUTION,
        SCHEDULED, UNFINISHED, WAITING,
    },
};

impl Samples {
    /// Adds what a pool tells of itself, under this name.
    pub fn jobs(&mut self, name: &str, pool: &Pool) {
        let metrics = pool.metrics();
        self.add(&SCHEDULED, &[name], metrics.scheduled);
        self.add(&ENDED, &[name, "completed"], metrics.completed);
        self.add(&ENDED, &[name, "failed"], metrics.failed);
        self.add(&ENDED, &[name, "cancelled"], metrics.cancelled);
        self.add(&UNFINISHED, &[name], metrics.queue_depth);
        self.add(&DEADLINES_MISSED, &[name], metrics.deadlines_missed);
        for (number, worker) in metrics.workers.iter().enumerate() {
            let number = number.to_string();
            self.add(&ENDED_BY_WORKER, &[name, &number], worker.jobs);
            self.add(&EXECUTION, &[name, &number], worker.execution);
        }
        self.add(&WAITING, &[name], &metrics.waiting);
        self.family(&ESTIMATE_ERROR);
        if let Some(error) = metrics.estimate_error_average {
            self.add(&ESTIMATE_ERROR, &[name], error);
        }
        self.family(&ESTIMATE_ERROR_RATIO);
        if let Some(error) = metrics.estimate_error_ratio {
            self.add(&ESTIMATE_ERROR_RATIO, &[name], error);
        }
    }
}
