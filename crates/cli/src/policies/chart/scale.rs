//! Where scales end, and what stands at their ticks.

use std::time::Duration;

use crate::text::precise;

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
}
