# Parts: each is done once for the programs that it runs, within its time, and does not end the script. Sourced by gpu.sh.

left=$bench_work/gpu-left

# The folder of what these programs, decks and scripts have shown.
open_parts() {
  parts=$bench_work/gpu-$(cd "$tenax_build" && cat "${measured_programs[@]}" "$bench_folder"/{*.toml,pytorch_*.py} 2>/dev/null |
    cksum | cut -d ' ' -f 1)
  mkdir -p "$parts"
}
is_done() { [ -e "$parts/$1.done" ]; }
leave() { echo "$1" >>"$left"; }
is_left() { grep -q "^$1" "$left" 2>/dev/null; }  # PREFIX of parts
end_if_left() {
  [ -e "$left" ] || return 0
  say "left: $(tr '\n' ' ' <"$left"); the same command goes on from here"
  exit 75
}

# part NAME COMMAND…: runs it unless it was done before, or might end too late; prints what it printed. Status 0 too where it
# is left for the next call.
part() {
  local name=$1 limit status=0
  shift
  limit=$(limit_s "$name")
  ! is_done "$name" || { cat "$parts/$name.done"; return 0; }
  [ "$limit" -le $((60 * minutes)) ] || { say "$name: FAILED: it may take $limit s, more than --minutes $minutes"; return 1; }
  [ $((SECONDS + limit)) -le "$end_s" ] || { leave "$name"; return 0; }
  ended_after "$limit" "$@" >"$parts/$name.out" 2>&1 || status=$?
  [ $status = 0 ] || { say_failure "$name" $status; return 1; }
  mv "$parts/$name.out" "$parts/$name.done"
  cat "$parts/$name.done"
}
say_failure() {  # NAME STATUS
  say "$1: FAILED (status $2):"
  tail -n 40 "$parts/$1.out" >&2
}

# ended_after SECONDS COMMAND…: as timeout, for functions too. All that they have started ends with them.
ended_after() {
  local begin=$SECONDS limit=$1 job status=0 pause=0.02
  shift
  ("$@") </dev/null &
  job=$!
  trap 'end_tree $job; exit 130' INT TERM
  while kill -0 $job 2>/dev/null && [ $((SECONDS - begin)) -lt "$limit" ]; do
    sleep $pause
    [ $SECONDS -le $((begin + 1)) ] || pause=0.2
  done
  if kill -0 $job 2>/dev/null; then
    echo "ended after $limit s"
    end_tree $job
    status=124
  fi
  wait $job || status=$((status ? status : $?))
  trap - INT TERM
  return $status
}
end_tree() {  # PID
  local pids
  mapfile -t pids < <(descendants "$1")
  kill "${pids[@]}" 2>/dev/null
  sleep 2  # mpirun ends its ranks
  kill -KILL "${pids[@]}" 2>/dev/null
}

# holds NAME VALUE [WHERE]: as meets, and fails with --no-check too where nothing was measured.
holds() {
  meets "$@"
  is_number "${2:-}" || { say "$1${3:+ ($3)}: FAILED: nothing was measured"; return 1; }
}
# all_hold NAME COUNT FILE EXPRESSION: sed's EXPRESSION makes COUNT lines of FILE "VALUE WHERE", each of which is to meet the goal.
all_hold() {
  local name=$1 count=$2 file=$3 expression=$4 found=0 status=0 value where
  while read -r value where; do
    holds "$name" "$value" "$where" || status=1
    found=$((found + 1))
  done < <(sed -n "$expression" "$file")
  [ $found = "$count" ] || { say "$name: FAILED: $found figures instead of $count"; return 1; }
  return $status
}
