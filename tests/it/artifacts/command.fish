# Prints the command and its arguments before the cursor, and fails where there are none yet.
function __fish_retry_command
    set -l words (commandline -opc)
    set -e words[1]
    argparse --stop-nonopt (__fish_retry_options) -- $words 2>/dev/null
    or return
    set -q argv[1]
    and string escape -- $argv
end

# The command completes as if it were alone.
function __fish_retry_complete_command
    set -l words (__fish_retry_command)
    set -l current (commandline -ct)
    complete --do-complete "$words $current"
end

complete -c retry -f -a '(__fish_retry_complete_command)'
