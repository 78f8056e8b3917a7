#!/usr/bin/env bash
# Every deck of inputs/ can be planned here, whatever this machine's memory, and is in its README.md.
set -eu
inputs=$TENAX_SOURCE/inputs
fail() { echo "FAILED: $*"; exit 1; }
plan() { "$TENAX" plan "$@" --json >plan.json 2>plan.err || fail "plan $*: $(cat plan.err)"; }
largest() { grep -o '"total": *[0-9]*' plan.json | grep -o '[0-9]*$' | sort -n | tail -n 1; }

for deck in "$inputs"/*.toml "$inputs"/pipemorph/*.toml; do plan "$deck"; done
for deck in "$inputs"/*.toml; do
  grep -qF "\`$(basename "$deck")\`" "$inputs/README.md" || fail "inputs/README.md does not name $deck"
done

# Nobody can say whether there is what a link to itself stands for. A plan does without.
ln -sfn unseen.txt unseen.txt
plan "$inputs/quickstart.toml" "data.train=$PWD/unseen.txt"
grep -qF "\"missing_data\": [\"$PWD/unseen.txt\"" plan.json || fail "unseen.txt is not missing: $(cat plan.json)"

# Ranks of each model, PipeMorph's as in its Table 2; inputs/README.md says what a GPU holds, which has 80 GB.
while read -r size ranks; do
  plan "$inputs/gpt2-$size.toml" device.kind=cuda
  grep -q "\"ranks\": *$ranks," plan.json || fail "gpt2-$size.toml is not for $ranks ranks"
  [ "$(largest)" -lt 80000000000 ] || fail "gpt2-$size.toml needs $(largest) bytes a GPU"
  stated=$(sed -n "s/^| \`gpt2-$size.toml\`.* \([0-9.]*\) GiB a GPU |$/\1/p" "$inputs/README.md")
  LC_ALL=C awk -v bytes="$(largest)" -v stated="$stated" 'BEGIN { off = bytes / 2^30 - stated; exit !(off * off < 0.36) }' ||
    fail "gpt2-$size.toml needs $(largest) bytes a GPU, not $stated GiB"
  grep -q '"bytes_sent_per_rank_and_step"' plan.json || fail "gpt2-$size.toml: a plan without traffic"
done <<END
124m 8
350m 8
774m 8
1.5b 8
7b 4
14b 8
30b 64
60b 64
140b 128
END
echo "ok: $(ls "$inputs"/*.toml "$inputs"/pipemorph/*.toml | wc -l) decks"
