//! What has a program of tasks done, and what does it hold?

use task::Program;

use super::{
    Samples,
    families::task::{
        CHANNELS, ENDED, HOST_CALLS, IN_FLIGHT, LIVE, LIVE_MAX, MEMORY, MUTEXES, OPERATIONS,
        PREEMPTIONS, SPAWNED, SWITCHES,
    },
};

impl Samples {
    /// Adds what a program tells of itself, under this name.
    pub fn tasks(&mut self, name: &str, program: &Program) {
        let stats = program.stats();
        self.add(&SPAWNED, &[name], stats.spawned);
        self.add(&ENDED, &[name, "completed"], stats.completed);
        self.add(&ENDED, &[name, "failed"], stats.failed);
        self.add(&LIVE, &[name], stats.live);
        self.add(&LIVE_MAX, &[name], stats.live_max);
        self.add(&SWITCHES, &[name], stats.switches);
        self.add(&PREEMPTIONS, &[name], stats.preemptions);
        self.add(&HOST_CALLS, &[name], stats.host_calls);
        self.add(&OPERATIONS, &[name], stats.fuel);
        self.add(&CHANNELS, &[name], stats.channels);
        self.add(&MUTEXES, &[name], stats.mutexes);
        self.add(&IN_FLIGHT, &[name], stats.bytes_in_flight);
        self.add(&MEMORY, &[name], stats.memory);
    }
}
