//! Which options do not go together.

use std::time::Duration;

use anyhow::{Result, bail, ensure};

use super::options::{LimitOptions, ServerOptions, SharingOptions};
use crate::bucket::Budget;
use crate::job::Sharing;
use crate::policy::Policy;
use crate::units::{Limit, Shown};

/// How long a server may have us wait unless the user says otherwise.
const LONGEST_SERVER_WAIT: Duration = Duration::from_secs(5 * 60);

/// How much of the deadline is kept back, or why that cannot be.
pub(super) fn reserve(limits: &LimitOptions) -> Result<Duration> {
    match (limits.reserve, limits.deadline) {
        (None, _) => Ok(Duration::ZERO),
        (Some(_), None) => {
            bail!("--reserve is a part of the deadline; give --deadline too, or leave it out")
        }
        (Some(reserve), Some(Limit(Some(deadline)))) if reserve >= deadline => bail!(
            "--reserve {} leaves no time for a retry within --deadline {}; make it shorter",
            Shown(reserve),
            Shown(deadline)
        ),
        (Some(reserve), Some(_)) => Ok(reserve),
    }
}

/// The budget, or which options mean nothing without a file.
pub(super) fn sharing(options: SharingOptions) -> Result<Option<Sharing>> {
    let Some(path) = options.shared else {
        let lone = match (options.budget, options.budget_refill) {
            (None, None) => return Ok(None),
            (Some(_), _) => "--budget",
            (None, Some(_)) => "--budget-refill",
        };
        bail!("{lone} means nothing without --shared PATH; give that too, or leave it out");
    };
    let budget = Budget {
        tokens: options.budget.unwrap_or(Budget::USUAL),
        refill: options.budget_refill,
    };
    Ok(Some(Sharing { path, budget }))
}

/// What a server may ask for without being asked what it says would mean nothing.
pub(super) fn longest_server_wait(server: &ServerOptions) -> Result<Duration> {
    ensure!(
        server.retry_after.is_some() || server.retry_after_max.is_none(),
        "--retry-after-max means nothing without --retry-after; give that too, or leave it out"
    );
    Ok(server.retry_after_max.unwrap_or(LONGEST_SERVER_WAIT))
}

/// Says so when the lists contradict each other or themselves.
pub(super) fn check_lists(policy: &Policy) -> Result<()> {
    if let Some(list) = &policy.retry_on {
        ensure!(
            !list.set.has_code(0),
            "--retry-on {} holds 0, which is success; leave out the 0",
            list.written
        );
    }
    if let Some(list) = &policy.success_on {
        ensure!(
            !list.set.timeout && !list.set.spawn,
            "--success-on {} holds the word timeout or spawn, but an attempt that was ended or never started is no success; leave it out",
            list.written
        );
    }
    let names_any =
        policy.retry_on.is_some() || policy.stop_on.is_some() || policy.success_on.is_some();
    ensure!(
        !names_any || !policy.retryable().is_empty() || !policy.patterns.fail_if.is_empty(),
        "--retry-on, --stop-on and --success-on together leave nothing to retry; take something out of the last two"
    );
    Ok(())
}
