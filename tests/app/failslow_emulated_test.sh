# Faults of the emulated device's ranks and links: the run says once which part has become slow, that part alone, and when it has
# healed; a run without a fault blames nothing. (tests/bench/failslow_find.sh draws many more.)
source "$(dirname "$0")/common.sh"
deck=$TENAX_SOURCE/tests/bench/failslow.toml
events() { grep "\"event\": \"$2\"" "runs/$1/events.jsonl" || true; }

# faulty NAME RANKS LAYOUT override…: from step 40 to 110 of 160.
faulty() {
  must_train $2 $deck run.name=$1 $3 run.train_steps=160 detect.probe_seconds=0.3 inject.0.from_step=40 inject.0.to_step=110 "${@:4}"
}
# blames NAME CAUSE COMPONENT: one fail_slow with this cause, whose one component has that text; and the same part has healed.
blames() {
  local told
  told=$(events $1 fail_slow)
  [ "$(grep -c . <<<"$told")" = 1 ] && [ "$(grep -o '"kind": ' <<<"$told" | wc -l)" = 1 ] && grep -q "\"cause\": \"$2\".*\"components\": .*$3" <<<"$told" &&
    events $1 healed | grep -q "$3" || fail "$1: not one part, $3, that is slow for $2 and has healed: $(cat runs/$1/events.jsonl)"
  echo "ok $1"
}

faulty compute 8 "$(layout 2 2 2)" batch.global_batch_size=8 inject.0.kind=slow_compute inject.0.rank=3 inject.0.factor=2
blames compute compute '"rank": 3,'
faulty tensor 4 "$(layout 2 1 2)" batch.global_batch_size=8 inject.0.kind=link_delay "inject.0.ranks=[2, 3]" inject.0.delay_ms=2
blames tensor link '"group": "tensor"'
faulty data 8 "$(layout 1 2 4)" inject.0.kind=link_delay "inject.0.ranks=[1, 2]" inject.0.delay_ms=10
blames data link '"group": "data"'
events data fail_slow | grep -q '"ranks": \[\(1, *2\|2, *1\)\]' || fail "another link of the ring: $(events data fail_slow)"

must_train 8 $deck run.name=quiet $(layout 2 2 2) batch.global_batch_size=8 run.train_steps=150
! events quiet fail_slow | grep -q "\"cause\": \"\(compute\|link\)\"" || fail "a run without a fault tells of one: $(cat runs/quiet/events.jsonl)"
echo "ok quiet"
