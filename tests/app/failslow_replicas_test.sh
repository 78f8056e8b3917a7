# A supervisor compares its replicas and the links between them: it names the link that delays messages, by which iterations
# become longer, and that it has healed,
# and the replica that was slower than the others from the start, which sees nothing in its own history.
source "$(dirname "$0")/launch.sh"
cat >replicas.toml <<'D'
[run]
train_steps = 90
log_interval = 1000
[batch]
global_batch_size = 12
micro_batch_size = 1
[parallel]
replicas = 3
[device]
kind = "emulated"
forward_ms = 5
backward_input_ms = 5
backward_weight_ms = 5
optimizer_ms = 4
gradient_bytes = 4000000
[checkpoint]
interval = -1
D
deck=replicas.toml
told() { grep "\"event\": \"$2\"" runs/$1/events.jsonl | grep -- "$3" || true; }

link() {
  launch $1 inject.0.kind=link_delay "inject.0.replicas=[1, 2]" inject.0.delay_ms=8 inject.0.from_step=20 inject.0.to_step=60 || return 1
  told $1 fail_slow '"replicas": \[1, *2\].*"group": "replica".*"cause": "link"' | grep -q . || return 1
  told $1 onset '"before_ms"' | grep -qv '"replica":' || return 1
  ! told $1 fail_slow '"group": "replica"' | grep -qv '"replicas": \[1, *2\]' || return 1
  told $1 healed '"replicas": \[1, *2\].*"group": "replica"' | grep -q .
}
replica() {
  launch $1 inject.0.kind=slow_compute inject.0.replica=2 inject.0.rank=0 inject.0.factor=1.5 run.train_steps=45 || return 1
  told $1 fail_slow '"replica": 2,.*"kind": "rank".*"host"' | grep -q . || return 1
  ! told $1 fail_slow '"kind"' | grep -qv '"replica": 2,'
}
# Other guests of the machine may hide it: three tries.
for what in link replica; do
  for try in 1 2 3; do
    found=$what-$try
    $what $found && echo "ok $found" && break
    [ $try -lt 3 ] || fail "no run tells of the $what: $(cat runs/$what-*/events.jsonl)"
  done
done
