#!/usr/bin/env bash
# Cuts a text for tinyshakespeare.toml: its first 90 % to DIRECTORY/train.txt, the rest to DIRECTORY/validation.txt.
#
#   bash tinyshakespeare.sh TEXT [DIRECTORY]      # DIRECTORY: data/tinyshakespeare beside this script
set -euo pipefail
[ $# -ge 1 ] || { echo "usage: bash tinyshakespeare.sh TEXT [DIRECTORY]" >&2; exit 2; }
text=$1 directory=${2:-$(dirname "${BASH_SOURCE[0]}")/data/tinyshakespeare}
train_bytes=$(($(wc -c <"$text") * 9 / 10))
mkdir -p "$directory"
head -c "$train_bytes" "$text" >"$directory/train.txt"
tail -c +$((train_bytes + 1)) "$text" >"$directory/validation.txt"
echo "$directory: $(wc -c <"$directory/train.txt") bytes to train on, $(wc -c <"$directory/validation.txt") to validate"
