complete -c retry -l base -d 'Delay before the first retry [default: 1s]' -r
complete -c retry -l cap -d 'Longest delay, jitter included [default: 30s, or base]' -r
complete -c retry -l backoff -d 'exponential, linear or constant [default: exponential]' -r -f -a "exponential\t''
linear\t''
constant\t''"
complete -c retry -l factor -d 'Growth of exponential delays, 1 or more [default: 2]' -r
complete -c retry -l jitter -d 'none, full, equal, decorrelated, or 20% [default: full]' -r
complete -c retry -l seed -d 'Draw the same delays each time' -r
complete -c retry -s a -l attempts -d 'Runs in total, the first one too, or inf [default: 5]' -r
complete -c retry -l deadline -d 'Time for everything: attempts and delays' -r
complete -c retry -l timeout -d 'Time for one attempt' -r
complete -c retry -l reserve -d 'Start no retry with less than this before the deadline' -r
complete -c retry -l signal -d 'What a time limit sends first [default: TERM]' -r
complete -c retry -s k -l kill-after -d 'Time from that signal to KILL [default: 5s]' -r
complete -c retry -l retry-on -d 'Retry only these endings' -r
complete -c retry -l stop-on -d 'Never retry these endings; wins over --retry-on' -r
complete -c retry -l success-on -d 'Take these endings for success, as exit 0 is' -r
complete -c retry -l process-group -d 'auto, new or inherit [default: auto]' -r -f -a "auto\t''
new\t''
inherit\t''"
complete -c retry -s q -l quiet -d 'Say nothing on stderr'
complete -c retry -s v -l verbose -d 'Say every step on stderr'
complete -c retry -s h -l help -d 'Print help; -h is one line an option'
complete -c retry -s V -l version -d 'Print the version'
