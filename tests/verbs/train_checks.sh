# In a guest with two links: two stages train over soft RDMA, bit for bit as over TCP, whatever becomes of a link.
source "$(dirname "${BASH_SOURCE[0]}")/checks.sh"

golden=$TENAX_SOURCE/tests/golden
sed "s|\"initial.safetensors\"|\"$golden/initial.safetensors\"|; s|\"tokens.bin\"|\"$golden/tokens.bin\"|" \
  "$golden/golden.toml" >golden.toml
devices='["rxe_a0@0", "rxe_a1@0", "rxe_b0@1", "rxe_b1@1"]'
steps=16

# run NAME override …: two stages whose messages go over delegates; output in NAME.log.
run() {
  timeout 200 mpirun -q -n 2 "$TENAX" golden.toml run.name="$1" run.train_steps=$steps optimizer.lr_decay_steps=$steps \
    parallel.pipeline_parallel_size=2 pipeline.p2p=delegated comm.sockets_per_link=2 detect.enabled=false "${@:2}" \
    >"$1.log" 2>&1 </dev/null || { cat "$1.log"; fail "run $1"; }
}
rdma() { run "$1" comm.transport=verbs "verbs.devices=$devices" verbs.silence_ms=500; }

# learnt_the_same NAME: losses, norms and the last checkpoint are those of the run over TCP.
learnt_the_same() {
  claim "$1 has the losses of TCP" "$RUN_CHECK" same runs/tcp/metrics.jsonl "runs/$1/metrics.jsonl"
  claim "$1 saves what TCP saves" cmp <(weights_of tcp) <(weights_of "$1")
}
weights_of() { h5dump -A "runs/$1/checkpoints/step-0000$steps.h5" | grep -A 6 checksum; }
# event NAME PATTERN: a line of its events.
event() { claim "$1: $2" grep -qE "$2" "runs/$1/events.jsonl"; }

# disturbed NAME COMMAND …: the command runs once the run has done some steps.
disturbed() {
  local name=$1 run
  shift
  rdma "$name" &
  run=$!
  within 60 has_steps "$name" 5 || fail "run $name does not begin"
  "$@"
  wait $run
  learnt_the_same "$name"
  event "$name" '"event": "reroute", .*"ranks": \[0, 1\], "from": "verbs rxe_a0:1 - rxe_b0:1", "to": "verbs rxe_a1:1 - rxe_b1:1"'
}
has_steps() { [ "$(cat "runs/$1/metrics.jsonl" 2>/dev/null | wc -l)" -ge "$2" ]; }
goes_down() { ip link set a0 down; sleep 1; link_up a 0; }
is_silent() { tc qdisc add dev a0 root netem loss 100%; sleep 2; tc qdisc del dev a0 root; }

run tcp comm.transport=tcp
rdma quiet
learnt_the_same quiet
claim "the ports are told" grep -qF 'comm     verbs over rxe_a0:1, rxe_a1:1, rxe_b0:1, rxe_b1:1 (RoCE v2, MTU 4096)' quiet.log
event quiet '"event": "start".*"transport": \{"kind": "verbs", "ports": \["rxe_a0:1", .*\], "reason": null\}'
disturbed down goes_down
event down '"event": "port", .*"port": "rxe_a0:1", "state": "down"'
disturbed silent is_silent
