# A process that keeps a rank's core busy: the run says from when on it is slower, that rank 1 waits for its processor, and when
# that is over. Its losses are those of a run that does not look.
source "$(dirname "$0")/failslow.sh"
cores=($(python3 -c 'import os; print(*sorted(os.sched_getaffinity(0)))'))
all_cores=$(tr ' ' , <<<"${cores[*]}")
[ ${#cores[@]} -ge 2 ] || skips "a rank and its core are not alone on ${#cores[@]} core"

# pinned NAME override…: begins the run, one rank a core.
pinned() {
  local name=$1 program=("$TENAX" slow.toml run.name="$1" "${@:2}")
  timeout 120 mpirun -n 1 taskset -c ${cores[0]} "${program[@]}" : -n 1 taskset -c ${cores[1]} "${program[@]}" >$name.log 2>&1 </dev/null &
  training=$!
}

# hog NAME: for 60 steps.
hog() {
  local name=$1 busy
  pinned $name
  taskset -pc ${cores[1]} $$ >/dev/null  # what this shell does beside the hog is no other rank's affair
  await_step $name 40
  taskset -c ${cores[1]} sh -c 'while :; do :; done' &
  busy=$!
  trap "kill $busy $training 2>/dev/null || true" EXIT
  await_step $name 100
  kill $busy
  trap - EXIT
  wait $busy 2>/dev/null || true
  taskset -pc $all_cores $$ >/dev/null
  await_end $name
  changes_near $name onset 40 && changes_near $name relief 100 &&
    blames $name 40 104 '"rank": 1,.*"cause": "cpu_contention"' && heals $name '"rank": 1,.*"cause": "cpu_contention"'
}
found hog

pinned untold detect.enabled=false
await_end untold
claim same runs/untold/metrics.jsonl runs/$found/metrics.jsonl
echo "ok the same losses"
