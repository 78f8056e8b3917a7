# The parts of each word, and how long each is expected to take. Sourced by gpu.sh.
#
# Seen on an H200 lease of 7 minutes: rounds of speed of 124M 30 s and of 1.5B 60 s (the first compile 65 and 80 s), sanitizers of
# one type 75 s beside these, a golden run 2 s. The others are guesses.

estimate_s() {  # PART
  case $1 in
    golden | repeatable) echo 110 ;;
    adaptive) echo 70 ;;
    operations | delegates) echo 60 ;;
    graph) echo 50 ;;
    generate) echo 40 ;;
    offload) echo 30 ;;
    sanitize-*-kernels_operations_test) echo 40 ;;
    sanitize-*-cuda_attention_test) echo 30 ;;
    sanitize-*) echo 20 ;;
    nccl-alone) echo 15 ;;
    nccl-*) echo 30 ;;
    curve-weights) echo 15 ;;
    curve-*) echo 50 ;;
    *-gpt2-1.5b | *-gpt2-1.5b-*) estimate_of_large_s "$1" ;;
    *) estimate_of_small_s "$1" ;;
  esac
}
estimate_of_small_s() {
  case $1 in
    batch-*) echo 30 ;;
    plan-*) echo 15 ;;
    speed-*-pytorch-1) echo 65 ;;
    speed-*-pytorch-* | memory-*) echo 25 ;;
    step-*) echo 30 ;;
    *) echo 18 ;;  # a run
  esac
}
estimate_of_large_s() {
  case $1 in
    batch-* | step-*) echo 60 ;;
    plan-*) echo 25 ;;
    speed-*-pytorch-1) echo 85 ;;
    speed-*-pytorch-*) echo 40 ;;
    memory-*) echo 50 ;;
    *) echo 35 ;;
  esac
}
# A sanitizer takes the longer the more kernels a program loads.
limit_s() {
  case $1 in
    sanitize-*) echo $((4 * $(estimate_s "$1"))) ;;
    *) echo $((2 * $(estimate_s "$1"))) ;;
  esac
}

parts_of() {  # WORD: one a line
  case $1 in
    check) printf '%s\n' operations golden repeatable graph adaptive generate offload ;;
    sanitize) parts_of_sanitize ;;
    nccl) printf 'nccl-%s\n' alone tensor data pipeline-direct pipeline-auto pipeline-adaptive ;;
    curve) printf 'curve-%s\n' weights fp32 bf16 pytorch ;;
    speed) parts_of_speed ;;
    table) parts_of_table ;;
    delegates) echo delegates ;;
  esac
}
parts_of_sanitize() {
  local tool
  for tool in "${sanitizer_tools[@]}"; do
    printf "sanitize-$tool-%s\n" kernels_operations_test cuda_attention_test attention_decode_test
  done
  echo sanitize-memcheck-cuda_device_test
}
parts_of_speed() {
  local size round setting
  for size in $sizes; do
    printf '%s\n' "batch-$size" "plan-$size"
    for ((round = 1; round <= rounds; ++round)); do
      for setting in $settings pytorch; do echo "speed-$size-$setting-$round"; done
    done
  done
}
parts_of_table() {
  local size round
  for size in $sizes; do printf "%s-$size\n" batch plan step memory; done
  for ((round = 1; round <= rounds; ++round)); do printf "offload-${sizes##* }-%s-$round\n" false true; done
}

for_each_word() { local word; for word in "${words[@]}"; do "$1" "$word"; done; }
say_estimate() {
  local part sum=0 count=0
  for part in $(for_each_word parts_of | sort -u); do
    sum=$((sum + $(estimate_s "$part"))) count=$((count + 1))
  done
  [ $count = 0 ] ||
    say "$count parts of ${words[*]} are estimated at $(((sum + 59) / 60)) minutes, in calls of $minutes minutes at most"
}
