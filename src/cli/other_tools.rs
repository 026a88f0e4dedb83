//! Options of other retry commands, and what to write instead.

/// A line for each remedy: the options, a colon, the remedy.
const TABLE: &str = include_str!("other_tools.txt");

/// The remedy for this option, if another retry command has it.
pub(super) fn remedy(option: &str) -> Option<&'static str> {
    let rows = TABLE.lines().filter(|line| !line.starts_with('#'));
    let mut rows = rows.filter_map(|line| line.split_once(": "));
    let found = rows.find(|(options, _)| options.split(' ').any(|known| known == option));
    found.map(|(_, remedy)| remedy)
}
