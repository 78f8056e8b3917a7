# What the scripts beside this file share: verbs of the whole-run tests, the deck, its tokens, one quiet run a layout.
set -u
soak_folder=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
TENAX_SOURCE=$(cd "$soak_folder/../.." && pwd)
TENAX=${TENAX:-$TENAX_SOURCE/build/tenax}
RUN_CHECK=${RUN_CHECK:-$TENAX_SOURCE/build/tests/app/run_check}
export TENAX TENAX_SOURCE RUN_CHECK
source "$TENAX_SOURCE/app/setup.sh"
source "$TENAX_SOURCE/tests/app/common.sh"
set +e
export_mpi_environment
for program in "$TENAX" "$RUN_CHECK"; do
  [ -x "$program" ] || die "$program is missing: bash tests/run.sh builds it"
done

# enter_work NAME: an empty working directory of this script's own, with the deck and its tokens.
enter_work() {
  ! pgrep -f "$TENAX soak.toml" >/dev/null || die "another soak run is under way: what it leaves would be taken for this one's"
  work=$(mktemp -d "/tmp/tenax-$1.XXXXXX") && cd "$work" || exit 1
  mkdir tmp
  export TMPDIR=$work/tmp
  cp "$soak_folder/soak.toml" .
  perl -e 'srand(7); print pack("v*", map { int rand 4096 } 1 .. 200000)' >tokens.bin
}

layouts=("2 2 1" "2 1 2" "1 2 2")
layout_name() { echo "${1// /x}"; }

# quiet_runs [override …]: a run that nothing disturbs, for each layout, in runs/whole-TxPxD.
quiet_runs() {
  local sizes
  for sizes in "${layouts[@]}"; do
    must_train 4 soak.toml "run.name=whole-$(layout_name "$sizes")" $(layout $sizes) "$@"
  done
}

# start NAME "T P D" [override …]: the run in the background, its mpirun in `job`.
start() {
  local name=$1 sizes=$2
  shift 2
  mpirun -n "$(ranks_of $sizes)" "$TENAX" soak.toml "run.name=$name" $(layout $sizes) "$@" \
    >"$name.out" 2>"$name.err" </dev/null &
  job=$!
}

steps_done() { cat "runs/$1/metrics.jsonl" 2>/dev/null | grep -c '"loss"'; }

# await_step NAME STEP: until the run has done so many, or has ended.
await_step() {
  while kill -0 "$job" 2>/dev/null && [ "$(steps_done "$1")" -lt "$2" ]; do sleep 0.02; done
}

# The ranks of `job`: mpirun's children.
ranks() { pgrep -P "$job"; }

# ended_within SECONDS: whether `job` ends by then; its status in `status`.
ended_within() {
  local end=$((SECONDS + $1))
  while kill -0 "$job" 2>/dev/null; do
    [ $SECONDS -lt $end ] || return 1
    sleep 0.1
  done
  wait "$job" 2>/dev/null
  status=$?
}

# What others had left in shared memory when this script began is not ours.
in_shared_memory() { ls -d "/dev/shm/${in_shm:-tenax}"* 2>/dev/null; }
left_by_others=$(in_shared_memory)
# nothing_left: no process of a run, nothing of ours in shared memory (whose names begin with `in_shm`) or among temporary files.
nothing_left() {
  local attempt
  for attempt in $(seq 100); do
    pgrep -f "$TENAX soak.toml" >/dev/null || break
    sleep 0.1
  done
  ! pgrep -f "$TENAX soak.toml" >/dev/null || { echo "processes are left: $(pgrep -af "$TENAX soak.toml")"; return 1; }
  ! in_shared_memory | grep -vxF -e "$left_by_others" || { echo "left in /dev/shm"; return 1; }
  ! find "$TMPDIR" -name 'tenax*' | grep . || { echo "left among temporary files"; return 1; }
}

# as_quiet NAME "T P D": it took every step once, with the quiet run's losses and its last checkpoint's bits.
as_quiet() {
  local whole=runs/whole-$(layout_name "$2") last
  "$RUN_CHECK" same "runs/$1/metrics.jsonl" "$whole/metrics.jsonl" || return 1
  last=$(basename "$(ls "$whole"/checkpoints/step-*.h5 | tail -n 1)")
  checksums "$whole/checkpoints/$last" >whole.txt
  checksums "runs/$1/checkpoints/$last" >resumed.txt
  [ -s whole.txt ] && cmp whole.txt resumed.txt || return 1
  ! ls -A "runs/$1/checkpoints" | grep '\.tmp-' || { echo "a temporary checkpoint is left"; return 1; }
}

newest_checkpoint_loads() {
  local newest
  newest=$(ls "runs/$1"/checkpoints/step-*.h5 2>/dev/null | tail -n 1)
  [ -z "$newest" ] || "$TENAX" inspect "$newest" >/dev/null
}

# tally WHAT: counts it, for the end.
declare -A tallies
tally() { tallies[$1]=$((${tallies[$1]:-0} + 1)); }
total() {
  local what
  for what in "${!tallies[@]}"; do echo "  ${tallies[$what]} x $what"; done | sort
}
# finish WHAT: says what was counted and ends the script; the working directory stays where something failed.
finish() {
  echo "$1, $failures failures:"
  total
  [ $failures = 0 ] && rm -rf "$work"
  exit $((failures > 0))
}
failures=0
failed() {
  failures=$((failures + 1))
  echo "FAILED: $*" >&2
}
