complete -c retry -l base -d 'Longest delay before the first retry, or 0 for no delays' -r
complete -c retry -l cap -d 'Longest delay, jitter included [default: 30s, or base if longer]' -r
complete -c retry -l backoff -d 'How the delays grow: exponential, linear or constant' -r -f -a "exponential\t''
linear\t''
constant\t''"
complete -c retry -l factor -d 'Growth of exponential delays, 1 or more [default: 2]' -r
complete -c retry -l jitter -d 'none, full, equal, decorrelated, or a share as 20% or 0.2' -r
complete -c retry -l seed -d 'Make the delays reproducible [default: random]' -r
complete -c retry -s a -l attempts -d 'Runs in total, the first one included, or inf' -r
complete -c retry -l deadline -d 'Time for everything: attempts and delays [default: none]' -r
complete -c retry -l timeout -d 'Time for one attempt [default: none]' -r
complete -c retry -l reserve -d 'Start no retry with less than this left of the deadline' -r
complete -c retry -l signal -d 'Signal that a time limit sends first' -r
complete -c retry -s k -l kill-after -d 'Send KILL so long after that signal' -r
complete -c retry -l retry-on -d 'Retry only these endings' -r
complete -c retry -l stop-on -d 'Never retry these endings; wins over --retry-on' -r
complete -c retry -l success-on -d 'Take these endings for success besides exit 0' -r
complete -c retry -l process-group -d 'Process group of the command: auto, new or inherit' -r -f -a "auto\t''
new\t''
inherit\t''"
complete -c retry -s q -l quiet -d 'Say nothing on stderr'
complete -c retry -s v -l verbose -d 'Say more on stderr'
complete -c retry -s h -l help -d 'Print help (-h: one line an option)'
complete -c retry -s V -l version -d 'Print the version'
