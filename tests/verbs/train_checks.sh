# In a guest with two links: four stages train over soft RDMA, bit for bit as over TCP, whatever becomes of a link.
source "$(dirname "${BASH_SOURCE[0]}")/checks.sh"

# train NAME override …: becomes the run, with its output in NAME.log.
train() { exec mpirun -q -n 4 "$TENAX" "$TENAX_SOURCE/tests/verbs/train.toml" run.name="$1" "${@:2}" >"$1.log" 2>&1 </dev/null; }
steps_of() { cat "runs/$1/metrics.jsonl" 2>/dev/null | wc -l; }
weights_of() { h5dump -A "$(echo "runs/$1"/checkpoints/step-*.h5)" | grep -A 6 checksum; }

# told WHAT PATTERN …: soon each pattern has a line among the events that came since the last call.
seen=0
told() {
  local what=$1 pattern
  shift
  for pattern in "$@"; do
    within 30 has_event "$pattern" || { cat rdma.log runs/rdma/events.jsonl; fail "$what: no event '$pattern'"; }
  done
  seen=$(wc -l <runs/rdma/events.jsonl)
  ok "$what, at step $(steps_of rdma)"
}
has_event() { tail -n +$((seen + 1)) runs/rdma/events.jsonl | grep -qE "$1"; }
port() { echo "\"event\": \"port\", .*\"port\": \"$1:1\", \"state\": \"$2\""; }
reroute() {  # FROM TO REASON: of one link's ports to the other's
  local pair='"verbs rxe_a%d:1 - rxe_b%d:1"'
  printf "\"event\": \"reroute\", .*\"ranks\": \\[0, 1\\], \"from\": $pair, \"to\": $pair, \"reason\": \"$3\"" "$1" "$1" "$2" "$2"
}
begins() { [ "$(steps_of rdma)" -gt 0 ]; }

(train rdma comm.transport=verbs run.train_steps=10000) &
run=$!
within 90 begins || { cat rdma.log; fail "the run over RDMA does not begin"; }
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
kill -USR1 $run
wait $run || { cat rdma.log; fail "the run over RDMA"; }
steps=$(steps_of rdma)
(train tcp comm.transport=tcp run.train_steps="$steps") || { cat tcp.log; fail "the run over TCP"; }
claim "losses and norms of $steps steps are those over TCP" "$RUN_CHECK" same runs/tcp/metrics.jsonl runs/rdma/metrics.jsonl
claim "there are sums of a checkpoint" grep -q checksum <(weights_of rdma)
claim "they are those over TCP" cmp <(weights_of tcp) <(weights_of rdma)
