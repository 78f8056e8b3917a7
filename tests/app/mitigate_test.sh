# What a run on the CPU does against a rank that has become slow, and that it learns the same.
source "$(dirname "$0")/failslow.sh"
shares='mitigate.strategies=["microbatches"]'

# With validations between. The sums are the same but for their order. Its cores are at times a third slower for some
# seconds: what has healed has long to show it.
fault='inject.0.kind=slow_compute inject.0.from_step=30 inject.0.to_step=70'
cpu="slow.toml run.train_steps=240 batch.global_batch_size=24 batch.micro_batch_size=2 model.hidden_size=64 model.seq_length=64
  data.validation=train.txt run.eval_interval=25 run.eval_steps=1 optimizer.adam_eps=1e-4"
losses() { sed -n 's/.*"step": \([0-9]*\), *"loss": *\([0-9.e-]*\).*/\1 \2/p' "runs/$1/metrics.jsonl"; }
# learns_as NAME QUIET: bit for bit before the first uneven share, then to rounding.
learns_as() {
  local first
  first=$(events $1 mitigate | sed -n 's/.*"step": \([0-9]*\),.*/\1/p' | head -n 1)
  paste <(losses $2) <(losses $1) | awk -v first="$first" '
    $1 != $3 { print "steps differ at " $1; exit 1 }
    $1 < first && $2 != $4 { print "step " $1 " differs before any share did: " $2 " " $4; exit 1 }
    { d = $2 > $4 ? $2 - $4 : $4 - $2 }
    $1 == first && d > 1e-6 * $2 || $1 < first + 40 && d > 1e-5 * $2 { print "step " $1 ": " $2 " and " $4; exit 1 }
    END { exit !(NR == 240) }' || fail "$1 learns otherwise"
  echo "ok $1 learns the same"
}
must_train 2 $cpu run.name=quiet $(layout 1 1 2) mitigate.strategies=[]
slow_of_two() {
  must_train 2 $cpu run.name=$1 $(layout 1 1 2) "$shares" $fault inject.0.rank=1 inject.0.factor=3
  acts $1 mitigate microbatches '"microbatches": \[\([89]\|1[01]\), *[1-4]\]' && paid $1 && is_even_again $1
}
# is_even_again NAME: by the way back, or by steps of shares where noise keeps the rank a little slow after the fault.
is_even_again() { events $1 '\(mitigate\|revert\)' | grep -q '"microbatches": \[6, *6\]'; }
found slow_of_two
learns_as $found quiet

# A pipeline plans for what it computes then.
stages="$(layout 1 2 2) pipeline.schedule=adaptive"
must_train 4 $cpu run.name=quiet_stages $stages mitigate.strategies=[]
slow_pipeline() {
  must_train 4 $cpu run.name=$1 $stages "$shares" $fault inject.0.rank=1 inject.0.factor=4
  acts $1 mitigate microbatches '"microbatches": \[\([789]\|10\|11\), *[12345]\]' && paid $1
}
found slow_pipeline
learns_as $found quiet_stages
