# Faults of the emulated device's ranks and links: the run says which part has become slow, that part alone, and when it has healed.
# (tests/bench/failslow_find.sh draws many more, on an idle machine.)
source "$(dirname "$0")/failslow.sh"
deck=$TENAX_SOURCE/tests/bench/failslow.toml

# slowed NAME RANKS LAYOUT override…: from step 30 to 90 of 130.
slowed() {
  must_train $2 $deck run.name=$1 $3 run.train_steps=130 detect.probe_seconds=0.3 inject.0.from_step=30 inject.0.to_step=90 "${@:4}"
}
slow_rank() {
  slowed $1 8 "$(layout 2 2 2)" batch.global_batch_size=8 inject.0.kind=slow_compute inject.0.rank=3 inject.0.factor=3
  blames $1 30 92 '"rank": 3,.*"cause": "compute"' && heals $1 '"rank": 3,'
}
slow_pair() {
  slowed $1 4 "$(layout 2 1 2)" batch.global_batch_size=8 inject.0.kind=link_delay "inject.0.ranks=[2, 3]" inject.0.delay_ms=3
  blames $1 30 92 '"ranks": \[2, *3\].*"group": "tensor".*"cause": "link"' && heals $1 '"group": "tensor"'
}
slow_stages() {
  slowed $1 4 "$(layout 1 2 2)" batch.global_batch_size=8 inject.0.kind=link_delay "inject.0.ranks=[0, 2]" inject.0.delay_ms=20
  blames $1 30 92 '"ranks": \[0, *2\].*"group": "pipeline".*"cause": "link"' && heals $1 '"group": "pipeline"'
}
# One link of a ring of four: only a test of each tells which.
slow_ring() {
  slowed $1 8 "$(layout 1 2 4)" inject.0.kind=link_delay "inject.0.ranks=[1, 2]" inject.0.delay_ms=15
  blames $1 30 92 '"ranks": \[1, *2\].*"group": "data".*"cause": "link"' && heals $1 '"group": "data"' && events $1 validation | grep -q data
}
found slow_rank
found slow_pair
found slow_stages
found slow_ring
