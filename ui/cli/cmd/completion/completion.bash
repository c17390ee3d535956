
# What the script calls of the package bash-completion, where that is not installed.

# Splits the line into words, of which = and : are a part.
__parley_init_completion()
{
    if declare -F _get_comp_words_by_ref >/dev/null 2>&1; then
        _get_comp_words_by_ref "$@" cur prev words cword
        return
    fi
    local i word gap last='' rest=${COMP_LINE:0:COMP_POINT}
    words=() cword=-1
    for ((i = 0; i <= COMP_CWORD; i++)); do
        gap=${rest%%[![:space:]]*}
        rest=${rest#"$gap"}
        word=${COMP_WORDS[i]}
        ((i == COMP_CWORD)) && word=$rest
        rest=${rest#"$word"}
        if [[ $i -gt 0 && -z $gap && ($word == [=:]* || $last == *[=:]) ]]; then
            words[cword]+=$word
        else
            words[++cword]=$word
        fi
        last=$word
    done
    cur=${words[cword]} prev=${words[cword-1]}
}

# Offers folders.
__parley_filedir()
{
    if declare -F _filedir >/dev/null 2>&1; then
        _filedir "$@"
    elif [[ $(type -t compopt) == builtin ]]; then
        compopt +o default -o dirnames
    else
        local dir
        while IFS='' read -r dir; do
            COMPREPLY+=("$dir")
        done < <(compgen -d -- "$cur")
    fi
}
