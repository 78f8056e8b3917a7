# In a guest with two links: four stages train over soft RDMA while one of them fails, bit for bit as where both fail and TCP carries.
source "$(dirname "${BASH_SOURCE[0]}")/checks.sh"

# train NAME override …: becomes the run, with its output in NAME.log.
train() { exec mpirun -n 4 "$TENAX" "$TENAX_SOURCE/tests/verbs/train.toml" run.name="$1" "${@:2}" >"$1.log" 2>&1 </dev/null; }
steps_of() { cat "runs/$1/metrics.jsonl" 2>/dev/null | wc -l; }
weights_of() { h5dump -A "$(printf 'runs/%s/checkpoints/step-%06d.h5' "$1" "$2")" | grep -A 6 checksum; }

# begin NAME override …: the run, in the background, takes its first step; $name, $run.
begin() {
  name=$1 seen=0
  (train "$@") &
  run=$!
  reach 1
}
# told WHAT PATTERN …: soon each pattern has a line among the run's events that came since the last call.
told() {
  local what=$1 pattern
  shift
  for pattern in "$@"; do
    within 30 has_event "$pattern" || { cat "$name.log" "runs/$name/events.jsonl"; fail "$what: no event '$pattern'"; }
  done
  seen=$(wc -l <"runs/$name/events.jsonl")
  ok "$what, at step $(steps_of "$name")"
}
has_event() { tail -n +$((seen + 1)) "runs/$name/events.jsonl" | grep -qE "$1"; }
port() { echo "\"event\": \"port\", .*\"port\": \"$1:1\", \"state\": \"$2\""; }
reroute() {  # FROM TO REASON: of one link's ports to the other's
  local pair='"verbs rxe_a%d:1 - rxe_b%d:1"'
  printf "\"event\": \"reroute\", .*\"ranks\": \\[0, 1\\], \"from\": $pair, \"to\": $pair, \"reason\": \"$3\"" "$1" "$1" "$2" "$2"
}
# reach STEP: the run takes it.
reach() { within 90 has_taken "$1" || { cat "$name.log"; fail "the run $name does not come to step $1"; }; }
has_taken() { [ "$(steps_of "$name")" -ge "$1" ]; }
# stop: the run ends after the step that it is in.
stop() {
  kill -USR1 $run
  wait $run || { cat "$name.log"; fail "the run $name"; }
}

begin rdma comm.transport=verbs run.train_steps=10000
claim "the ports are told" grep -qF 'comm     verbs over rxe_a0:1, rxe_a1:1, rxe_b0:1, rxe_b1:1 (RoCE v2, MTU 4096)' rdma.log
told "a run begins" '"event": "start".*"transport": \{"kind": "verbs", "ports": \["rxe_a0:1", .*\], "reason": null\}'
ip link set a0 down
told "a link is down" "$(port rxe_a0 down)" "$(reroute 0 1 '(peer_)?port_down')"
link_up a 0
told "it has healed" "$(port rxe_a0 up)" "$(reroute 1 0 healed)"
tc qdisc add dev a0 root netem loss 100%
told "a link is silent" "$(reroute 0 1 no_answer)"
tc qdisc del dev a0 root
told "it answers" "$(reroute 1 0 healed)"
rdma link delete rxe_a0 &
told "a device is gone" "$(port rxe_a0 lost)" "$(reroute 0 1 '(device_lost|port_down)')"
claim "all of it within 40 steps" [ "$(steps_of rdma)" -le 40 ]
reach 10
stop
steps=$(steps_of rdma)

# All ways of "auto": shared memory is cut, RDMA comes next, and TCP where both links are down: for most of these steps.
within 10 rdma link add rxe_a0 type rxe netdev a0 || fail "the device does not come back"
cut=()
for stage in 0 1 2; do
  cut+=("inject.$stage.kind=link_down" "inject.$stage.stages=[$stage, $((stage + 1))]" "inject.$stage.path=shm")
done
# each_link EVENT: its pattern for each of the three links.
each_link() { printf '"event": "reroute", .*"ranks": \\[%s\\], '"$1\n" '0, 1' '1, 2' '2, 3'; }
begin auto comm.transport=auto run.train_steps=10000 checkpoint.interval="$steps" checkpoint.keep=0 "${cut[@]}"
ip link set a0 down
ip link set a1 down
mapfile -t patterns < <(each_link '.*"to": "tcp", "reason": "(peer_)?port_down"')
told "both links are down" "${patterns[@]}"
claim "TCP has steps to carry" [ "$(steps_of auto)" -le $((steps - 4)) ]
reach $((steps - 2))
link_up a 0
link_up a 1
mapfile -t patterns < <(each_link '"from": "tcp", "to": "verbs [^"]*", "reason": "healed"')
told "they have healed" "${patterns[@]}"
reach "$steps"
stop

claim "losses and norms of $steps steps are alike" "$RUN_CHECK" same <(head -n "$steps" runs/auto/metrics.jsonl) runs/rdma/metrics.jsonl
claim "there are sums of a checkpoint" grep -q checksum <(weights_of rdma "$steps")
claim "they are alike" cmp <(weights_of rdma "$steps") <(weights_of auto "$steps")
