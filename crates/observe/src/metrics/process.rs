//! How are the processes of a runtime?

use kernel::Handle;
use process::Processes;

use super::{
    Samples,
    families::process::{DROPPED, MESSAGES, MESSAGES_MAX, PROCESSES},
};

impl Samples {
    /// Adds what is known of all processes of a runtime, under this name. It looks at each of them.
    pub fn processes(&mut self, name: &str, runtime: &Handle) {
        let counts = runtime.process_counts();
        for (state, count) in [
            ("ready", counts.ready),
            ("running", counts.running),
            ("blocked", counts.blocked),
            ("idle", counts.idle),
        ] {
            self.add(&PROCESSES, &[name, state], count);
        }
        self.add(&MESSAGES, &[name], counts.messages);
        self.add(&MESSAGES_MAX, &[name], counts.messages_max);
        self.add(&DROPPED, &[name], counts.dropped);
    }
}
