# What the scripts share that try replicas under tenax launch: the run, its ledger, its processes.
#
# They set `run`, the run's name, and `overrides` of the deck. The supervisor is `supervisor`.
replicas=4

supervise() { "$TENAX" launch soak.toml run.name="$run" "${overrides[@]}" >>"$run.out" 2>>"$run.err" </dev/null & supervisor=$!; }
of_ledger() { cat "runs/$run/ledger.jsonl" 2>/dev/null | grep -c "\"$1\":"; }
commits() { of_ledger squares; }
epochs() { of_ledger members; }
# The replicas that computed the last step, one a line: they hold the state.
holders() { tac "runs/$run/ledger.jsonl" | grep -m 1 '"squares"' | sed 's/.*"parts": //; s/\]\].*//' | grep -o '\[[0-9]*,' | tr -d '[,' | sort -u; }
ranks_of_replica() { pgrep -f -- "^$TENAX --join $work/runs/$run/replica-$1/join"; }
mpirun_of_replica() { pgrep -f -- "^(mpirun|[^ ]*prterun|srun) .*--join $work/runs/$run/replica-$1/join"; }
pick() { shuf -n 1 --random-source=<(yes $RANDOM); }

# await_commits COUNT: until so many steps are committed; ends the script if the run never starts.
await_commits() {
  while [ "$(commits)" -lt "$1" ]; do
    kill -0 $supervisor 2>/dev/null || { failed "it did not start: $(cat "$run.err")"; finish "nothing"; }
    sleep 0.2
  done
  in_shm=tenax-$(sed -n 's/.*"run_id": "\([0-9a-f]*\)".*/\1/p' "runs/$run/replica-0/join")
}

# stop_run: all stop at one step, as requested.
stop_run() {
  kill -USR1 $supervisor
  end_run
}
# end_run: it ends as it should; the ledger is sound, nothing stays behind.
end_run() {
  wait $supervisor || failed "status $? at the end: $(tail -n 2 "$run.err")"
  "$TENAX" audit "runs/$run" || failed "the audit"
  nothing_left || failed "something is left"
}
