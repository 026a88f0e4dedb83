//! Checks for options that clash.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use anyhow::{Result, bail, ensure};

use super::options::{
    LimitOptions, OutputName, ReportOptions, ServerOptions, SharingOptions, ShownName,
    StreamOptions,
};
use crate::bucket::Budget;
use crate::duration::{Limit, Shown};
use crate::job::{Crowd, Output, Sharing};
use crate::policy::Policy;
use crate::status_set::StatusList;

/// The default of `--retry-after-max`.
const LONGEST_SERVER_WAIT: Duration = Duration::from_secs(5 * 60);

/// Returns the clash of a factor with a curve that has none.
pub(super) fn factor_without_meaning(curve: &str) -> Clash {
    let options = &["factor", "backoff"];
    let said = format!(
        "--factor has no effect with --backoff {curve}; remove it, or use --backoff exponential"
    );
    Clash::between(options, said).leaving(options)
}

/// Returns the part of the deadline kept in reserve, or why that cannot be.
pub(super) fn reserve(limits: &LimitOptions) -> Result<Duration> {
    match (limits.reserve, limits.deadline) {
        (None, _) => Ok(Duration::ZERO),
        (Some(_), None) => {
            bail!(Clash::between(
                &["reserve", "deadline"],
                "--reserve needs --deadline; add that, or remove --reserve"
            ))
        }
        (Some(reserve), Some(Limit(Some(deadline)))) if reserve >= deadline => {
            let said = format!(
                "--reserve {} leaves no time for a retry within --deadline {}; make it shorter",
                Shown(reserve),
                Shown(deadline)
            );
            bail!(Clash::between(&["reserve", "deadline"], said).leaving(&["reserve"]))
        }
        (Some(reserve), Some(_)) => Ok(reserve),
    }
}

/// Returns where output goes, and when. Only one of the two options may hold it back.
pub(super) fn output(streams: &StreamOptions) -> Result<Output> {
    let options = &["stdout", "output"];
    Ok(match (streams.stdout, streams.output) {
        (Some(OutputName::Once), Some(ShownName::Last | ShownName::OnFailure)) => {
            let said = "--stdout once and --output both hold output back; use one of them";
            bail!(Clash::between(options, said).leaving(options))
        }
        (Some(OutputName::Once), _) => Output::Once,
        (_, Some(ShownName::Last)) => Output::Last,
        (_, Some(ShownName::OnFailure)) => Output::OnFailure,
        (_, None | Some(ShownName::Stream)) => Output::Stream,
    })
}

/// Returns the shared budget, or an error for options that have no effect without its file.
pub(super) fn sharing(options: SharingOptions) -> Result<Option<Sharing>> {
    let Some(path) = options.shared else {
        let given: [(bool, &'static [&'static str]); 3] = [
            (options.budget.is_some(), &["budget"]),
            (options.budget_refill.is_some(), &["budget-refill"]),
            (options.concurrency.is_some(), &["concurrency"]),
        ];
        let Some((_, lone)) = given.into_iter().find(|(is_given, _)| *is_given) else {
            return Ok(None);
        };
        let said = format!(
            "--{lone} needs --shared PATH; add that, or remove --{lone}",
            lone = lone.concat()
        );
        bail!(Clash::between(lone, said));
    };
    let concurrency = options.concurrency;
    ensure!(
        options.budget_refill.is_none() || options.budget.is_some() || concurrency.is_none(),
        Clash::between(
            &["budget-refill"],
            "--budget-refill needs --budget if --concurrency is given; add that, or remove --budget-refill"
        )
    );
    // With a bound on attempts alone, retries are not limited.
    let usual = Some(Budget::USUAL).filter(|_| concurrency.is_none());
    let budget = options.budget.or(usual).map(|tokens| Budget {
        tokens,
        refill: options.budget_refill,
    });
    Ok(Some(Sharing {
        path,
        budget,
        concurrency,
    }))
}

/// Returns the longest wait that a server may ask for. This limit has no effect without
/// --retry-after.
pub(super) fn longest_server_wait(server: &ServerOptions) -> Result<Duration> {
    ensure!(
        server.retry_after.is_some() || server.retry_after_max.is_none(),
        Clash::between(
            &["retry-after-max"],
            "--retry-after-max needs --retry-after; add that, or remove --retry-after-max"
        )
    );
    Ok(server.retry_after_max.unwrap_or(LONGEST_SERVER_WAIT))
}

/// Returns the clients of a plan, or an error for options that have no effect without it.
pub(super) fn crowd(reports: &ReportOptions) -> Result<Option<Crowd>> {
    ensure!(
        reports.plan || reports.clients.is_none(),
        "--clients needs --plan; add that, or remove --clients"
    );
    ensure!(
        reports.clients.is_some() || reports.capacity.is_none(),
        "--capacity needs --clients; add that, or remove --capacity"
    );
    Ok(reports.clients.map(|clients| Crowd {
        clients,
        capacity: reports.capacity,
    }))
}

/// Rejects lists that contradict each other or themselves.
pub(super) fn check_lists(policy: &Policy) -> Result<()> {
    if let Some(list) = policy.retry_on.as_ref().filter(|list| list.set.has_code(0)) {
        let said = format!(
            "--retry-on {} includes 0, which is success; remove the 0",
            list.written
        );
        bail!(Clash::between(&["retry-on"], said));
    }
    let is_failure = |list: &&StatusList| list.set.timeout || list.set.spawn;
    if let Some(list) = policy.success_on.as_ref().filter(is_failure) {
        let said = format!(
            "--success-on {} includes timeout or spawn, but an attempt that was terminated or never started cannot be a success; remove that word",
            list.written
        );
        bail!(Clash::between(&["success-on"], said));
    }
    check_what_is_left(policy)
}

/// Rejects lists that leave nothing to retry. A list from a file is never dropped for that: more
/// would be retried without it than the file allows.
fn check_what_is_left(policy: &Policy) -> Result<()> {
    let given = |name, list: &Option<StatusList>| {
        let list = list.as_ref()?;
        Some((format!("--{name} {}", list.written), format!("--{name}")))
    };
    let takes = [
        given("stop-on", &policy.stop_on),
        given("success-on", &policy.success_on),
    ];
    let takes: Vec<(String, String)> = takes.into_iter().flatten().collect();
    if takes.is_empty() || !policy.retryable().is_empty() || !policy.patterns.fail_if.is_empty() {
        return Ok(());
    }
    let (written, options): (Vec<String>, Vec<String>) = takes.into_iter().unzip();
    let first = given("retry-on", &policy.retry_on).map(|(written, _)| written);
    let said: Vec<String> = first.into_iter().chain(written).collect();
    let (said, leave) = match said.split_last() {
        Some((last, [])) => (last.clone(), "leaves"),
        Some((last, rest)) => (format!("{} and {last}", rest.join(", ")), "leave"),
        None => return Ok(()),
    };
    let said = format!(
        "{said} {leave} nothing to retry; remove something from {}",
        options.join(" or ")
    );
    bail!(Clash::between(&["retry-on", "stop-on", "success-on"], said))
}

/// A clash between options.
#[derive(Debug)]
pub(super) struct Clash {
    /// The options involved, without dashes, in the order of blame.
    between: &'static [&'static str],
    /// Those that have no effect if another of them is on the command line.
    meaningless: &'static [&'static str],
    /// One sentence, with the remedy.
    said: String,
}

impl Clash {
    /// A clash that only the user can settle.
    pub(super) fn between(options: &'static [&'static str], said: impl Into<String>) -> Self {
        Self {
            between: options,
            meaningless: &[],
            said: said.into(),
        }
    }

    /// Marks the options that have no effect beside the others.
    pub(super) fn leaving(self, meaningless: &'static [&'static str]) -> Self {
        Self {
            meaningless,
            ..self
        }
    }

    /// Returns the options involved.
    pub(super) fn options(&self) -> &'static [&'static str] {
        self.between
    }

    /// Whether a line of a file with this option may be dropped in favour of the command line.
    pub(super) fn may_drop(&self, option: &str) -> bool {
        self.meaningless.contains(&option)
    }
}

impl fmt::Display for Clash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.said)
    }
}

impl Error for Clash {}
