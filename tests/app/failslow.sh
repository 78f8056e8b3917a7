# Verbs of the tests in which something real makes a run slow, beside those of common.sh: a run of two ranks on the CPU in the
# background, runs/NAME, with steps of 40 to 80 ms.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
head -c 100000 /dev/urandom | base64 >train.txt
cat >slow.toml <<'D'
[run]
train_steps = 170
log_interval = 1000
[model]
num_layers = 4
num_attention_heads = 4
hidden_size = 128
vocab_size = 256
seq_length = 256
[data]
train = "train.txt"
[batch]
global_batch_size = 8
micro_batch_size = 4
[optimizer]
lr = 3e-4
[parallel]
data_parallel_size = 2
[device]
kind = "cpu"
[checkpoint]
interval = -1
D

events() { grep "\"event\": \"$2\"" "runs/$1/events.jsonl" || true; }
step_of() { tail -n 1 "runs/$1/metrics.jsonl" 2>/dev/null | sed -n 's/.*"step": \([0-9]*\),.*/\1/p'; }
# await_step NAME STEP: that `training`, a process of this shell, has done so many.
await_step() {
  local at
  for _ in $(seq 600); do
    at=$(step_of $1)
    [ "${at:-0}" -ge $2 ] && return
    kill -0 $training 2>/dev/null || fail "$1 ended before step $2: $(cat $1.log)"
    sleep 0.2  # to look costs some milliseconds of a core
  done
  fail "$1 did not come to step $2"
}
await_end() { wait $training || fail "$1: status $?: $(cat $1.log)"; }

# blames NAME FROM TO TEXT: whether each component that fail_slow names in these steps has that text, and one is named. Another
# guest of the machine may be told of before and after.
blames() {
  local named
  named=$(events "$1" fail_slow | awk -v from="$2" -v to="$3" 'match($0, /"step": [0-9]+/) {
    step = substr($0, RSTART + 8, RLENGTH - 8) + 0
    if (step >= from && step <= to) print
  }' | grep -o '{"kind": [^}]*}') || return 1
  ! grep -qv -- "$4" <<<"$named"
}
# heals NAME TEXT: whether a component with that text has healed.
heals() { events "$1" healed | grep -q -- "$2"; }
# median_ms NAME FIRST END: of iterations.
median_ms() {
  sed -n 's/.*"step": \([0-9]*\),.*"iteration_seconds": *\([0-9.e-]*\).*/\1 \2/p' "runs/$1/metrics.jsonl" |
    awk -v first="$2" -v end="$3" '$1 >= first && $1 < end { print 1000 * $2 }' | sort -g | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'
}
# acts NAME EVENT STRATEGY TEXT: whether there is such an event of the strategy, with that text.
acts() { events "$1" "$2" | grep "\"strategy\": \"$3\"" | grep -q -- "$4"; }
# paid NAME: whether nothing was done before what it was expected to cost had been lost.
paid() {
  events "$1" mitigate | sed 's/.*"lost_seconds": \([^,]*\), "expected_cost_seconds": \([^,]*\),.*/\1 \2/' | awk '!($2 > 0 && $2 <= $1) { exit 1 }'
}
# changes_near NAME EVENT STEP: whether such a change was placed within so few steps after it as the fault takes to begin.
changes_near() {
  events "$1" "$2" | sed -n 's/.*"iteration": \([0-9]*\),.*/\1/p' | awk -v at="$3" '$1 >= at - 3 && $1 <= at + 12 { found = 1 } END { exit !found }'
}

# Processor time that programs outside this test have had so far, in ticks.
others_ticks() {
  awk 'FNR == 1 && NR > 1 { print busy - $14 - $15 - $16 - $17 } /^cpu / { busy = $2 + $3 + $4 + $7 + $8 }' /proc/stat /proc/$$/stat
}

# found FAULT: calls FAULT NAME, a function that makes a run of that name slow and says whether it was told of. A machine with
# other guests may hide one fault in ten: three tries. Programs that take a fifth of its processors besides are faults themselves, and
# hide more: then the test is skipped. `found` becomes the name.
found() {
  local try share before=$(others_ticks) begun=$SECONDS
  for try in 1 2 3; do
    found=$1-$try
    $1 $found && echo "ok $found" && return
  done
  share=$((100 * ($(others_ticks) - before) / ($(getconf CLK_TCK) * $(nproc --all) * (SECONDS - begun + 1))))
  [ $share -lt 20 ] || skips "no run tells of the $1, and other programs had $share % of the processors"
  fail "no run tells of the $1: $(cat runs/$1-*/events.jsonl)"
}
