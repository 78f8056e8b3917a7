# A GPU that gets too hot: the run finds it slow, and says by its clock why. Only the stand-in gets hot on demand.
source "$(dirname "$0")/common.sh"
export TENAX_STAND_IN_HOT_AFTER_S=8
unset TENAX_STAND_IN_JITTER_US
must_train 1 $golden/golden.toml run.name=hot run.train_steps=1000000 run.max_minutes=0.4 run.log_interval=1000000 checkpoint.interval=-1
found=$(grep '"event": "fail_slow"' runs/hot/events.jsonl | grep '"reason": "throttling"') || fail "nothing is throttled: $(cat runs/hot/events.jsonl out.log)"
for detail in '"kind": "rank", "rank": 0' '"cause": "compute", "reason": "throttling", "clock_mhz": 877.5, "healthy_clock_mhz": 1755' \
  '"temperature_c": 61, "throttled_by": \["hardware_thermal"\]'; do
  echo "$found" | grep -q "$detail" || fail "it does not say $detail: $found"
done
tr -s '\n ' ' ' <out.log | grep -q 'rank 0 .* is slow: .* (compute, throttled: 878 MHz, healthy 1755 MHz, 61 °C, hardware_thermal)' ||
  fail "nobody tells the user: $(cat out.log)"
echo "ok throttled"
