//! Compares the simulated processes with real ones: the same script must have the same outcome at
//! every step.

use std::fs::{File, OpenOptions};
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};
use std::rc::Rc;
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{CWD, FileType, Mode, mknodat};
use rustix::process::{
    Pid, WaitId, WaitIdOptions, getpid, kill_process, kill_process_group, waitid,
};
use tempfile::TempDir;

use super::choice::Choices;
use super::random::Die;
use super::script::{Scenario, Step};
use super::world::{self, State, World};
use crate::signal::Signal;
use crate::status::Outcome;
use crate::supervise::kernel::system::outcome;
use crate::supervise::kernel::{Target, Which, linux as table, raw};

/// A process that obeys commands, a line at a time. It answers each whose effect cannot be
/// observed.
const PUPPET: &str = r#"
use POSIX qw(setsid setpgid _exit EINTR);
my ($dir, $number) = @ARGV;
# A job in the background may have some of them ignored.
$SIG{$_} = 'DEFAULT' for qw(TERM INT HUP USR1 TSTP CHLD);
sub serve {
    my ($number) = @_;
    open(my $in, '<', "$dir/$number.in") or _exit(99);
    open(my $out, '>', "$dir/$number.out") or _exit(98);
    my $answer = sub { syswrite($out, "$_[0]\n") };
    $answer->($$);
    # A signal may end a readline, and with it what was read.
    my $next = sub {
        my $line = '';
        for (;;) {
            my $read = sysread($in, my $byte, 1);
            next if !defined $read && $! == EINTR;
            return if !$read;
            return $line if $byte eq "\n";
            $line .= $byte;
        }
    };
    while (defined(my $line = $next->())) {
        my ($word, $one, $two) = split ' ', $line;
        if ($word eq 'exit') { _exit($one) }
        elsif ($word eq 'die') { kill $one, $$; next }
        elsif ($word eq 'ignore') { $SIG{$one} = 'IGNORE' }
        elsif ($word eq 'trap') { $SIG{$one} = defined $two ? sub { _exit($two) } : sub { } }
        elsif ($word eq 'group') { setpgid(0, 0) }
        elsif ($word eq 'session') { setsid() }
        elsif ($word eq 'wait') { 1 while waitpid(-1, 0) > 0 }
        elsif ($word eq 'fork') { if (!fork) { serve($one); _exit(0) } }
        $answer->('done');
    }
}
serve($number);
"#;

/// The longest that a machine may take.
const PATIENCE: Duration = Duration::from_secs(20);

/// A process as both worlds see it.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Seen {
    Gone,
    Zombie,
    Alive {
        is_stopped: bool,
        /// The number of its parent; none if that is not part of the script.
        parent: Option<usize>,
        /// The number of the leader of its group.
        group: Option<usize>,
    },
}

/// The two worlds.
struct Both {
    directory: TempDir,
    /// The real pids, by the number of the process.
    real: Vec<i32>,
    answers: Vec<BufReader<File>>,
    orders: Vec<File>,
    world: World,
    simulated: Vec<i32>,
    story: Vec<String>,
}

impl Both {
    fn new() -> Self {
        let scenario = Rc::new(Scenario::new("-a 1 | hang | "));
        let mut world = World::new(scenario, Choices::given(Vec::new()), None);
        world.reuses_pids = false;
        let first = world.launch(Rc::new([Step::Hang]), true, Vec::new(), [None, None]);
        let mut both = Self {
            directory: tempfile::tempdir().expect("a directory"),
            real: Vec::new(),
            answers: Vec::new(),
            orders: Vec::new(),
            world,
            simulated: vec![first],
            story: Vec::new(),
        };
        both.open_pipes();
        let forks = super::FORKS.write().expect("no panic");
        let root = Command::new("perl")
            .args(["-e", PUPPET])
            .arg(both.directory.path())
            .arg("0")
            .process_group(0)
            .stdin(Stdio::null())
            .spawn()
            .expect("perl");
        drop((root, forks));
        let pid = both.answer(0).parse().expect("a pid");
        both.real.push(pid);
        both
    }

    /// Makes the pipes for one more process.
    fn open_pipes(&mut self) {
        let number = self.orders.len();
        let open = |way: &str| {
            let path = self.directory.path().join(format!("{number}.{way}"));
            let mode = Mode::RUSR | Mode::WUSR;
            mknodat(CWD, &path, FileType::Fifo, mode, 0).expect("a pipe");
            // Open at both ends, it waits for nobody.
            let pipe = OpenOptions::new().read(true).write(true).open(path);
            pipe.expect("a pipe")
        };
        let (orders, answers) = (open("in"), open("out"));
        self.orders.push(orders);
        self.answers.push(BufReader::new(answers));
    }

    /// Returns the next line that a process answers.
    fn answer(&mut self, number: usize) -> String {
        let mut line = String::new();
        let read = self.answers[number].read_line(&mut line);
        read.expect("an answer");
        line.trim().to_owned()
    }

    /// Has a process take a step.
    fn step(&mut self, number: usize, step: &Step) {
        self.story.push(format!("{number}: {step:?}"));
        let order = match step {
            Step::Exit(code) => format!("exit {code}"),
            Step::Die(signal) => format!("die {}", name(*signal)),
            Step::Ignore(signal) => format!("ignore {}", name(*signal)),
            Step::Trap(signal, Some(code)) => format!("trap {} {code}", name(*signal)),
            Step::Trap(signal, None) => format!("trap {}", name(*signal)),
            Step::Group => "group".into(),
            Step::Session => "session".into(),
            Step::Wait => "wait".into(),
            Step::Fork(_) => {
                self.open_pipes();
                format!("fork {}", self.orders.len() - 1)
            }
            other => panic!("no order for {other:?}"),
        };
        writeln!(self.orders[number], "{order}").expect("an order");
        if !matches!(step, Step::Exit(_) | Step::Die(_)) {
            assert_eq!(self.answer(number), "done");
        }
        let before: Vec<i32> = self.world.processes.iter().map(|one| one.pid).collect();
        self.world.perform(self.simulated[number], step.clone());
        if matches!(step, Step::Fork(_)) {
            let is_new = |pid: &i32| !before.contains(pid);
            let mut pids = self.world.processes.iter().map(|one| one.pid);
            self.simulated.push(pids.find(is_new).expect("a child"));
            let pid = self.answer(self.orders.len() - 1);
            self.real.push(pid.parse().expect("a pid"));
        }
        self.compare();
    }

    /// Sends a signal to a process or to the group that it leads.
    fn send(&mut self, number: usize, signal: Signal, is_for_group: bool) {
        let to = if is_for_group { "the group of " } else { "" };
        self.story.push(format!("{signal} to {to}{number}"));
        let real = Pid::from_raw(self.real[number]).expect("a pid");
        let named = rustix::process::Signal::from_named_raw(signal.number()).expect("a signal");
        let pid = Pid::from_raw(self.simulated[number]).expect("a pid");
        let (sent, target) = if is_for_group {
            (kill_process_group(real, named), Target::Group(pid))
        } else {
            (kill_process(real, named), Target::Process(pid))
        };
        let meant = self.world.reached(target);
        let meant: Vec<i32> = meant.iter().map(|one| one.pid).collect();
        assert_eq!(sent.is_ok(), !meant.is_empty(), "{}", self.story.join("\n"));
        for pid in meant {
            self.world.send(pid, signal);
        }
        self.compare();
    }

    /// Reaps the first process, if it has ended.
    fn reap(&mut self) {
        self.story.push("we reap 0".into());
        let ended = self.end_of_the_first(WaitIdOptions::empty());
        let process = self.world.find(self.simulated[0]).expect("a child");
        let expected = match &process.state {
            State::Zombie(outcome) => Some(outcome.clone()),
            _ => None,
        };
        assert_eq!(ended, expected, "{}", self.story.join("\n"));
        if ended.is_some() {
            self.world.reap(self.simulated[0]);
        }
        self.compare();
    }

    /// Waits until the real world looks like the simulated one.
    #[track_caller]
    fn compare(&mut self) {
        self.world.settle();
        let expected: Vec<Seen> = self
            .simulated
            .iter()
            .map(|pid| self.seen_there(*pid))
            .collect();
        let begun = Instant::now();
        loop {
            let real: Vec<Seen> = self.real.iter().map(|pid| self.seen_here(*pid)).collect();
            if real == expected {
                return;
            }
            assert!(
                begun.elapsed() < PATIENCE,
                "{}\nreal: {real:?}\nsimulated: {expected:?}\nthe first: {:?}",
                self.story.join("\n"),
                self.end_of_the_first(WaitIdOptions::NOWAIT)
            );
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// Returns how the first process has ended, if it has, and reaps it unless `options` holds NOWAIT.
    fn end_of_the_first(&self, options: WaitIdOptions) -> Option<Outcome> {
        let root = Pid::from_raw(self.real[0]).expect("a pid");
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | options;
        let status = waitid(WaitId::Pid(root), options).expect("a child");
        status.map(|status| outcome(&status))
    }

    fn seen_there(&self, pid: i32) -> Seen {
        let number = |pid: i32| self.simulated.iter().position(|one| *one == pid);
        match self.world.find(pid) {
            None => Seen::Gone,
            Some(process) if !process.is_alive() => Seen::Zombie,
            Some(process) => Seen::Alive {
                is_stopped: process.state == State::Stopped,
                parent: number(process.parent),
                group: number(process.group),
            },
        }
    }

    fn seen_here(&self, pid: i32) -> Seen {
        let number = |pid: i32| self.real.iter().position(|one| *one == pid);
        let entry = table::processes(Which::One(Pid::from_raw(pid).expect("a pid")));
        match entry.unwrap_or_default().pop() {
            None => Seen::Gone,
            // The kernel has no rule about how soon init reaps.
            Some(stat) if stat.has_ended && !self.is_parent(stat.parent) => Seen::Gone,
            Some(stat) if stat.has_ended => Seen::Zombie,
            Some(stat) => {
                let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
                let state = text
                    .rsplit(") ")
                    .next()
                    .and_then(|rest| rest.chars().next());
                Seen::Alive {
                    is_stopped: state == Some('T'),
                    parent: number(stat.parent),
                    group: number(stat.group),
                }
            }
        }
    }

    /// Whether a real process is one of the script, or ourselves.
    fn is_parent(&self, pid: i32) -> bool {
        self.real.contains(&pid) || pid == raw(getpid())
    }

    /// Returns the processes that run.
    fn running(&self) -> Vec<usize> {
        let is_running = |number: &usize| {
            let process = self.world.find(self.simulated[*number]);
            process.is_some_and(|process| process.state == State::Running)
        };
        (0..self.simulated.len()).filter(is_running).collect()
    }
}

impl Drop for Both {
    fn drop(&mut self) {
        for (real, simulated) in self.real.iter().zip(&self.simulated) {
            // The pid of one that has ended may be another's.
            let is_alive = |pid| self.world.find(pid).is_some_and(world::Process::is_alive);
            if is_alive(*simulated) {
                let pid = Pid::from_raw(*real).expect("a pid");
                let _ = kill_process(pid, rustix::process::Signal::KILL);
            }
        }
        let root = self.real.first().and_then(|pid| Pid::from_raw(*pid));
        if let Some(root) = root.filter(|_| self.world.find(self.simulated[0]).is_some()) {
            let _ = waitid(WaitId::Pid(root), WaitIdOptions::EXITED);
        }
    }
}

fn name(signal: Signal) -> String {
    signal.to_string().trim_start_matches("SIG").to_owned()
}

/// Goes through a script by chance.
fn script(seed: u64) {
    let mut die = Die::of(seed);
    let mut below = |sides| die.below(sides);
    let named =
        ["TERM", "INT", "HUP", "USR1"].map(|name| Signal::from_name(name).expect("a signal"));
    let stops = [Signal::STOP, Signal::CONT, Signal::KILL, Signal::TSTP];
    let mut both = Both::new();
    for _ in 0..12 {
        let running = both.running();
        let number = below(both.simulated.len());
        let signal = if below(3) == 0 {
            stops[below(4)]
        } else {
            named[below(4)]
        };
        let is_leader = both
            .world
            .find(both.simulated[number])
            .is_some_and(|one| one.group == one.pid);
        if running.is_empty() || below(3) == 0 {
            if both.world.find(both.simulated[number]).is_some() {
                both.send(number, signal, is_leader && below(2) == 0);
            }
            continue;
        }
        let number = running[below(running.len())];
        let pid = both.simulated[number];
        let has_children = both
            .world
            .processes
            .iter()
            .any(|one| one.parent == pid && one.is_alive());
        let step = match below(9) {
            0 => Step::Exit(u8::try_from(below(4)).expect("small")),
            1 => Step::Die([Signal::STOP, signal][below(2)]),
            2 => Step::Ignore(named[below(4)]),
            3 => Step::Trap(named[below(4)], [None, Some(7)][below(2)]),
            4 => Step::Group,
            5 => Step::Session,
            6 if !has_children => Step::Wait,
            _ if both.simulated.len() < 4 => Step::Fork(Rc::new([Step::Hang])),
            _ => continue,
        };
        both.step(number, &step);
    }
    if both.world.find(both.simulated[0]).is_some() {
        both.reap();
    }
}

#[test]
fn simulated_processes_do_what_real_ones_do() {
    for seed in 0..100 {
        script(seed);
    }
}
