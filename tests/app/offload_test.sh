# A pipeline whose activations do not fit the device's memory keeps them in the host's, and learns what it would have learnt.
source "$(dirname "$0")/common.sh"

run_with() {  # NAME KIB OPTIONS…: on devices that say to have so much memory
  local name=$1 kib=$2
  shift 2
  export TENAX_STAND_IN_MEMORY_KIB=$kib
  must_train 4 "$golden/golden.toml" run.name=$name $(layout 1 4 1) checkpoint.interval=-1 detect.enabled=false "$@"
}
# The banner's lines are folded.
offloads() { tr -s '\n ' ' ' <out.log | grep -q 'of host memory for activations that the device has no room for'; }

run_with roomy 0 pipeline.activation_limit=8
! offloads || fail "activations left a device with room for them"
learns_as_on_cpu roomy 4 $golden/golden.toml $(layout 1 4 1) checkpoint.interval=-1 pipeline.activation_limit=8
for kib in 5200 4400 4000; do
  run_with tight$kib $kib pipeline.activation_limit=8
  offloads || fail "nothing left a device of $kib KiB"
  claim same runs/tight$kib/metrics.jsonl runs/roomy/metrics.jsonl
done
echo "ok activations beyond the device's memory, the same bits"
run_with gpipe 4400 pipeline.schedule=gpipe
offloads || fail "gpipe holds all microbatches, and the device has no room for them"
claim same runs/gpipe/metrics.jsonl runs/roomy/metrics.jsonl
echo "ok gpipe too, with the deck's limit left to memory"
