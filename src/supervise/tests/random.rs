//! Random scenarios, too large to try all of their orders.

use rand::Rng as _;
use rand::SeedableRng as _;
use rand::rngs::Xoshiro256PlusPlus;

/// Lines of options; each scenario has one.
const OPTIONS: &[&str] = &[
    "-a 3",
    "-a 3 --timeout 10s",
    "-a 3 --timeout 10s --kill-after 0",
    "-a 3 --timeout 10s --signal INT",
    "-a 3 --deadline 25s --timeout 10s",
    "-a inf --deadline 40s --reserve 1s",
    "-a 3 @tty",
    "-a 3 @tty --timeout 10s",
    "-a 3 @init",
    "-a 3 @init --timeout 10s",
    "-a 3 @init @tty --timeout 10s",
    "-a 2 @noproc --timeout 1s --kill-after 1s",
    "-a 3 --stdout once --timeout 10s",
    "-a 3 --output last",
    "-a 3 --output on-failure",
    "-a 3 --stop-if zzz --idle-timeout 10s",
];

/// A die, which makes random choices.
pub(super) struct Die(Xoshiro256PlusPlus);

impl Die {
    /// The die of a seed.
    pub(super) fn of(seed: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// Returns a number below this one.
    pub(super) fn below(&mut self, sides: usize) -> usize {
        usize::try_from(self.0.next_u64() % sides as u64).expect("a small number")
    }

    fn one<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.below(of.len())]
    }
}

/// Returns the scenario of a seed.
pub(super) fn scenario(seed: u64) -> String {
    let mut die = Die::of(seed);
    let options = die.one(OPTIONS);
    let has_output = ["stdout", "output", "stop-if"]
        .iter()
        .any(|word| options.contains(word));
    let mut scripts: Vec<String> = Vec::new();
    for _ in 0..=die.below(3) {
        scripts.push(script(&mut die, 2, has_output));
    }
    scripts.push("exit 0".into());
    if !has_output && die.below(6) == 0 {
        scripts.push(format!("hook: {}", script(&mut die, 1, false)));
    }
    let mut outside = Vec::new();
    for _ in 0..die.below(5) {
        let signal = die.one(&["TERM", "TERM", "INT", "HUP", "USR1", "USR2"]);
        let key = die.one(&["key INT", "key QUIT", "key HUP"]);
        let hit = die.one(&["hits KILL", "hits STOP", "hits CONT", "hits TERM"]);
        let other = die.one(&["stranger", "sleep 60"]);
        let reader = die.one(&["takes 5", "takes 60000", "leaves"]);
        outside.push(match die.below(8) {
            3 if options.contains("@tty") => key,
            4 => hit,
            // Only where processes can be told apart.
            5 if !options.contains("@noproc") => other,
            6 if has_output => reader,
            _ => signal,
        });
    }
    let mut scripts = scripts.join(" / ");
    if options.contains("@noproc") {
        // It looks like a zombie that nobody has reaped.
        scripts = scripts.replace("stuck", "hang");
    }
    format!("{options} | {scripts} | {}", outside.join(", "))
}

/// Returns the steps of a process whose children have children to this depth.
fn script(die: &mut Die, depth: usize, writes: bool) -> String {
    let mut steps: Vec<String> = Vec::new();
    for _ in 0..die.below(4) {
        let step = match die.below(12) {
            0 => "ignore TERM".into(),
            1 => die
                .one(&[
                    "trap TERM",
                    "trap INT",
                    "trap USR1",
                    "trap TERM 7",
                    "trap INT 5",
                ])
                .into(),
            2 => die.one(&["group", "session", "exec"]).into(),
            3 => "stop".into(),
            4 if depth < 2 => die.one(&["other", "stuck"]).into(),
            5..8 if writes => die.one(&["write 10", "write 5000", "write 40000"]).into(),
            8..11 if depth > 0 => format!("fork ({})", script(die, depth - 1, writes)),
            11 => "wait".into(),
            _ => continue,
        };
        steps.push(step);
    }
    let end = match die.below(6) {
        0 | 1 => "hang",
        2 => "die KILL",
        3 => "exit 0",
        _ => "exit 3",
    };
    steps.push(end.into());
    steps.join(", ")
}
