#!/usr/bin/env bash
# A long run: descriptors, threads, mappings and resident memory of its ranks, a line every so many steps. Fails if descriptors or
# threads rise after the first tenth, or memory by more than GROWTH KiB per 1000 steps over the last half.
#
#   bash tests/soak/long.sh [STEPS=40000] [GROWTH=20] [LAYOUT="1 1 2": tensor, pipeline, data]
source "$(dirname "$0")/common.sh"
steps=${1:-40000}
growth=${2:-20}
sizes=${3:-1 1 2}
enter_work long
start long "$sizes" run.train_steps=$steps optimizer.lr_decay_steps=$steps run.eval_interval=0 checkpoint.interval=$((steps / 8)) \
  run.log_interval=$((steps / 4)) model.vocab_size=4096 model.num_layers=2 model.hidden_size=16 batch.global_batch_size=2

resident_kib() { awk '/^VmRSS/ { print $2 }' "/proc/$1/status"; }
threads_of() { awk '/^Threads/ { print $2 }' "/proc/$1/status"; }
descriptors_of() { ls "/proc/$1/fd" 2>/dev/null | wc -l; }

printf '%8s %8s %12s %8s %8s %12s\n' rank step resident_kib threads files mappings | tee figures
for ((tenth = 1; tenth < 20; ++tenth)); do
  await_step long $((steps * tenth / 20))
  rank=0
  for pid in $(ranks); do
    [ -d "/proc/$pid/fd" ] && printf '%8s %8s %12s %8s %8s %12s\n' $rank "$(steps_done long)" "$(resident_kib "$pid")" \
      "$(threads_of "$pid")" "$(descriptors_of "$pid")" "$(wc -l <"/proc/$pid/maps")"
    rank=$((rank + 1))
  done
done | tee -a figures
ended_within 120
[ "${status:-1}" = 0 ] || failed "the run: $(cat long.err)"
awk -v growth="$growth" 'NR > 1 { line[$1, ++n[$1]] = $0 }
  END {
    for (rank in n) {
      split(line[rank, 2], early); split(line[rank, int(n[rank] / 2)], half); split(line[rank, n[rank]], last)
      rate = (last[3] - half[3]) / (last[2] - half[2]) * 1000
      printf "rank %s: %.1f KiB per 1000 steps over the last half; threads %d to %d, files %d to %d\n", rank, rate, early[4], last[4], early[5], last[5]
      if (rate > growth || last[4] > early[4] || last[5] > early[5] + 2) bad = 1
    }
    exit bad
  }' figures || failed "it grows"
[ $failures = 0 ] && rm -rf "$work"
exit $((failures > 0))
