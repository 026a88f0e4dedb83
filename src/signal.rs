//! Signals by name and number.

use std::fmt;

use signal_hook::consts;
use signal_hook::low_level::signal_name;

use system::real_time;

/// A signal that exists on this system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Signal(i32);

/// Second names.
const ALIASES: [(&str, i32); 3] = [
    ("IOT", consts::SIGABRT),
    ("CLD", consts::SIGCHLD),
    ("POLL", consts::SIGIO),
];

/// The name of a signal, without SIG.
fn name_of(number: i32) -> Option<&'static str> {
    let common = signal_name(number).and_then(|name| name.strip_prefix("SIG"));
    let system = || system::NAMES.iter().find(|(_, own)| *own == number);
    common.or_else(|| system().map(|(name, _)| *name))
}

/// The signals that terminate a process by default on every system and may be sent to end it or to
/// notify it. Left out are KILL and STOP (cannot be caught), the process's own faults (SEGV, BUS,
/// FPE, ILL, ABRT, TRAP, SYS, XFSZ), PIPE (ignored from the start), and job control (TSTP, TTIN,
/// TTOU, WINCH, URG), whose defaults are right: the kernel delivers those to the command itself.
const FATAL: &[i32] = &[
    consts::SIGHUP,
    consts::SIGINT,
    consts::SIGQUIT,
    consts::SIGTERM,
    consts::SIGALRM,
    consts::SIGVTALRM,
    consts::SIGPROF,
    consts::SIGXCPU,
];

impl Signal {
    pub(crate) const HUP: Self = Self(consts::SIGHUP);
    pub(crate) const INT: Self = Self(consts::SIGINT);
    pub(crate) const QUIT: Self = Self(consts::SIGQUIT);
    pub(crate) const TERM: Self = Self(consts::SIGTERM);
    pub(crate) const PIPE: Self = Self(consts::SIGPIPE);
    pub(crate) const KILL: Self = Self(consts::SIGKILL);
    pub(crate) const CONT: Self = Self(consts::SIGCONT);
    pub(crate) const STOP: Self = Self(consts::SIGSTOP);
    pub(crate) const CHLD: Self = Self(consts::SIGCHLD);
    pub(crate) const TSTP: Self = Self(consts::SIGTSTP);
    pub(crate) const TTIN: Self = Self(consts::SIGTTIN);
    pub(crate) const TTOU: Self = Self(consts::SIGTTOU);
    pub(crate) const XFSZ: Self = Self(consts::SIGXFSZ);
    pub(crate) const USR1: Self = Self(consts::SIGUSR1);
    pub(crate) const USR2: Self = Self(consts::SIGUSR2);

    /// Returns the signal of this number, if it exists. Some without a name may kill all the same:
    /// the C library reserves a few for itself.
    pub(crate) fn from_number(number: i32) -> Option<Self> {
        (1..=Self::last()).contains(&number).then_some(Self(number))
    }

    fn last() -> i32 {
        // The last of those that every system has; real-time ones and a few of one system follow.
        let own = system::NAMES.iter().map(|(_, number)| *number).max();
        own.unwrap_or_default()
            .max(consts::SIGSYS)
            .max(real_time().1)
    }

    /// Parses a name in any case, with or without `SIG`: `TERM`, `sigkill`, `RTMIN+1`, `RTMAX-2`.
    pub(crate) fn from_name(text: &str) -> Option<Self> {
        let upper = text.to_ascii_uppercase();
        let name = upper.strip_prefix("SIG").unwrap_or(&upper);
        let digits = |text: &str| -> Option<i32> {
            text.bytes()
                .all(|byte| byte.is_ascii_digit())
                .then(|| text.parse().ok())?
        };
        let alias = ALIASES.iter().find(|(alias, _)| *alias == name);
        let alias = alias.map(|(_, number)| Self(*number));
        let named = || Self::all().find(|signal| name_of(signal.0) == Some(name));
        if let Some(signal) = alias.or_else(named) {
            return Some(signal);
        }
        if name.len() < upper.len() && !name.is_empty() && digits(name).is_some() {
            return digits(name).and_then(Self::from_number);
        }
        let (first, last) = real_time();
        let number = match (name.strip_prefix("RTMIN"), name.strip_prefix("RTMAX")) {
            (Some(""), _) => first,
            (_, Some("")) => last,
            (Some(above), _) => first.checked_add(digits(above.strip_prefix('+')?)?)?,
            (_, Some(below)) => last.checked_sub(digits(below.strip_prefix('-')?)?)?,
            _ => return None,
        };
        (first..=last).contains(&number).then_some(Self(number))
    }

    /// Returns every signal of this system.
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        (1..=Self::last()).map(Self)
    }

    /// Returns the real-time signals of this system.
    pub(crate) fn all_real_time() -> impl Iterator<Item = Self> {
        let (first, last) = real_time();
        (first..=last).map(Self)
    }

    /// Returns the named signals that end the run.
    pub(crate) fn all_named_fatal() -> impl Iterator<Item = Self> {
        FATAL.iter().chain(system::FATAL).copied().map(Self)
    }

    /// Returns the signals that are messages for the command: they end neither it nor us.
    pub(crate) fn all_messages() -> impl Iterator<Item = Self> {
        [Self::USR1, Self::USR2].into_iter()
    }

    /// Returns the number, from 1 up to 64 on Linux.
    pub(crate) fn number(self) -> i32 {
        self.0
    }

    /// Returns the signal's bit in a set of 64; the lowest is that of signal 1.
    pub(crate) fn bit(self) -> u64 {
        1_u64.wrapping_shl(self.0.unsigned_abs() - 1)
    }

    /// Whether a death by this signal is what a user or a closed pipe asked for: no failure to
    /// retry unless it is named.
    pub(crate) fn is_asked_for(self) -> bool {
        matches!(self, Self::INT | Self::QUIT | Self::PIPE)
    }
}

impl fmt::Display for Signal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(name) = name_of(self.0) {
            return write!(f, "SIG{name}");
        }
        let (first, last) = real_time();
        match self.0 {
            number if number < first => write!(f, "SIG{number}"),
            number if number == first => f.write_str("SIGRTMIN"),
            number if number == last => f.write_str("SIGRTMAX"),
            number if number > first + (last - first) / 2 => {
                write!(f, "SIGRTMAX-{}", last - number)
            }
            number => write!(f, "SIGRTMIN+{}", number - first),
        }
    }
}

/// The signals of Linux.
#[cfg(target_os = "linux")]
mod system {
    /// The names that other systems lack.
    pub(super) const NAMES: &[(&str, i32)] = &[("STKFLT", libc::SIGSTKFLT), ("PWR", libc::SIGPWR)];

    /// The signals that terminate a process by default here, but not on every system.
    pub(super) const FATAL: &[i32] = &[libc::SIGIO, libc::SIGPWR, libc::SIGSTKFLT];

    /// Returns the first and last real-time signal free for use: the C library reserves some.
    pub(super) fn real_time() -> (i32, i32) {
        (libc::SIGRTMIN(), libc::SIGRTMAX())
    }
}

/// The signals of macOS and the BSDs.
#[cfg(not(target_os = "linux"))]
mod system {
    /// The names that Linux lacks.
    pub(super) const NAMES: &[(&str, i32)] = &[("EMT", libc::SIGEMT), ("INFO", libc::SIGINFO)];

    /// The signals that terminate a process by default here, but not on every system.
    pub(super) const FATAL: &[i32] = &[];

    /// Returns the first and last real-time signal: an empty range.
    pub(super) fn real_time() -> (i32, i32) {
        (0, -1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_read_in_any_case_with_or_without_sig() {
        for name in ["TERM", "term", "SIGTERM", "sigterm", "Sigterm"] {
            assert_eq!(
                Signal::from_name(name),
                Some(Signal(consts::SIGTERM)),
                "{name}"
            );
        }
    }

    #[test]
    fn names_that_are_no_signal_are_refused() {
        for name in [
            "",
            "SIG",
            "FOO",
            "SIGSIGTERM",
            "RTMIN+",
            "RTMIN-1",
            "RTMIN+99",
            "RTMAX-99",
            "RTMIN++1",
            "RTMIN+99999999999",
            "15",
            "TERM ",
        ] {
            assert_eq!(Signal::from_name(name), None, "{name}");
        }
    }

    #[test]
    fn every_signal_is_read_back_from_what_is_shown() {
        for signal in Signal::all() {
            assert_eq!(
                Signal::from_name(&signal.to_string()),
                Some(signal),
                "{signal}"
            );
            assert_eq!(
                Signal::from_number(signal.number()),
                Some(signal),
                "{signal}"
            );
        }
    }

    #[test]
    fn numbers_that_are_no_signal_are_refused() {
        for number in [0, -1, 65, 128, i32::MAX, i32::MIN] {
            assert_eq!(Signal::from_number(number), None, "{number}");
        }
    }
}
