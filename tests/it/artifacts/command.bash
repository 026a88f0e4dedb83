# shellcheck shell=bash

# Completes retry's own words by what is above, and the command by its own completion.
_retry_and_command() {
    local start at=1 word option='' rest=${COMP_LINE#*"${COMP_WORDS[0]}"}
    COMPREPLY=()
    while ((at <= COMP_CWORD)); do
        # bash makes several words of --stdin=null, @FILE and a:b; what no blank parts is one.
        start=$at word=''
        while
            word+=${COMP_WORDS[at]}
            rest=${rest#*"${COMP_WORDS[at]}"}
            ((++at <= COMP_CWORD)) && [[ $rest == [![:space:]]* ]]
        do :; done
        if ((at > COMP_CWORD)); then
            break # the cursor is in this one
        elif [[ $option ]]; then
            option='' # this was its value
        elif [[ $word == -- ]]; then
            start=$at word=''
            break
        elif _retry_takes_value "$word"; then
            option=$word
            [[ $word == --* ]] || option=-${word: -1}
        elif [[ $word != -* ]]; then
            break
        fi
    done
    if [[ ! $option && $word == --*=* ]]; then
        option=${word%%=*}
    fi
    if [[ $option || $word == -* ]]; then
        compopt -o nosort 2>/dev/null # not before bash 4.4
        # It knows an option and its value only as two words.
        COMP_WORDS=("$1" "$option" "$2") COMP_CWORD=2
        _retry "$1" "$2" "$option"
    elif declare -F _comp_command_offset >/dev/null; then
        _comp_command_offset "$start"
    elif declare -F _command_offset >/dev/null; then
        _command_offset "$start" # before bash-completion 2.12
    elif ((start == COMP_CWORD)); then
        local IFS=$'\n'
        # shellcheck disable=SC2207 # bash 3 has no mapfile
        COMPREPLY=($(compgen -c -- "$2"))
    fi
}

complete -F _retry_and_command -o bashdefault -o default retry
