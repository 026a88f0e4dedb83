//! The calls of the engine to its world, in their order.

use super::*;

/// A world that records its calls. Every attempt exits 7 but the last.
struct Listener {
    heard: Vec<String>,
    attempts: u64,
    hook: Option<Ending>,
    token: Token,
    deeds: Vec<BudgetOp>,
    /// The abort of a delivery, if one fails.
    breaks: Option<DeliveryAbort>,
    notes_slots: bool,
}

impl World for Listener {
    fn now(&self) -> Duration {
        Duration::ZERO
    }
    fn attempt(&mut self, attempt: &Attempt<'_>, _: &mut Emit<'_>) -> Result<Ending> {
        let last = attempt.last.map_or_else(String::new, Outcome::last_status);
        self.heard.push(format!("{} '{last}'", attempt.number));
        let code = if attempt.number < self.attempts { 7 } else { 0 };
        Ok(Outcome::Exited(code).into())
    }
    fn deliver(&mut self, verdict: Verdict, _: &mut Emit<'_>) -> Result<Option<DeliveryAbort>> {
        self.heard.push(format!("output: {verdict:?}"));
        Ok(self.breaks)
    }
    fn charge_budget(&mut self, op: BudgetOp, _: &mut Emit<'_>) -> Result<Token> {
        self.deeds.push(op);
        Ok(self.token)
    }
    fn pause(&mut self, _: Duration, _: &mut Emit<'_>) -> Result<Option<Signal>> {
        self.heard.push("delay".into());
        Ok(None)
    }
    fn enter(&mut self, entrance: Entrance, _: &mut Emit<'_>) -> Result<Slot> {
        if self.notes_slots {
            self.heard.push(format!("slot for {}", entrance.attempt));
        }
        Ok(Slot::Taken)
    }
    fn leave(&mut self) {
        if self.notes_slots {
            self.heard.push("slot given back".into());
        }
    }
    fn prepare(&mut self, retry: &Attempt<'_>, _: &mut Emit<'_>) -> Result<Option<Ending>> {
        let last = retry.last.map_or_else(String::new, Outcome::last_status);
        if self.hook.is_some() {
            self.heard.push(format!("before {} '{last}'", retry.number));
        }
        Ok(self.hook.clone())
    }
}

impl Listener {
    /// Runs in this world; returns how it exits, the calls, the lines.
    fn listen(
        flags: &str,
        hook: Option<Ending>,
        breaks: Option<DeliveryAbort>,
    ) -> (Exit, Vec<String>, String) {
        let mut listener = Self {
            heard: Vec::new(),
            attempts: 3,
            hook,
            token: Token::Granted,
            deeds: Vec::new(),
            breaks,
            notes_slots: false,
        };
        let job = job(flags);
        let text = Text::new(&job, Style::plain(String::new));
        let mut said = String::new();
        let mut emit = |event: &Event<'_>| said.extend(text.line(event));
        let ends = run(&job.policy, &mut listener, &mut || 0.5, &mut emit);
        (ends.expect("a virtual world"), listener.heard, said)
    }
}

#[test]
fn the_world_is_told_the_number_of_the_attempt_and_the_last_outcome() {
    let (exit, heard, _) = Listener::listen("-a 3", None, None);
    assert_eq!(exit, Exit::Code(0));
    let retrying = "output: Retrying";
    let expected = [
        "1 ''",
        retrying,
        "delay",
        "2 '7'",
        retrying,
        "delay",
        "3 '7'",
        "output: Succeeded",
    ];
    assert_eq!(heard, expected);
}

#[test]
fn what_is_to_run_before_a_retry_runs_after_the_delay() {
    let (exit, heard, _) = Listener::listen("-a 3", Some(Outcome::Exited(0).into()), None);
    assert_eq!(exit, Exit::Code(0));
    assert_eq!(&heard[2..5], ["delay", "before 2 '7'", "2 '7'"]);
}

#[test]
fn no_retry_comes_after_a_hook_that_failed_and_the_status_is_that_of_the_attempt() {
    for outcome in [Outcome::Exited(3), Outcome::TimedOut] {
        let (exit, heard, said) = Listener::listen("-a 3", Some(outcome.clone().into()), None);
        assert_eq!(exit, Exit::Code(7));
        assert_eq!(heard[3..], ["before 2 '7'", "output: Failed"]);
        assert!(
            said.contains(&format!("--before-retry failed: {outcome}")),
            "{said}"
        );
    }
}

#[test]
fn a_slot_covers_the_hook_and_the_attempt_and_never_a_delay() {
    let mut listener = Listener {
        heard: Vec::new(),
        attempts: 2,
        hook: Some(Outcome::Exited(0).into()),
        token: Token::Granted,
        deeds: Vec::new(),
        breaks: None,
        notes_slots: true,
    };
    let policy = job("-a 2").policy;
    run(&policy, &mut listener, &mut || 0.5, &mut |_| {}).expect("a virtual world");
    let expected = [
        "slot for 1",
        "1 ''",
        "slot given back",
        "output: Retrying",
        "delay",
        "slot for 2",
        "before 2 '7'",
        "2 '7'",
        "slot given back",
        "output: Succeeded",
    ];
    assert_eq!(listener.heard, expected);
    // A hook that fails gives it back before anybody waits for our readers.
    listener.heard.clear();
    listener.hook = Some(Outcome::Exited(3).into());
    run(&policy, &mut listener, &mut || 0.5, &mut |_| {}).expect("a virtual world");
    let end = [
        "slot for 2",
        "before 2 '7'",
        "slot given back",
        "output: Failed",
    ];
    assert_eq!(listener.heard[5..], end);
}

/// A hook that cannot be started, for a reason of this kind.
fn unstarted(class: FaultClass) -> Ending {
    cannot_start(class).ending
}

#[test]
fn a_hook_that_cannot_start_for_a_shortage_uses_up_an_attempt_and_is_tried_again() {
    for class in [FaultClass::Shortage, FaultClass::Busy] {
        let (exit, heard, said) = Listener::listen("-a 3", Some(unstarted(class)), None);
        // Neither the hook's status counts nor this attempt's: the command has not run.
        assert_eq!(exit, Exit::Code(7));
        let retrying = "output: Retrying";
        let expected = [
            "1 ''",
            retrying,
            "delay",
            "before 2 '7'",
            retrying,
            "delay",
            "before 3 '7'",
            "output: Failed",
        ];
        assert_eq!(heard, expected);
        let failed = "failed: cannot run: --before-retry: for a test; next in";
        assert!(said.contains(&format!("attempt 2/3 {failed}")), "{said}");
        let failed = "failed: cannot run: --before-retry: for a test; giving up";
        assert!(said.contains(&format!("attempt 3/3 {failed}")), "{said}");
    }
}

#[test]
fn a_hook_that_can_never_start_ends_the_run() {
    for class in [FaultClass::NotFound, FaultClass::NotExecutable] {
        let (exit, heard, said) = Listener::listen("-a 3", Some(unstarted(class)), None);
        assert_eq!((exit, heard.len()), (Exit::Code(7), 5));
        assert!(said.contains("--before-retry failed: cannot run"), "{said}");
    }
}

#[test]
fn lists_decide_about_a_hook_that_cannot_start_as_about_a_command() {
    let hook = || Some(unstarted(FaultClass::Shortage));
    for flags in ["-a 3 --retry-on 7", "-a 3 --stop-on spawn"] {
        let (exit, heard, _) = Listener::listen(flags, hook(), None);
        assert_eq!((exit, heard.len()), (Exit::Code(7), 5), "{flags}");
    }
    let (exit, heard, _) = Listener::listen("-a 3 --retry-on 7,spawn", hook(), None);
    assert_eq!((exit, heard.len()), (Exit::Code(7), 8));
}

#[test]
fn a_signal_during_the_hook_is_one_during_the_delay() {
    let hook = Ending {
        interrupted: Some(Signal::INT),
        ..Outcome::Exited(0).into()
    };
    let (exit, heard, _) = Listener::listen("-a 3", Some(hook), None);
    assert_eq!(exit, Exit::Raise(Signal::INT));
    assert_eq!(heard[3..], ["before 2 '7'", "output: Interrupted"]);
}

#[test]
fn only_retries_take_tokens_and_only_successes_give_back() {
    let mut listener = Listener {
        heard: Vec::new(),
        attempts: 3,
        hook: None,
        token: Token::Granted,
        deeds: Vec::new(),
        breaks: None,
        notes_slots: false,
    };
    let job = job("-a 9");
    run(&job.policy, &mut listener, &mut || 0.5, &mut |_| {}).expect("a virtual world");
    assert_eq!(
        listener.deeds,
        [BudgetOp::Spend, BudgetOp::Spend, BudgetOp::Refund]
    );
    listener = Listener {
        heard: Vec::new(),
        attempts: 9,
        token: Token::Refused,
        deeds: Vec::new(),
        ..listener
    };
    let exit = run(&job.policy, &mut listener, &mut || 0.5, &mut |_| {}).expect("a virtual world");
    assert_eq!(
        (exit, listener.deeds.as_slice()),
        (Exit::Code(7), [BudgetOp::Spend].as_slice())
    );
    assert_eq!(
        listener.heard,
        ["1 ''", "output: Retrying", "output: Failed"]
    );
}

#[test]
fn a_reader_that_is_gone_ends_the_run_without_a_word() {
    let (exit, heard, said) =
        Listener::listen("-q -a 1", None, Some(DeliveryAbort::Signal(Signal::PIPE)));
    assert_eq!(exit, Exit::Raise(Signal::PIPE));
    assert_eq!((heard.len(), said.as_str()), (2, ""));
}

#[test]
fn a_success_that_was_not_handed_on_in_time_is_none() {
    let (exit, heard, _) = Listener::listen("-a 1", None, Some(DeliveryAbort::Deadline));
    assert_eq!((exit, heard.len()), (Exit::Code(124), 2));
}
