//! Which metrics are there, layer by layer?
//!
//! This is the list that docs/metrics.md is made from. What a node adds of its own is listed there.

use super::{Family, Kind, Unit};

/// The metrics of one layer.
#[derive(Clone, Copy, Debug)]
pub struct Layer {
    /// What it is called.
    pub title: &'static str,
    /// What all of its names begin with.
    pub prefix: &'static str,
    /// What its labels mean, and where it is to be had.
    pub about: &'static str,
    /// Its metrics.
    pub families: &'static [&'static Family],
}

/// Each family by the name that the code knows it by, and all of them as a list.
macro_rules! families {
    ($($item:ident = $name:literal $kind:ident $unit:ident $labels:expr, $help:literal;)*) => {
        $(
            #[doc = $help]
            pub static $item: Family = Family {
                name: $name,
                kind: Kind::$kind,
                unit: Unit::$unit,
                labels: &$labels,
                help: $help,
            };
        )*
        /// All of them.
        pub static ALL: &[&Family] = &[$(&$item),*];
    };
}

/// All layers of the library, from the bottom to the top, and the operating system's process.
pub const LAYERS: [Layer; 6] = [
    Layer {
        title: "Kernel",
        prefix: "shiftwork_kernel_",
        about: "From `Samples::runtime`. `runtime` is the name it is given there, `worker` the \
                worker's number.",
        families: kernel::ALL,
    },
    Layer {
        title: "Processes",
        prefix: "shiftwork_process_",
        about: "From `Samples::processes`. `runtime` is the name that the runtime is given there.",
        families: process::ALL,
    },
    Layer {
        title: "Jobs",
        prefix: "shiftwork_job_",
        about: "From `Samples::jobs`. `pool` is the name it is given there.",
        families: job::ALL,
    },
    Layer {
        title: "Tasks",
        prefix: "shiftwork_task_",
        about: "From `Samples::tasks`. `program` is the name it is given there.",
        families: task::ALL,
    },
    Layer {
        title: "Shards",
        prefix: "shiftwork_shard_",
        about: "From `Samples::shards`: all shards of the program together, so that a page is no \
                longer with ten thousand of them.",
        families: shard::ALL,
    },
    Layer {
        title: "The program",
        prefix: "process_",
        about: "From `Samples::program`, on Linux. The names are those that every client of \
                Prometheus gives them.",
        families: program::ALL,
    },
];

/// Of runtimes: [`Samples::runtime`](super::Samples::runtime).
pub mod kernel {
    use super::*;

    families! {
        TURNS = "shiftwork_kernel_turns_total" Counter Count ["runtime", "worker"],
            "Turns that workers gave.";
        WAKES = "shiftwork_kernel_wakes_total" Counter Count ["runtime", "worker"],
            "What turns on this worker put in line.";
        STEALS = "shiftwork_kernel_steals_total" Counter Count ["runtime", "worker"],
            "Times that a worker took work from another.";
        PARKS = "shiftwork_kernel_parks_total" Counter Count ["runtime", "worker"],
            "Times that a worker went to sleep.";
        HAND_OFFS = "shiftwork_kernel_hand_offs_total" Counter Count ["runtime", "worker"],
            "Turns that were handed over at once, past the line.";
        PANICS = "shiftwork_kernel_panics_total" Counter Count ["runtime", "worker"],
            "Turns that ended in a panic.";
        OVERRUNS = "shiftwork_kernel_overruns_total" Counter Count ["runtime", "worker"],
            "Turns that went on well after their quantum.";
        CPU = "shiftwork_kernel_cpu_seconds_total" Counter Seconds ["runtime", "worker"],
            "CPU time of workers, where the system tells it.";
        WORKERS = "shiftwork_kernel_workers" Gauge Count ["runtime", "state"],
            "Workers by what they do: running, searching, idle, paused, stopped.";
        QUEUED = "shiftwork_kernel_queued" Gauge Count ["runtime"],
            "What waits for a turn.";
        TIMERS = "shiftwork_kernel_timers" Gauge Count ["runtime"],
            "Timers that wait.";
        DROPPED = "shiftwork_kernel_dropped_total" Counter Count ["runtime"],
            "What was queued and got no turn before the runtime stopped.";
        WAITING = "shiftwork_kernel_waiting_seconds" Histogram Seconds ["runtime"],
            "From being queued to the turn: of one turn in 128, of all while recording.";
        RUNNING = "shiftwork_kernel_running_seconds" Histogram Seconds ["runtime"],
            "Lengths of turns: of one turn in 128, of all while recording.";
    }
}

/// Of processes: `Samples::processes`.
pub mod process {
    use super::*;

    families! {
        PROCESSES = "shiftwork_process_processes" Gauge Count ["runtime", "state"],
            "Processes by what they do: ready, running, blocked, idle.";
        MESSAGES = "shiftwork_process_mailbox_messages" Gauge Count ["runtime"],
            "Messages that wait in the mailboxes of all processes.";
        MESSAGES_MAX = "shiftwork_process_mailbox_messages_max" Gauge Count ["runtime"],
            "Messages in the mailbox with the most of them.";
        DROPPED = "shiftwork_process_mailbox_dropped" Gauge Count ["runtime"],
            "Messages that were dropped for newer ones, of processes that are there now.";
    }
}

/// Of pools of jobs: `Samples::jobs`.
pub mod job {
    use super::*;

    families! {
        SCHEDULED = "shiftwork_job_scheduled_total" Counter Count ["pool"],
            "Jobs that were taken.";
        ENDED = "shiftwork_job_ended_total" Counter Count ["pool", "outcome"],
            "Jobs that ended, by outcome: completed, failed, cancelled.";
        UNFINISHED = "shiftwork_job_unfinished" Gauge Count ["pool"],
            "Jobs that wait or run.";
        DEADLINES_MISSED = "shiftwork_job_deadlines_missed_total" Counter Count ["pool"],
            "Deadlines that were missed.";
        ENDED_BY_WORKER = "shiftwork_job_worker_ended_total" Counter Count ["pool", "worker"],
            "Jobs that ended on each worker.";
        EXECUTION = "shiftwork_job_execution_seconds_total" Counter Seconds ["pool", "worker"],
            "Time that workers executed jobs; of large batches of short jobs one in 64 is timed, and counts for all.";
        WAITING = "shiftwork_job_waiting_seconds" Histogram Seconds ["pool"],
            "From being ready to the start; of large batches one job in 64 is timed, and counts for all.";
        ESTIMATE_ERROR = "shiftwork_job_estimate_error_seconds" Gauge Seconds ["pool"],
            "How far estimates were off, on average.";
        ESTIMATE_ERROR_RATIO = "shiftwork_job_estimate_error_ratio" Gauge Ratio ["pool"],
            "The same as a share of what the jobs took.";
    }
}

/// Of programs of tasks: `Samples::tasks`.
pub mod task {
    use super::*;

    families! {
        SPAWNED = "shiftwork_task_spawned_total" Counter Count ["program"],
            "Tasks that were spawned.";
        ENDED = "shiftwork_task_ended_total" Counter Count ["program", "outcome"],
            "Tasks that ended, by outcome: completed, failed.";
        LIVE = "shiftwork_task_live" Gauge Count ["program"],
            "Tasks that have not ended.";
        LIVE_MAX = "shiftwork_task_live_max" Gauge Count ["program"],
            "The most tasks that there were at once.";
        SWITCHES = "shiftwork_task_switches_total" Counter Count ["program"],
            "Times that a worker turned to a task.";
        PREEMPTIONS = "shiftwork_task_preemptions_total" Counter Count ["program"],
            "Times that a task had to make room after its slice of operations.";
        HOST_CALLS = "shiftwork_task_host_calls_total" Counter Count ["program"],
            "Calls of the host's functions.";
        OPERATIONS = "shiftwork_task_operations_total" Counter Count ["program"],
            "Operations that tasks have used, as they are metered.";
        CHANNELS = "shiftwork_task_channels" Gauge Count ["program"],
            "Open channels, and closed ones that are not drained.";
        MUTEXES = "shiftwork_task_mutexes" Gauge Count ["program"],
            "Mutexes.";
        IN_FLIGHT = "shiftwork_task_in_flight_bytes" Gauge Bytes ["program"],
            "Messages, cells, inputs and selects that wait.";
        MEMORY = "shiftwork_task_memory_bytes" Gauge Bytes ["program"],
            "Memories, tables and stacks of tasks.";
    }
}

/// Of shards: `Samples::shards`.
pub mod shard {
    use super::*;

    families! {
        SHARDS = "shiftwork_shard_shards" Gauge Count [],
            "Shards that exist.";
        QUARANTINED = "shiftwork_shard_quarantined" Gauge Count [],
            "Shards that execute nothing because they have failed.";
        BLOCKS = "shiftwork_shard_blocks" Gauge Count [],
            "The heights of all shards together.";
        BLOCKS_PARALLEL = "shiftwork_shard_blocks_parallel_total" Counter Count [],
            "Blocks whose transactions were executed side by side.";
        INCLUDED = "shiftwork_shard_transactions_included_total" Counter Count [],
            "Transactions in blocks since the shards were opened.";
        POOL = "shiftwork_shard_pool_transactions" Gauge Count ["state"],
            "Transactions in all pools, by state: ready, executing, nonce_missing.";
        POOL_BYTES = "shiftwork_shard_pool_bytes" Gauge Bytes [],
            "The transactions in all pools.";
        COMMITS = "shiftwork_shard_commits_total" Counter Count [],
            "Writes to the log, each of many records and with one sync at most.";
        COMMIT_RECORDS = "shiftwork_shard_commit_records_total" Counter Count [],
            "Blocks and acceptances in them.";
        COMMIT_FOLDS = "shiftwork_shard_commit_folds_total" Counter Count [],
            "Logs that were folded into the tables.";
        COMMIT_FAILURES = "shiftwork_shard_commit_failures_total" Counter Count [],
            "Times that the store has failed.";
    }
}

/// Of the operating system's process: [`Samples::program`](super::Samples::program).
pub mod program {
    use super::*;

    families! {
        CPU = "process_cpu_seconds_total" Counter Seconds [],
            "CPU time of all threads, in user mode and in the system.";
        RESIDENT = "process_resident_memory_bytes" Gauge Bytes [],
            "Memory that is in RAM.";
        VIRTUAL = "process_virtual_memory_bytes" Gauge Bytes [],
            "Memory that has addresses.";
        THREADS = "process_threads" Gauge Count [],
            "Threads of the program.";
        OPEN_FDS = "process_open_fds" Gauge Count [],
            "Open files and sockets.";
        MAX_FDS = "process_max_fds" Gauge Count [],
            "As many may be open at once; nothing if there is no limit.";
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_keeps_to_the_scheme_and_is_there_once() {
        let mut names = Vec::new();
        for layer in LAYERS {
            for family in layer.families {
                assert_eq!(family.check(&[layer.prefix]), Ok(()));
                names.push(family.name);
            }
        }
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all);
    }
}
