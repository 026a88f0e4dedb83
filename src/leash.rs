//! How an attempt is brought to an end at a time limit: the signal, a grace, KILL, and letting go.

use std::time::Duration;

/// How long what got KILL may take to be gone before it counts as unkillable, at the least: a
/// process with much memory on a loaded machine does not vanish in an instant.
const LEAST_WAIT_AFTER_KILL: Duration = Duration::from_secs(1);

/// What is due now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pull {
    /// Ask: send `--signal`, then CONT.
    Ask,
    /// Send KILL to what is left.
    Kill,
    /// Nothing more can be done: leave it behind, and start no further attempt beside it.
    LetGo,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Running,
    Asked,
    Killed,
}

/// The state of one attempt's limit. Times are since the start of the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Leash {
    stage: Stage,
    due: Option<Duration>,
    limit: Option<Duration>,
    silence: Option<Duration>,
    by_silence: bool,
    grace: Duration,
    refused: bool,
}

impl Leash {
    /// A leash that is pulled at `limit` (never, if there is none), with so much grace between the
    /// signal and KILL.
    pub(crate) fn new(limit: Option<Duration>, grace: Duration) -> Self {
        Self {
            stage: Stage::Running,
            due: limit,
            limit,
            silence: None,
            by_silence: false,
            grace,
            refused: false,
        }
    }

    /// The same, pulled also after so long a silence, first counted from `now`.
    pub(crate) fn with_silence(mut self, silence: Option<Duration>, now: Duration) -> Self {
        self.silence = silence;
        self.note_life(now);
        self
    }

    /// Notes that the attempt has shown itself alive at `now`.
    pub(crate) fn note_life(&mut self, now: Duration) {
        if self.stage != Stage::Running {
            return;
        }
        let silence_ends = self.silence.and_then(|silence| now.checked_add(silence));
        self.by_silence = match (silence_ends, self.limit) {
            (Some(ends), Some(limit)) => ends < limit,
            (ends, _) => ends.is_some(),
        };
        self.due = if self.by_silence {
            silence_ends
        } else {
            self.limit
        };
    }

    /// Pulls at `now` if nothing has yet: the attempt cannot go on.
    pub(crate) fn pull_at_once(&mut self, now: Duration) {
        if self.stage == Stage::Running {
            self.due = Some(now);
        }
    }

    /// Whether there is anything that pulls at a time.
    pub(crate) fn has_limit(&self) -> bool {
        self.limit.is_some() || self.silence.is_some()
    }

    /// Whether the limit that was reached, if any, was that for silence.
    pub(crate) fn is_pulled_by_silence(&self) -> bool {
        self.is_pulled() && self.by_silence
    }

    /// When the next pull is due.
    pub(crate) fn due(&self) -> Option<Duration> {
        self.due
    }

    /// Whether the limit has been reached: the attempt has timed out, however it ends.
    pub(crate) fn is_pulled(&self) -> bool {
        self.stage != Stage::Running
    }

    /// Whether KILL has been sent.
    pub(crate) fn is_spent(&self) -> bool {
        self.stage == Stage::Killed
    }

    /// Notes that the system refused our signals (EPERM): waiting longer will not help.
    pub(crate) fn note_refusal(&mut self) {
        self.refused = true;
    }

    /// What is due at `now`, if anything.
    pub(crate) fn pull(&mut self, now: Duration) -> Option<Pull> {
        if self.due.is_none_or(|due| now < due) {
            return None;
        }
        let (stage, pull) = match self.stage {
            Stage::Running => (Stage::Asked, Pull::Ask),
            Stage::Asked => (Stage::Killed, Pull::Kill),
            Stage::Killed => return Some(Pull::LetGo),
        };
        self.stage = stage;
        self.note_sent(now);
        Some(pull)
    }

    /// Notes that the signal that was due has been sent by `now`. On a busy machine that takes its
    /// time, which is not to be taken from what follows.
    pub(crate) fn note_sent(&mut self, now: Duration) {
        let wait = match self.stage {
            Stage::Running => return,
            Stage::Asked => self.grace,
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

    /// All pulls and their times, when each is taken as soon as it is due.
    #[track_caller]
    fn pulls(mut leash: Leash, expected: &[(u64, Pull)]) {
        let mut taken = Vec::new();
        while let Some(due) = leash.due() {
            let pull = leash.pull(due).expect("a pull is due at the time it says");
            taken.push((u64::try_from(due.as_millis()).expect("small"), pull));
            if pull == Pull::LetGo {
                break;
            }
        }
        assert_eq!(taken, expected);
    }

    #[test]
    fn the_signal_comes_at_the_limit_and_kill_after_the_grace() {
        let leash = Leash::new(Some(ms(300)), ms(5000));
        pulls(
            leash,
            &[(300, Pull::Ask), (5300, Pull::Kill), (10_300, Pull::LetGo)],
        );
    }

    #[test]
    fn with_no_grace_kill_comes_at_once_and_has_time_to_work() {
        let leash = Leash::new(Some(ms(300)), Duration::ZERO);
        pulls(
            leash,
            &[(300, Pull::Ask), (300, Pull::Kill), (1300, Pull::LetGo)],
        );
    }

    #[test]
    fn what_refuses_our_signals_is_given_up_after_one_more_grace() {
        let mut leash = Leash::new(Some(ms(200)), ms(200));
        leash.note_refusal();
        pulls(
            leash,
            &[(200, Pull::Ask), (400, Pull::Kill), (600, Pull::LetGo)],
        );
    }

    #[test]
    fn without_a_limit_nothing_is_ever_due() {
        let mut leash = Leash::new(None, ms(5000));
        assert_eq!(leash.pull(Duration::MAX), None);
        assert!(!leash.is_pulled());
    }

    #[test]
    fn nothing_is_due_before_the_limit() {
        let mut leash = Leash::new(Some(ms(300)), ms(5000));
        assert_eq!(leash.pull(ms(299)), None);
        assert!(!leash.is_pulled());
    }

    #[test]
    fn a_pull_that_comes_late_still_leaves_the_whole_grace() {
        let mut leash = Leash::new(Some(ms(300)), ms(5000));
        assert_eq!(leash.pull(ms(9000)), Some(Pull::Ask));
        assert_eq!(leash.pull(ms(13_999)), None);
        assert_eq!(leash.pull(ms(14_000)), Some(Pull::Kill));
    }

    #[test]
    fn what_is_sent_late_leaves_the_whole_time_that_follows_it() {
        let mut leash = Leash::new(Some(ms(300)), ms(50));
        assert_eq!(leash.pull(ms(300)), Some(Pull::Ask));
        leash.note_sent(ms(900));
        assert_eq!(leash.pull(ms(949)), None);
        assert_eq!(leash.pull(ms(950)), Some(Pull::Kill));
        leash.note_sent(ms(4000));
        assert_eq!(leash.pull(ms(4999)), None);
        assert_eq!(leash.pull(ms(5000)), Some(Pull::LetGo));
    }

    #[test]
    fn an_endless_grace_never_kills() {
        let mut leash = Leash::new(Some(ms(300)), Duration::MAX);
        assert_eq!(leash.pull(ms(300)), Some(Pull::Ask));
        assert_eq!(leash.due(), None);
    }

    #[test]
    fn an_attempt_that_falls_silent_is_ended_counting_from_its_last_sign_of_life() {
        let mut leash = Leash::new(Some(ms(10_000)), ms(5000)).with_silence(Some(ms(700)), ms(100));
        assert_eq!(leash.due(), Some(ms(800)));
        leash.note_life(ms(600));
        assert_eq!(leash.pull(ms(1299)), None);
        assert_eq!(leash.pull(ms(1300)), Some(Pull::Ask));
        assert!(leash.is_pulled_by_silence());
        leash.note_life(ms(1400));
        assert_eq!(leash.due(), Some(ms(6300)), "its last words change nothing");
    }

    #[test]
    fn a_lively_attempt_still_ends_at_its_limit() {
        let mut leash = Leash::new(Some(ms(1000)), ms(5000)).with_silence(Some(ms(700)), ms(0));
        leash.note_life(ms(900));
        assert_eq!(leash.pull(ms(1000)), Some(Pull::Ask));
        assert!(leash.is_pulled() && !leash.is_pulled_by_silence());
    }

    #[test]
    fn what_cannot_go_on_is_pulled_at_once_and_only_once() {
        let mut leash = Leash::new(None, ms(5000));
        leash.pull_at_once(ms(50));
        assert_eq!(leash.pull(ms(50)), Some(Pull::Ask));
        leash.pull_at_once(ms(60));
        assert_eq!(leash.due(), Some(ms(5050)));
    }
}
