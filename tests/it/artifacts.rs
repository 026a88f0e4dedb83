//! The man page and the completions are what the options say; `SNAPSHOTS=overwrite cargo test`
//! writes them anew.

use clap_complete::{Shell, generate};
use clap_mangen::Man;
use snapbox::{Data, assert_data_eq, file};

/// When the page was last changed in meaning.
const DATE: &str = "2026-11-30";

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

fn script(shell: Shell) -> String {
    let mut script = Vec::new();
    generate(shell, &mut retry::command(), "retry", &mut script);
    String::from_utf8(script).expect("text")
}

#[test]
fn the_man_page_is_what_the_options_say() {
    assert_data_eq!(Data::text(page()), file!["../../man/retry.1"].raw());
}

#[test]
fn the_bash_completion_is_what_the_options_say() {
    assert_data_eq!(
        Data::text(script(Shell::Bash)),
        file!["../../completions/retry.bash"].raw()
    );
}

#[test]
fn the_zsh_completion_is_what_the_options_say() {
    assert_data_eq!(
        Data::text(script(Shell::Zsh)),
        file!["../../completions/_retry"].raw()
    );
}

#[test]
fn the_fish_completion_is_what_the_options_say() {
    assert_data_eq!(
        Data::text(script(Shell::Fish)),
        file!["../../completions/retry.fish"].raw()
    );
}
