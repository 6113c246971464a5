//! How much has a guest used, though its store can be asked only now and then?
//!
//! ```text
//!   store's fuel   |----------- interval -----------|--- interval ---…
//!   read at             ^call      ^call            (pause: not readable)          ^call, end
//! ```
//!
//! While a guest is suspended, its store belongs to the suspended call, and nobody can read the
//! fuel there. It is read when the guest calls an import, and at the end. In between, a pause at the
//! end of an interval says that at least the rest of the interval was used: that much is counted at
//! once, *ahead* of the reading, and the next reading adds only what it was more (one operation may
//! cost more than an interval: a large `memory.fill`).
//!
//! 1. Over a whole life the steps' `used` add up to what the store and the calls have charged.
//! 2. A step that is not the last reports no more than its fuel. The rest is *debt*: later steps pay
//!    it first, and one that is owed whole does not run the guest.
//! 3. What calls cost is taken off the store's fuel whenever a new interval begins.

/// The account of one instance.
#[derive(Debug)]
pub(super) struct Meter {
    /// Operations after which the store pauses the guest.
    interval: u64,
    /// The store's fuel at the last reading.
    fuel: u64,
    /// Counted since that reading, on the word of pauses.
    ahead: u64,
    /// Read since the interval began.
    in_interval: u64,
    /// Charged by calls, and not yet taken off the store's fuel.
    charged: u64,
    /// What this step may use.
    allowed: u64,
    /// What this step has used, debt included.
    used: u64,
    /// What earlier steps have used beyond what they were allowed.
    debt: u64,
}

impl Meter {
    /// For a store that has so much fuel, and pauses after `interval` of it.
    pub(super) fn new(fuel: u64, interval: u64) -> Meter {
        Meter { interval, fuel, ahead: 0, in_interval: 0, charged: 0, allowed: 0, used: 0, debt: 0 }
    }

    /// A step begins. `false`: all of it is owed, and the guest does not run.
    #[must_use]
    pub(super) fn begin(&mut self, allowed: u64) -> bool {
        if self.debt > 0 && self.debt >= allowed {
            self.debt -= allowed;
            return false;
        }
        self.allowed = allowed;
        self.used = std::mem::take(&mut self.debt);
        true
    }

    /// The store's fuel is read.
    pub(super) fn read(&mut self, fuel: u64) {
        let gone = self.fuel.saturating_sub(fuel);
        let news = gone.saturating_sub(self.ahead);
        self.used = self.used.saturating_add(news);
        self.in_interval = self.in_interval.saturating_add(news);
        self.fuel = fuel;
        self.ahead = 0;
    }

    /// A call costs so much.
    pub(super) fn charge(&mut self, cost: u64) {
        self.used = self.used.saturating_add(cost);
        self.charged = self.charged.saturating_add(cost);
    }

    /// Whether the step has used what it may.
    pub(super) fn spent(&self) -> bool {
        self.used >= self.allowed
    }

    /// The store has paused the guest at the end of an interval, and begun another.
    pub(super) fn interval_over(&mut self) {
        let rest = self.interval.saturating_sub(self.in_interval);
        self.used = self.used.saturating_add(rest);
        self.ahead = self.ahead.saturating_add(rest);
        self.in_interval = 0;
    }

    /// A new interval begins, just after a reading. The store's fuel is to be set to the answer.
    #[must_use]
    pub(super) fn new_interval(&mut self) -> u64 {
        self.fuel = self.fuel.saturating_sub(std::mem::take(&mut self.charged));
        self.in_interval = 0;
        self.fuel
    }

    /// A step ends that is not the last: what it used.
    pub(super) fn pause(&mut self) -> u64 {
        let used = self.used.min(self.allowed);
        self.debt = self.used - used;
        used
    }

    /// The last step ends: what it used.
    pub(super) fn end(&self) -> u64 {
        self.used
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FUEL: u64 = 1_000_000;

    #[test]
    fn a_step_of_pure_computing_counts_its_interval() {
        let mut meter = Meter::new(FUEL, 100);
        assert!(meter.begin(100));
        meter.interval_over();
        assert_eq!(meter.pause(), 100);
    }

    #[test]
    fn what_was_counted_ahead_is_not_counted_again() {
        let mut meter = Meter::new(FUEL, 100);
        assert!(meter.begin(100));
        meter.interval_over();
        assert_eq!(meter.pause(), 100);
        assert!(meter.begin(100));
        meter.read(FUEL - 130); // 30 into the second interval
        assert_eq!(meter.end(), 30);
    }

    #[test]
    fn an_interval_that_was_read_in_the_middle_counts_once() {
        let mut meter = Meter::new(FUEL, 100);
        assert!(meter.begin(100));
        meter.read(FUEL - 40);
        meter.interval_over();
        assert_eq!(meter.pause(), 100);
        assert!(meter.begin(100));
        meter.read(FUEL - 101);
        assert_eq!(meter.end(), 1);
    }

    /// Invariants 1 and 2.
    #[test]
    fn an_operation_larger_than_an_interval_is_paid_in_later_steps() {
        let mut meter = Meter::new(FUEL, 100);
        assert!(meter.begin(100));
        meter.interval_over();
        assert_eq!(meter.pause(), 100);
        assert!(meter.begin(100));
        meter.read(FUEL - 450); // 100 were counted, 350 were not
        assert!(meter.spent());
        assert_eq!(meter.pause(), 100);
        assert!(!meter.begin(100));
        assert!(!meter.begin(100));
        assert!(meter.begin(100));
        assert_eq!(meter.end(), 50);
    }

    /// Invariant 3.
    #[test]
    fn calls_are_taken_off_the_fuel_when_an_interval_begins() {
        let mut meter = Meter::new(FUEL, 100);
        assert!(meter.begin(100));
        meter.read(FUEL - 10);
        meter.charge(25);
        assert!(!meter.spent());
        assert_eq!(meter.new_interval(), FUEL - 35);
        assert_eq!(meter.new_interval(), FUEL - 35);
        assert_eq!(meter.pause(), 35);
    }

    #[test]
    fn a_call_that_costs_more_than_everything_leaves_no_fuel() {
        let mut meter = Meter::new(FUEL, 100);
        assert!(meter.begin(100));
        meter.charge(u64::MAX);
        meter.charge(1);
        assert_eq!(meter.new_interval(), 0);
        assert_eq!(meter.pause(), 100);
    }
}
