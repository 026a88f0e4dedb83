//! The supervisor on a simulated kernel, in every order of events.

mod choice;
mod kernel;
mod laws;
mod random;
#[cfg(target_os = "linux")]
mod reality;
mod script;
mod slots;
mod world;

use std::cell::RefCell;
use std::os::fd::AsFd as _;
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, RwLock};
use std::thread;

use super::*;
use crate::engine;
use crate::sys::{Mask, SignalState};
use choice::Choices;
use kernel::Simulated;
use script::Scenario;
use world::World;

/// The result of one run.
struct Run {
    choices: Choices,
    fault: Option<String>,
    story: Vec<String>,
}

/// Locked while pipes of simulated processes are open. A process that is forked meanwhile would
/// hold the ends open until it executes its program.
static FORKS: RwLock<()> = RwLock::new(());

/// Runs a scenario once, with these choices.
fn run(scenario: &Rc<Scenario>, choices: Choices, tells: bool) -> Run {
    let _forks = FORKS.read().expect("no panic");
    let job = scenario.job.clone();
    let pipe = scenario
        .line
        .contains("write")
        .then(|| sys::fd::pipe_without_waits().expect("a pipe"));
    let (reader, stdout) = pipe.unzip();
    let mut world = World::new(scenario.clone(), choices, reader);
    world.tells = tells;
    let us = world.us;
    let world = Rc::new(RefCell::new(world));
    let kernel = Simulated {
        world: world.clone(),
        stdout: stdout.as_ref().map(World::dup),
    };
    let signals = SignalState {
        dispositions: Vec::new(),
        mask: Mask::none(),
    };
    let bound = job.concurrency().map(|_| {
        let (world, watch) = (world.clone(), None);
        Bound::with(Box::new(slots::Simulated { world, watch }))
    });
    let bound = bound.unwrap_or_default();
    let outputs = [stdout.as_ref().map(|stdout| stdout.as_fd()), None];
    let mut supervisor = Supervisor {
        kernel,
        us,
        spawner: Spawner::new(
            &job,
            "run",
            (!scenario.shares_group, signals),
            &super::slots::Holds::with(None),
        )
        .expect("words"),
        supervision: job.supervision,
        shares_group: scenario.shares_group,
        streams: Streams::open(&job, outputs).expect("streams"),
        shared: None,
        bound,
        deadline: job.policy.deadline,
        interrupted: None,
        warns: Warnings {
            nested: false,
            spent: false,
            unusable: true,
        },
        stop_handler: None,
    };
    assert_eq!(supervisor.leads_group(), !scenario.shares_group);
    let holds_lines = job.streams.output == Output::OnFailure;
    assert_eq!(supervisor.for_our_lines().is_some(), holds_lines);
    let mut emit = |event: &Event<'_>| world.borrow_mut().hear(event);
    let ended = engine::run(&job.policy, &mut supervisor, &mut || 0.5, &mut emit);
    drop(supervisor);
    drop(stdout);
    let mut world = world.borrow_mut();
    if !world.is_over() && !world.laws.hangs {
        world.drain_reader();
        match ended {
            Ok(status) => world.law_of_the_end(status),
            Err(error) => world.laws.breaks(format!("the run failed: {error:#}")),
        }
    }
    Run {
        choices: world.choices.clone(),
        fault: world.laws.fault().map(str::to_owned),
        story: mem::take(&mut world.story),
    }
}

/// A run that breaks a law.
struct Fault {
    line: String,
    choices: Vec<usize>,
    /// The runs that it took.
    runs: usize,
}

impl Fault {
    /// Returns the fault of this run, if it breaks a law; `runs` is the number of runs so far.
    fn of(scenario: &Rc<Scenario>, done: &Run, runs: usize) -> Result<(), Self> {
        if done.fault.is_none() {
            return Ok(());
        }
        Err(Self {
            line: scenario.line.clone(),
            choices: shrunk(scenario, done.choices.picked()),
            runs,
        })
    }

    /// Describes the events that lead to it, and the command that repeats them.
    fn shown(&self) -> String {
        let scenario = Rc::new(Scenario::new(&self.line));
        let again = run(&scenario, Choices::given(self.choices.clone()), true);
        let choices: Vec<String> = self.choices.iter().map(usize::to_string).collect();
        format!(
            "{}\nafter {} runs; to see it again:\nSIMULATE_SCENARIO='{}' SIMULATE_CHOICES={} cargo test --lib supervise::tests::again\n{}\n",
            again
                .fault
                .unwrap_or_else(|| "it does not happen again".into()),
            self.runs,
            self.line,
            choices.join(","),
            again.story.join("\n")
        )
    }
}

/// The most orders of a scenario that are all tried. Of a larger one, random orders are tried.
const MOST_ORDERS: usize = 100_000;

/// Tries all orders of a scenario.
fn explore(line: &str) -> Result<(), Fault> {
    let scenario = Rc::new(Scenario::new(line));
    let mut next = Some(Vec::new());
    let mut runs = 0;
    while let Some(given) = next {
        assert!(runs < MOST_ORDERS, "{line} has too many orders");
        let done = run(&scenario, Choices::given(given), false);
        runs += 1;
        Fault::of(&scenario, &done, runs)?;
        next = done.choices.next();
    }
    Ok(())
}

/// Simplifies choices that break a law, as long as they still break one.
fn shrunk(scenario: &Rc<Scenario>, choices: Vec<usize>) -> Vec<usize> {
    let mut choices = choices;
    let mut at = choices.len();
    while at > 0 {
        at -= 1;
        if choices.get(at).is_none_or(|chosen| *chosen == 0) {
            continue;
        }
        let mut simpler = choices.clone();
        simpler[at] = 0;
        let done = run(scenario, Choices::given(simpler), false);
        if done.fault.is_some() {
            choices = done.choices.picked();
            at = at.min(choices.len());
        }
    }
    choices
}

/// The scenarios whose orders are all tried.
const SCENARIOS: &str = include_str!("tests/scenarios.txt");

/// Does `work` for each item, on all processors. Panics as soon as one breaks a law.
fn on_all<T: Sync>(items: &[T], work: impl Fn(&T) -> Result<(), Fault> + Sync) {
    let next = AtomicUsize::new(0);
    let fault = Mutex::new(None);
    let threads = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if let Err(found) = work(item) {
                        next.store(items.len(), Ordering::Relaxed);
                        *fault.lock().expect("no panic") = Some(found);
                    }
                }
            });
        }
    });
    if let Some(fault) = fault.into_inner().expect("no panic") {
        panic!("{}", fault.shown());
    }
}

#[test]
fn every_order_of_every_scenario_keeps_the_laws() {
    let lines: Vec<&str> = SCENARIOS
        .lines()
        .filter(|line| !line.starts_with('#'))
        .collect();
    on_all(&lines, |line| explore(line));
}

#[test]
fn larger_scenarios_keep_the_laws_in_orders_by_chance() {
    let first = env::var("SIMULATE_FIRST_SEED").map_or(0, |first| first.parse().expect("a number"));
    let number =
        env::var("SIMULATE_SEEDS").map_or(20_000, |seeds| seeds.parse().expect("a number"));
    let seeds: Vec<u64> = (first..first + number).collect();
    on_all(&seeds, |seed| {
        let scenario = Rc::new(Scenario::new(&random::scenario(*seed)));
        let done = run(&scenario, Choices::seeded(*seed), false);
        let runs = usize::try_from(*seed - first).expect("a small number") + 1;
        Fault::of(&scenario, &done, runs)
    });
}

/// Repeats the run that a failure has printed.
#[test]
fn again() {
    let Ok(line) = env::var("SIMULATE_SCENARIO") else {
        return;
    };
    let choices = env::var("SIMULATE_CHOICES").unwrap_or_default();
    let choices = choices.split(',').filter_map(|choice| choice.parse().ok());
    let fault = Fault {
        line,
        choices: choices.collect(),
        runs: 1,
    };
    panic!("{}", fault.shown());
}
