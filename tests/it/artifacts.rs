//! The man page and the completions follow from the options. `SNAPSHOTS=overwrite cargo test`
//! regenerates them.

use clap::{Arg, Command, ValueHint};
use clap_complete::{Shell, generate};
use clap_mangen::Man;
use snapbox::{Data, assert_data_eq, file};

/// The date of the last change in the page's meaning.
const DATE: &str = "2026-12-01";

/// The generated sections, then those written by hand.
fn page() -> String {
    let man = Man::new(retry::command())
        .date(DATE)
        .manual("User Commands");
    let mut page = Vec::new();
    man.render_title(&mut page).expect("memory");
    man.render_name_section(&mut page).expect("memory");
    man.render_synopsis_section(&mut page).expect("memory");
    man.render_description_section(&mut page).expect("memory");
    man.render_options_section(&mut page).expect("memory");
    String::from_utf8(page).expect("text") + include_str!("../../man/sections.roff")
}

/// Words that a shell can offer for options that also take other values.
const WORDS: &[(&str, &[&str])] = &[
    ("jitter", &["none", "full", "equal", "decorrelated"]),
    ("retry_after", &["output", "stdout", "stderr"]),
    ("retry_on", &["any", "signal", "timeout", "spawn"]),
    (
        "signal",
        &["TERM", "INT", "HUP", "QUIT", "KILL", "USR1", "USR2"],
    ),
];

/// The options with the values that a shell can offer: words, files, or none.
fn command() -> Command {
    retry::command().mut_args(|arg| {
        let words = WORDS.iter().find(|(name, _)| arg.get_id() == name);
        match (words, arg.get_value_hint()) {
            (Some((_, words)), _) => arg.value_parser(words.to_vec()),
            (None, ValueHint::Unknown) if takes_value(&arg) => arg.value_hint(ValueHint::Other),
            _ => arg,
        }
    })
}

fn script(shell: Shell) -> String {
    let mut script = Vec::new();
    generate(shell, &mut command(), "retry", &mut script);
    String::from_utf8(script).expect("text")
}

fn options(command: &Command) -> impl Iterator<Item = &Arg> {
    command.get_arguments().filter(|arg| !arg.is_positional())
}

fn takes_value(option: &Arg) -> bool {
    option.get_action().takes_values()
}

/// The names of an option without dashes, with those that the help does not show.
fn names(option: &Arg) -> impl Iterator<Item = String> {
    let letter = option.get_short().map(String::from).into_iter();
    let aliases = option.get_all_aliases().unwrap_or_default();
    let words = option.get_long().into_iter().chain(aliases);
    letter.chain(words.map(String::from))
}

/// `clap_complete` completes neither the command nor `--name=value`. The part written by hand does,
/// and gets the list of options that take a value.
fn bash() -> String {
    let command = retry::command();
    let valued = options(&command).filter(|option| takes_value(option));
    let (letters, words): (Vec<_>, Vec<_>) =
        valued.flat_map(names).partition(|name| name.len() == 1);
    let (letters, words) = (letters.concat(), words.join(" | --"));
    let told = format!(
        "
# Whether the next word is the value of this one.
_retry_takes_value() {{
    case $1 in
        --{words}) ;;
        *) [[ $1 =~ ^-[^-{letters}]*[{letters}]$ ]] ;;
    esac
}}

"
    );
    script(Shell::Bash) + &told + include_str!("artifacts/command.bash")
}

/// `clap_complete` takes `--` for the command where no option stands before it.
fn zsh() -> String {
    let own = script(Shell::Zsh).replace(":_cmdambivalent'", ":_retry_command'");
    let (head, tail) = own.split_once("_retry() {").expect("a function");
    format!(
        "{head}{}_retry() {{{tail}",
        include_str!("artifacts/command.zsh")
    )
}

/// As for bash. After the start of the command, options of retry are no longer offered.
fn fish() -> String {
    let command = retry::command();
    let specs: String = options(&command)
        .flat_map(|option| {
            let value = if takes_value(option) { "=" } else { "" };
            names(option).map(move |name| format!(" {name}{value}"))
        })
        .collect();
    let own = script(Shell::Fish).replace(
        "complete -c retry ",
        "complete -c retry -n 'not __fish_retry_command' ",
    );
    let told = format!(
        "
# The options, as argparse takes them.
function __fish_retry_options
    printf '%s\\n'{specs}
end

"
    );
    own + &told + include_str!("artifacts/command.fish")
}

/// How far an example is indented when the page is shown, by the macro that stands before it.
const INDENTED: &[(&str, usize)] = &[(".RS", 11), (".TP", 14), (".SH", 7), (".SS", 7)];

/// A line as it is shown.
fn shown(line: &str) -> String {
    let escapes = [("\\-", "-"), ("\\(aq", "'"), ("\\(ha", "^"), ("\\e", "\\")];
    escapes
        .iter()
        .fold(line.to_owned(), |line, (typed, shown)| {
            line.replace(typed, shown)
        })
}

#[test]
fn every_example_of_the_man_page_fits_eighty_columns() {
    let (mut indent, mut is_example, mut examples) = (0, false, 0);
    for line in page().lines() {
        if let Some((_, by)) = INDENTED.iter().find(|(macros, _)| line.starts_with(macros)) {
            indent = *by;
        }
        match line {
            ".EX" => is_example = true,
            ".EE" => is_example = false,
            _ if is_example => {
                let width = indent + shown(line).chars().count();
                assert!(width <= 80, "{width} columns: {line}");
                examples += 1;
            }
            _ => {}
        }
    }
    assert!(examples > 80, "{examples} lines of examples");
}

#[test]
fn the_man_page_is_what_the_options_say() {
    assert_data_eq!(Data::text(page()), file!["../../man/retry.1"].raw());
}

#[test]
fn the_bash_completion_is_what_the_options_say() {
    assert_data_eq!(
        Data::text(bash()),
        file!["../../completions/retry.bash"].raw()
    );
}

#[test]
fn the_zsh_completion_is_what_the_options_say() {
    assert_data_eq!(Data::text(zsh()), file!["../../completions/_retry"].raw());
}

#[test]
fn the_fish_completion_is_what_the_options_say() {
    assert_data_eq!(
        Data::text(fish()),
        file!["../../completions/retry.fish"].raw()
    );
}
