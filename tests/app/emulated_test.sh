# Decks of the emulated device: no data, no checkpoint, metrics whose loss is null, iterations near their prediction.
source "$(dirname "$0")/common.sh"
deck=$TENAX_SOURCE/inputs/pipemorph/7b.toml
event() { grep "\"event\": \"$2\"" "runs/$1/events.jsonl"; }
# Between LOW and HIGH ms: the median iteration of the run's last six. Generous: the machine may be busy.
iterations_within() {
  local median
  median=$(sed -n 's/.*"seconds": *\([0-9.]*\).*/\1/p' "runs/$1/metrics.jsonl" | tail -n 6 | sort -g | sed -n 3p)
  awk "BEGIN { exit !(1000 * $median >= $2 && 1000 * $median <= $3) }" || fail "$1: iterations of $median s, not $2 to $3 ms"
}

must_train 4 $deck run.name=healthy inject.0.delay_ms=0
iterations_within healthy 368 1800
[ "$(grep -c '"loss": null' runs/healthy/metrics.jsonl)" = 10 ] || fail "losses of a device without data"
[ ! -e runs/healthy/checkpoints ] || fail "a checkpoint of nothing"
[ -s runs/healthy/trace.json ] || fail "no trace"
echo "ok healthy"

must_train 4 $deck run.name=slow
iterations_within slow 398 1800
event slow delegate | grep -q '"stages": \[2' || fail "the slow link was not delegated"
# A plan that comes late, on a busy machine, may find that the executor's bending has reached the bound already.
achieved=$(event slow delegate | sed -n 's/.*"achieved_iteration_ms": \([0-9.]*\).*/\1/p')
[ -n "$achieved" ] || fail "what delegating achieved is not told: $(event slow delegate)"
must_train 4 $deck run.name=fixed pipeline.schedule=zero_bubble pipeline.p2p=direct run.train_steps=4
iterations_within fixed 800 4000
echo "ok slow"

must_train 4 $deck run.name=ring parallel.pipeline_parallel_size=2 parallel.data_parallel_size=2 inject.0.delay_ms=0 \
  inject.0.stages="[0, 1]" device.gradient_bytes=1000000 device.link_gbps=1 device.optimizer_ms=5 run.train_steps=4
# 6 microbatches of 28.3 ms and a forward, 8 ms a ring collective of two halves, the optimizer
iterations_within ring 190 1500
claim trace runs/ring/trace.json 24 "reduce_scatter data" "all_gather data" optimizer vote
echo "ok ring"
