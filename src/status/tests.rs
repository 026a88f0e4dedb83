use super::*;

pub(crate) fn killed(name: &str) -> Outcome {
    Outcome::Killed(Signal::from_name(name).expect("a signal"))
}

pub(crate) fn not_started(class: FaultClass) -> Outcome {
    Outcome::NotStarted(StartFault {
        class,
        reason: "for a test".into(),
    })
}

#[test]
fn the_exit_status_follows_the_table() {
    for code in [0, 1, 2, 42, 124, 125, 126, 127, 128, 137, 255] {
        assert_eq!(Outcome::Exited(code).exit(), Exit::Code(code));
    }
    assert_eq!(
        killed("SEGV").exit(),
        Exit::Raise(Signal::from_name("SEGV").expect("a signal"))
    );
    assert_eq!(Outcome::TimedOut.exit(), Exit::Code(124));
    assert_eq!(not_started(FaultClass::Shortage).exit(), Exit::Code(125));
    assert_eq!(not_started(FaultClass::Busy).exit(), Exit::Code(126));
    assert_eq!(
        not_started(FaultClass::NotExecutable).exit(),
        Exit::Code(126)
    );
    assert_eq!(not_started(FaultClass::NotFound).exit(), Exit::Code(127));
    assert_eq!(
        not_started(FaultClass::NoInterpreter).exit(),
        Exit::Code(127)
    );
}

#[test]
fn the_next_attempt_is_told_the_last_status() {
    assert_eq!(Outcome::Exited(7).last_status(), "7");
    assert_eq!(killed("KILL").last_status(), "SIGKILL");
    assert_eq!(Outcome::TimedOut.last_status(), "timeout");
    assert_eq!(not_started(FaultClass::Busy).last_status(), "126");
}
