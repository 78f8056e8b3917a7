# A GPU's operations cannot be slowed from outside: where "auto" finds one, slow_compute is refused.
source "$(dirname "$0")/common.sh"
status=0
TENAX_DEVICE=auto train 1 $golden/golden.toml run.name=slow inject.0.kind=slow_compute inject.0.rank=0 inject.0.factor=2 || status=$?
[ $status = 1 ] || { cat out.log err.log >&2; fail "status $status, not 1"; }
grep -q "slow_compute slows the CPU and the emulated device" err.log || fail "it does not say why: $(cat err.log)"
[ ! -e runs/slow/metrics.jsonl ] || fail "it has trained"
echo "ok refused"
