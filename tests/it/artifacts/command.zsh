# The command completes as if it were alone; a -- before it is none of its words.
_retry_command() {
    if [[ $words[1] == -- ]] && (( CURRENT > 1 )); then
        shift words
        (( CURRENT-- ))
    fi
    _cmdambivalent
}

