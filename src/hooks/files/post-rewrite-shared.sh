    # git's pairs on standard input are for the hook below as well: keep them in a file for both.
    if pycgate_pairs=$(mktemp 2>/dev/null) && cat >|"$pycgate_pairs"; then
        "$pycgate" hook post-rewrite "$@" <"$pycgate_pairs" || :
        exec <"$pycgate_pairs"
        rm -f "$pycgate_pairs"
    else
        "$pycgate" hook post-rewrite "$@" </dev/null || :
    fi
