//! `--stdout stream`: the command writes to our own stdout.

use std::process::Stdio;

use crate::support::{AT_ONCE, Sandbox, check};

#[test]
fn what_the_command_writes_is_there_while_it_still_runs() {
    let mut running = Sandbox::new()
        .retry_sh("-a 1", "echo a; read line; echo b")
        .stdin(Stdio::piped())
        .spawn();
    running.await_stdout("a\n").close_stdin();
    running.wait().exits(0).stdout_is("a\nb\n").stderr_is("");
}

#[test]
fn what_our_stdout_holds_already_is_never_cut_off_before_a_retry() {
    check("retry $FAST -a 2 -- failn 1 22 >/dev/null; echo $?", "0\n");
    check(
        "echo first >f; retry $FAST -a 2 -- failn 1 22 >>f; cat f",
        "first\nout1\nout2\n",
    );
    check(
        "{ echo first; retry $FAST -a 2 -- failn 1 22; echo last; } >f; cat f",
        "first\nout1\nout2\nlast\n",
    );
}

#[test]
fn a_command_whose_reader_is_gone_is_not_run_again() {
    let done = check(
        "retry $FAST -a 5 -- sh -c 'echo x >>k; exec yes' | head -n 1; echo ${PIPESTATUS[0]} $(wc -l <k)",
        "y\n141 1\n",
    );
    done.took_less_than(AT_ONCE);
}
