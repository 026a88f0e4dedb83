//! How an attempt is ended at a time limit: the signal, a grace, KILL, giving up.

use std::time::Duration;

/// The least time after KILL before a process counts as unkillable: one with much memory on a
/// loaded machine does not vanish in an instant.
const LEAST_WAIT_AFTER_KILL: Duration = Duration::from_secs(1);

/// A step of the escalation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Send `--signal`, then CONT.
    Signal,
    /// Send KILL to what is left.
    Kill,
    /// Give up on it, and start no further attempt beside it.
    Abandon,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Running,
    Signalled,
    Killed,
}

/// The state of one attempt's limits. Times are since the start of the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Escalation {
    stage: Stage,
    due: Option<Duration>,
    limit: Option<Duration>,
    idle_timeout: Option<Duration>,
    by_idle_timeout: bool,
    grace: Duration,
    refused: bool,
}

impl Escalation {
    /// An escalation that starts at `limit` (never, if there is none), with this grace between the
    /// signal and KILL.
    pub(crate) fn new(limit: Option<Duration>, grace: Duration) -> Self {
        Self {
            stage: Stage::Running,
            due: limit,
            limit,
            idle_timeout: None,
            by_idle_timeout: false,
            grace,
            refused: false,
        }
    }

    /// The same, but also started by this idle time, first counted from `now`.
    pub(crate) fn with_idle_timeout(
        mut self,
        idle_timeout: Option<Duration>,
        now: Duration,
    ) -> Self {
        self.idle_timeout = idle_timeout;
        self.record_activity(now);
        self
    }

    /// Restarts the idle time at `now`, when the attempt has shown activity.
    pub(crate) fn record_activity(&mut self, now: Duration) {
        if self.stage != Stage::Running {
            return;
        }
        let idle_ends = self
            .idle_timeout
            .and_then(|idle_timeout| now.checked_add(idle_timeout));
        self.by_idle_timeout = match (idle_ends, self.limit) {
            (Some(ends), Some(limit)) => ends < limit,
            (ends, _) => ends.is_some(),
        };
        self.due = if self.by_idle_timeout {
            idle_ends
        } else {
            self.limit
        };
    }

    /// Starts the escalation at `now`, unless it has started: the attempt cannot go on.
    pub(crate) fn expire_now(&mut self, now: Duration) {
        if self.stage == Stage::Running {
            self.due = Some(now);
        }
    }

    /// Whether there is a limit of either kind.
    pub(crate) fn has_limit(&self) -> bool {
        self.limit.is_some() || self.idle_timeout.is_some()
    }

    /// Whether the idle timeout started it.
    pub(crate) fn is_idle_timeout(&self) -> bool {
        self.has_timed_out() && self.by_idle_timeout
    }

    /// Returns when the next step is due.
    pub(crate) fn due(&self) -> Option<Duration> {
        self.due
    }

    /// Whether the limit has been reached: the attempt has timed out, however it ends.
    pub(crate) fn has_timed_out(&self) -> bool {
        self.stage != Stage::Running
    }

    /// Whether KILL has been sent.
    pub(crate) fn kill_sent(&self) -> bool {
        self.stage == Stage::Killed
    }

    /// Records that the system refused our signals (EPERM): waiting longer will not help.
    pub(crate) fn record_refusal(&mut self) {
        self.refused = true;
    }

    /// Advances to the step that is due at `now`, if any.
    pub(crate) fn next_step(&mut self, now: Duration) -> Option<Step> {
        if self.due.is_none_or(|due| now < due) {
            return None;
        }
        let (stage, step) = match self.stage {
            Stage::Running => (Stage::Signalled, Step::Signal),
            Stage::Signalled => (Stage::Killed, Step::Kill),
            Stage::Killed => return Some(Step::Abandon),
        };
        self.stage = stage;
        self.record_sent(now);
        Some(step)
    }

    /// Restarts the wait after a signal at `now`, when it has been sent: on a busy machine sending
    /// takes time.
    pub(crate) fn record_sent(&mut self, now: Duration) {
        let wait = match self.stage {
            Stage::Running => return,
            Stage::Signalled => self.grace,
            Stage::Killed if self.refused => self.grace,
            Stage::Killed => self.grace.max(LEAST_WAIT_AFTER_KILL),
        };
        self.due = now.checked_add(wait);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    /// Compares all steps and their times in milliseconds, each taken as soon as it is due.
    #[track_caller]
    fn steps(mut escalation: Escalation, expected: &[(u64, Step)]) {
        let mut taken = Vec::new();
        while let Some(due) = escalation.due() {
            let step = escalation
                .next_step(due)
                .expect("a step is due at the time it says");
            taken.push((u64::try_from(due.as_millis()).expect("small"), step));
            if step == Step::Abandon {
                break;
            }
        }
        assert_eq!(taken, expected);
    }

    #[test]
    fn the_signal_comes_at_the_limit_and_kill_after_the_grace() {
        let escalation = Escalation::new(Some(ms(300)), ms(5000));
        steps(
            escalation,
            &[
                (300, Step::Signal),
                (5300, Step::Kill),
                (10_300, Step::Abandon),
            ],
        );
    }

    #[test]
    fn with_no_grace_kill_comes_at_once_and_has_time_to_work() {
        let escalation = Escalation::new(Some(ms(300)), Duration::ZERO);
        steps(
            escalation,
            &[
                (300, Step::Signal),
                (300, Step::Kill),
                (1300, Step::Abandon),
            ],
        );
    }

    #[test]
    fn what_refuses_our_signals_is_given_up_after_one_more_grace() {
        let mut escalation = Escalation::new(Some(ms(200)), ms(200));
        escalation.record_refusal();
        steps(
            escalation,
            &[(200, Step::Signal), (400, Step::Kill), (600, Step::Abandon)],
        );
    }

    #[test]
    fn without_a_limit_nothing_is_ever_due() {
        let mut escalation = Escalation::new(None, ms(5000));
        assert_eq!(escalation.next_step(Duration::MAX), None);
        assert!(!escalation.has_timed_out());
    }

    #[test]
    fn nothing_is_due_before_the_limit() {
        let mut escalation = Escalation::new(Some(ms(300)), ms(5000));
        assert_eq!(escalation.next_step(ms(299)), None);
        assert!(!escalation.has_timed_out());
    }

    #[test]
    fn a_step_that_comes_late_still_leaves_the_whole_grace() {
        let mut escalation = Escalation::new(Some(ms(300)), ms(5000));
        assert_eq!(escalation.next_step(ms(9000)), Some(Step::Signal));
        assert_eq!(escalation.next_step(ms(13_999)), None);
        assert_eq!(escalation.next_step(ms(14_000)), Some(Step::Kill));
    }

    #[test]
    fn what_is_sent_late_leaves_the_whole_time_that_follows_it() {
        let mut escalation = Escalation::new(Some(ms(300)), ms(50));
        assert_eq!(escalation.next_step(ms(300)), Some(Step::Signal));
        escalation.record_sent(ms(900));
        assert_eq!(escalation.next_step(ms(949)), None);
        assert_eq!(escalation.next_step(ms(950)), Some(Step::Kill));
        escalation.record_sent(ms(4000));
        assert_eq!(escalation.next_step(ms(4999)), None);
        assert_eq!(escalation.next_step(ms(5000)), Some(Step::Abandon));
    }

    #[test]
    fn an_endless_grace_never_kills() {
        let mut escalation = Escalation::new(Some(ms(300)), Duration::MAX);
        assert_eq!(escalation.next_step(ms(300)), Some(Step::Signal));
        assert_eq!(escalation.due(), None);
    }

    #[test]
    fn an_attempt_that_falls_silent_is_ended_counting_from_its_last_sign_of_life() {
        let mut escalation =
            Escalation::new(Some(ms(10_000)), ms(5000)).with_idle_timeout(Some(ms(700)), ms(100));
        assert_eq!(escalation.due(), Some(ms(800)));
        escalation.record_activity(ms(600));
        assert_eq!(escalation.next_step(ms(1299)), None);
        assert_eq!(escalation.next_step(ms(1300)), Some(Step::Signal));
        assert!(escalation.is_idle_timeout());
        escalation.record_activity(ms(1400));
        assert_eq!(
            escalation.due(),
            Some(ms(6300)),
            "its last words change nothing"
        );
    }

    #[test]
    fn a_lively_attempt_still_ends_at_its_limit() {
        let mut escalation =
            Escalation::new(Some(ms(1000)), ms(5000)).with_idle_timeout(Some(ms(700)), ms(0));
        escalation.record_activity(ms(900));
        assert_eq!(escalation.next_step(ms(1000)), Some(Step::Signal));
        assert!(escalation.has_timed_out() && !escalation.is_idle_timeout());
    }

    #[test]
    fn an_attempt_that_cannot_go_on_is_ended_at_once_and_only_once() {
        let mut escalation = Escalation::new(None, ms(5000));
        escalation.expire_now(ms(50));
        assert_eq!(escalation.next_step(ms(50)), Some(Step::Signal));
        escalation.expire_now(ms(60));
        assert_eq!(escalation.due(), Some(ms(5050)));
    }
}
