#!/bin/bash
# Several commands under one gate, and one verdict for all: bash gated.sh
coproc gate { exec pycgate gate --wait; }
pid=$gate_PID out=${gate[0]} in=${gate[1]}
read -r ready <&"$out"
case $ready in *'"verdict":"PASS"'*) ;; *) exit 125 ;; esac

status=0
python -m compileall -q . && python -m unittest -q || status=$?

printf '{"status": %d}\n' "$status" >&"$in"
cat <&"$out" >gate.json
wait "$pid"
