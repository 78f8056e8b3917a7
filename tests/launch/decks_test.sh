#!/usr/bin/env bash
# Every deck of inputs/ can be planned here, whatever this machine's memory, and is in its README.md.
set -eu
inputs=$TENAX_SOURCE/inputs
fail() { echo "FAILED: $*"; exit 1; }
plan() { "$TENAX" plan "$1" --json >plan.json 2>plan.err || fail "plan $1: $(cat plan.err)"; }

for deck in "$inputs"/*.toml "$inputs"/pipemorph/*.toml; do plan "$deck"; done
for deck in "$inputs"/*.toml; do
  grep -qF "\`$(basename "$deck")\`" "$inputs/README.md" || fail "inputs/README.md does not name $deck"
done

# PipeMorph, Table 2: the GPUs of each model; 80 GB each.
largest() { grep -o '"total": *[0-9]*' plan.json | grep -o '[0-9]*$' | sort -n | tail -n 1; }
while read -r size gpus; do
  plan "$inputs/gpt2-$size.toml"
  grep -q "\"ranks\": *$gpus," plan.json || fail "gpt2-$size.toml is not for $gpus GPUs"
  [ "$(largest)" -gt 10000000000 ] || fail "gpt2-$size.toml: a plan without memory"
  [ "$(largest)" -lt 80000000000 ] || fail "gpt2-$size.toml needs $(largest) bytes a GPU"
  grep -q '"bytes_sent_per_rank_and_step"' plan.json || fail "gpt2-$size.toml: a plan without traffic"
done <<END
7b 4
14b 8
30b 64
60b 64
140b 128
END
echo "ok: $(ls "$inputs"/*.toml "$inputs"/pipemorph/*.toml | wc -l) decks"
