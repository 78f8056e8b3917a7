# A step as one graph (device.cuda_graph) learns what a step launched op by op learns, to the last bit: losses, norms and the
# weights of the last checkpoint; also where it is profiled, evaluated and stopped in between, and where steps are skipped; and
# where the optimizer's state lives in the host's memory (device.offload_optimizer). Algorithms are kept in the run directory.
source "$(dirname "$0")/common.sh"
deck=$golden/golden.toml

run() {  # NAME OPTIONS…
  local name=$1
  shift
  must_train 1 $deck run.name=$name "$@"
  local last=$(ls runs/$name/checkpoints/step-*.h5 | tail -n 1)
  "$TENAX" export $last --out $name.safetensors >/dev/null
}
same_runs() {
  claim same runs/$1/metrics.jsonl runs/$2/metrics.jsonl
  cmp $1.safetensors $2.safetensors || fail "the weights of $1 are not those of $2"
  echo "ok $1 and $2"
}

for dtype in fp32 bf16; do
  run ops-$dtype model.compute_dtype=$dtype
  run graph-$dtype model.compute_dtype=$dtype device.cuda_graph=true
  same_runs graph-$dtype ops-$dtype
  run offloaded-$dtype model.compute_dtype=$dtype device.offload_optimizer=true
  tr -s '\n ' ' ' <out.log | grep -q "and the optimizer's state is kept in" || fail "the banner is silent: $(cat out.log)"
  same_runs offloaded-$dtype ops-$dtype
  learns_as_on_cpu ops-$dtype 1 $deck model.compute_dtype=$dtype
done
# The stand-in's clock and temperature are in the trace, which still becomes a table. What a GPU's driver tells is not known here.
shows_stand_in() {  # NAME
  grep -q '"name":"SM clock","cat":"device","ph":"C",.*"args":{"MHz":1755}' runs/$1/trace.json || fail "$1: the trace shows no clock"
  grep -q '"ph":"C",.*"args":{"°C":61}' runs/$1/trace.json || fail "$1: the trace shows no temperature"
}
for name in ops-fp32 graph-fp32; do
  [ -z "${TENAX_ON_CPU:-}" ] || shows_stand_in $name
  "$TENAX" trace runs/$name --csv | grep -q forward-compute || fail "$name: the trace is no table"
done
run seen-fp32 device.cuda_graph=true run.profile_interval=3 data.validation=$golden/tokens.bin run.eval_interval=4 \
  run.eval_steps=2 checkpoint.interval=5
same_runs seen-fp32 ops-fp32
run halves-fp32 device.cuda_graph=true run.train_steps=9 optimizer.lr_decay_steps=20 device.offload_optimizer=true
grep -q ' | ' runs/halves-fp32/algorithms.txt || fail "the run directory does not keep what was chosen"
run halves-fp32 device.cuda_graph=true run.train_steps=12 optimizer.lr_decay_steps=20
! grep -q 'of the earlier run' out.log || fail "what was kept is said to be lost: $(cat out.log)"
sed -i 's/^/another /' runs/halves-fp32/algorithms.txt
run halves-fp32 device.cuda_graph=true
tr -s '\n ' ' ' <out.log | grep -q 'algorithms of the earlier run were chosen for another GPU' ||
  fail "nobody says that algorithms are other ones: $(cat out.log)"
same_runs halves-fp32 ops-fp32

# A rate that ruins the weights in the first step: nothing is finite from then on, and nothing changes any more.
ruin="optimizer.lr=1e30 optimizer.lr_schedule=constant optimizer.lr_warmup_steps=0"
run ruined-ops $ruin run.train_steps=6
run ruined-graph $ruin run.train_steps=6 device.cuda_graph=true
run ruined-once $ruin run.train_steps=1
same_runs ruined-graph ruined-ops
cmp ruined-graph.safetensors ruined-once.safetensors || fail "skipped steps change the weights"
[ "$(grep -c '"event": "skip"' runs/ruined-graph/events.jsonl)" = 5 ] || fail "not five skips: $(cat runs/ruined-graph/events.jsonl)"
echo "ok skipped steps change nothing"
