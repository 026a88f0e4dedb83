complete -c retry -n 'not __fish_retry_command' -l base -d 'Upper bound of the first delay [default: 1s]' -r -f
complete -c retry -n 'not __fish_retry_command' -l delay -d 'The same delay each time; for a single caller' -r -f
complete -c retry -n 'not __fish_retry_command' -l cap -d 'Longest delay, jitter included [default: 30s, or base]' -r -f
complete -c retry -n 'not __fish_retry_command' -l backoff -d 'exponential, linear or constant [default: exponential]' -r -f -a "exponential\t''
linear\t''
constant\t''"
complete -c retry -n 'not __fish_retry_command' -l factor -d 'Growth of exponential delays, 1 or more [default: 2]' -r -f
complete -c retry -n 'not __fish_retry_command' -l jitter -d 'none, full, equal, decorrelated, or 20% [default: full]' -r -f -a "none\t''
full\t''
equal\t''
decorrelated\t''"
complete -c retry -n 'not __fish_retry_command' -l seed -d 'Make the random delays repeatable' -r -f
complete -c retry -n 'not __fish_retry_command' -s a -l attempts -d 'Total runs, including the first, or inf [default: 5]' -r -f
complete -c retry -n 'not __fish_retry_command' -l deadline -d 'Limit for the whole run: attempts and delays' -r -f
complete -c retry -n 'not __fish_retry_command' -l timeout -d 'Limit for one attempt' -r -f
complete -c retry -n 'not __fish_retry_command' -l reserve -d 'Start no retry if less of --deadline is left' -r -f
complete -c retry -n 'not __fish_retry_command' -l signal -d 'Signal that a limit sends first [default: TERM]' -r -f -a "TERM\t''
INT\t''
HUP\t''
QUIT\t''
KILL\t''
USR1\t''
USR2\t''"
complete -c retry -n 'not __fish_retry_command' -s k -l kill-after -d 'Time from --signal to KILL [default: 5s]' -r -f
complete -c retry -n 'not __fish_retry_command' -l idle-timeout -d 'Terminate an attempt that writes nothing this long' -r -f
complete -c retry -n 'not __fish_retry_command' -l retry-on -d 'Retry only these outcomes' -r -f -a "any\t''
signal\t''
timeout\t''
spawn\t''"
complete -c retry -n 'not __fish_retry_command' -l stop-on -d 'Never retry these outcomes; wins over --retry-on' -r -f
complete -c retry -n 'not __fish_retry_command' -l success-on -d 'Treat these outcomes as success, like exit 0' -r -f
complete -c retry -n 'not __fish_retry_command' -l retry-if -d 'Retry only if a line of output matches; repeatable' -r -f
complete -c retry -n 'not __fish_retry_command' -l stop-if -d 'Never retry a failure if a line matches' -r -f
complete -c retry -n 'not __fish_retry_command' -l success-if -d 'Success if a line matches, whatever the status' -r -f
complete -c retry -n 'not __fish_retry_command' -l fail-if -d 'Failure if a line matches, even with exit 0' -r -f
complete -c retry -n 'not __fish_retry_command' -l retry-after -d 'Obey Retry-After in output|stdout|stderr|@FILE' -r -f -a "output\t''
stdout\t''
stderr\t''"
complete -c retry -n 'not __fish_retry_command' -l retry-after-max -d 'Give up if a server asks for more [default: 5m]' -r -f
complete -c retry -n 'not __fish_retry_command' -l stdin -d 'auto, inherit, replay or null [default: auto]' -r -f -a "auto\t''
inherit\t''
replay\t''
null\t''"
complete -c retry -n 'not __fish_retry_command' -l stdout -d 'stream, or once (success only) [default: stream]' -r -f -a "stream\t''
once\t''"
complete -c retry -n 'not __fish_retry_command' -l output -d 'stream, last or on-failure [default: stream]' -r -f -a "stream\t''
last\t''
on-failure\t''"
complete -c retry -n 'not __fish_retry_command' -l before-retry -d 'Shell command to run before each retry' -r -f
complete -c retry -n 'not __fish_retry_command' -l shared -d 'File shared by all runs that name it' -r -F
complete -c retry -n 'not __fish_retry_command' -l budget -d 'Retries that a full budget allows [default: 10]' -r -f
complete -c retry -n 'not __fish_retry_command' -l budget-refill -d 'Retries added back over time, like 1/10s' -r -f
complete -c retry -n 'not __fish_retry_command' -l concurrency -d 'Attempts of all these runs that may run at once' -r -f
complete -c retry -n 'not __fish_retry_command' -l log-format -d 'text, json or github [default: text]' -r -f -a "text\t''
json\t''
github\t''"
complete -c retry -n 'not __fish_retry_command' -l log -d 'Append every event to FILE as JSON, one per line' -r -F
complete -c retry -n 'not __fish_retry_command' -l name -d 'Name of this run in messages and events' -r -f
complete -c retry -n 'not __fish_retry_command' -l clients -d 'With --plan: simulate N clients that fail together' -r -f
complete -c retry -n 'not __fish_retry_command' -l capacity -d 'With --clients: limit what the server can serve' -r -f
complete -c retry -n 'not __fish_retry_command' -l policy -d 'Read options from FILE; the command line wins' -r -F
complete -c retry -n 'not __fish_retry_command' -l process-group -d 'auto, new or inherit [default: auto]' -r -f -a "auto\t''
new\t''
inherit\t''"
complete -c retry -n 'not __fish_retry_command' -l generate -d 'Print man page or completion (bash, zsh, fish)' -r -f -a "man\t''
bash\t''
zsh\t''
fish\t''"
complete -c retry -n 'not __fish_retry_command' -s q -l quiet -d 'Write nothing to stderr'
complete -c retry -n 'not __fish_retry_command' -s v -l verbose -d 'Report every step on stderr'
complete -c retry -n 'not __fish_retry_command' -l plan -d 'Print the schedule, run nothing (also --dry-run)'
complete -c retry -n 'not __fish_retry_command' -s h -l help -d 'Print help; -h prints one line per option'
complete -c retry -n 'not __fish_retry_command' -s V -l version -d 'Print the version'

# The options, as argparse takes them.
function __fish_retry_options
    printf '%s\n' base= delay= cap= backoff= factor= jitter= seed= a= attempts= deadline= timeout= reserve= signal= k= kill-after= idle-timeout= retry-on= stop-on= success-on= retry-if= stop-if= success-if= fail-if= retry-after= retry-after-max= stdin= stdout= output= before-retry= shared= budget= budget-refill= concurrency= q quiet v verbose log-format= log= name= plan dry-run clients= capacity= policy= process-group= generate= h help V version
end

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
