# The golden run (tests/golden) in every layout, schedule and micro-batch size against the fp64 reference, with AdamW and with
# Lion.
source "$(dirname "$0")/common.sh"

matches_reference() {  # NAME
  claim expected "runs/$1/metrics.jsonl" "$golden/expected.json" 2e-5 1e-3
  "$TENAX" export "runs/$1/checkpoints/step-000020.h5" --out "$1.safetensors" >/dev/null
  claim weights "$1.safetensors" "$golden/final.safetensors" 2e-5
}

# Whatever the layout, its trace shows all that each rank does in the last step.
shows_all() {  # NAME TENSOR PIPELINE DATA MICRO_BATCH
  local names=(optimizer vote adapt "checkpoint write")
  [ $2 = 1 ] || names+=("all_reduce tensor")
  [ $4 = 1 ] || names+=("reduce_scatter data" "all_gather data")
  claim trace "runs/$1/trace.json" $((8 / $5 * 2 * ($3 - 1) * $2)) "${names[@]}"
}

run_case() {  # TENSOR PIPELINE DATA SCHEDULE MICRO_BATCH
  local name=t$1p$2d$3-$4-$5
  must_train "$(ranks_of $1 $2 $3)" "$golden/golden.toml" run.name=$name $(layout $1 $2 $3) pipeline.schedule=$4 \
    batch.micro_batch_size=$5
  matches_reference $name
  shows_all $name $1 $2 $3 $5
  [ $name = t1p1d1-zero_bubble-1 ] || claim close runs/$name/metrics.jsonl runs/t1p1d1-zero_bubble-1/metrics.jsonl 1e-5
  echo "ok $name"
}

run_case 1 1 1 zero_bubble 1
learns_as_on_cpu t1p1d1-zero_bubble-1 1 $golden/golden.toml pipeline.schedule=zero_bubble batch.micro_batch_size=1
for tensor in 1 2; do for pipeline in 1 2; do for data in 1 2; do
  [ $tensor$pipeline$data = 111 ] || run_case $tensor $pipeline $data zero_bubble 1
done; done; done
run_case 1 4 1 zero_bubble 1
for schedule in gpipe 1f1b adaptive; do run_case 1 4 1 $schedule 1; run_case 2 2 2 $schedule 1; done
learns_as_on_cpu t2p2d2-1f1b-1 8 $golden/golden.toml $(layout 2 2 2) pipeline.schedule=1f1b batch.micro_batch_size=1
# The sizes of microbatches are nothing that a GPU's order of operations depends on.
[ -n "${TENAX_ON_CPU:-}" ] || for micro in 2 4; do run_case 1 1 1 zero_bubble $micro; run_case 2 2 1 1f1b $micro; run_case 1 2 2 zero_bubble $micro; done

# What is computed again is what was kept, to the last bit.
recomputes_like() {  # NAME TENSOR PIPELINE DATA SCHEDULE
  must_train "$(ranks_of $2 $3 $4)" "$golden/golden.toml" run.name=again-$1 $(layout $2 $3 $4) pipeline.schedule=$5 \
    batch.micro_batch_size=1 device.recompute=gelu_layernorm
  claim same runs/again-$1/metrics.jsonl runs/$1/metrics.jsonl
  echo "ok again-$1"
}
recomputes_like t1p1d1-zero_bubble-1 1 1 1 zero_bubble
recomputes_like t2p2d2-1f1b-1 2 2 2 1f1b

# Lion's reference has no weights: where a gradient is noise, its sign is too, and weights differ by as much as they move.
lion() {  # TENSOR PIPELINE DATA
  local name=lion-t$1p$2d$3
  must_train "$(ranks_of $1 $2 $3)" "$golden/golden.toml" run.name=$name $(layout $1 $2 $3) $as_lion
  claim expected runs/$name/metrics.jsonl "$golden/lion_expected.json" 2e-5 1e-3
  claim close runs/$name/metrics.jsonl runs/lion-t1p1d1/metrics.jsonl 1e-5
  echo "ok $name"
}
as_lion="optimizer.kind=lion optimizer.adam_beta2=0.99"
layouts_of_lion=("1 1 1" "1 1 2" "2 1 1" "1 2 1")
[ -z "${TENAX_ON_CPU:-}" ] || layouts_of_lion=("1 1 1" "1 1 2")
for sizes in "${layouts_of_lion[@]}"; do lion $sizes; done
learns_as_on_cpu lion-t1p1d1 1 $golden/golden.toml $as_lion
