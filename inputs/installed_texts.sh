#!/usr/bin/env bash
# Writes what is installed of this folder: decks and texts that speak of tenax on the path and of the folder they lie in,
# where those of the clone speak of app/run.sh (which works out the ranks) and build/.
#
#   bash installed_texts.sh TO
set -euo pipefail
cd "$(dirname "$0")"
to=$1

# ranks_of DECK: tensor x pipeline x data.
ranks_of() {
  awk -F= '/^(tensor|pipeline|data)_parallel_size/ { split($2, value, "#"); n *= value[1] } BEGIN { n = 1 } END { print n }' "$1"
}

# What batch scripts of the clone leave to app/run.sh. A wrong deck is told once, and ends with 2.
trains='plan=$(tenax plan "$@" --ranks) || exit $?
{ read -r ranks; read -r _; read -r replicas; read -r threads; } <<<"$plan"
train=(srun --mpi=pmix -n "$ranks" --cpus-per-task="$threads" tenax)
[ "$replicas" = 1 ] || train=(tenax launch)'

# Users may not write where decks are installed: runs, data and tokens that decks name go to a copy.
copy='cp -r PREFIX/share/tenax/inputs . \&\& cd inputs'

for file in README.md *.toml pipemorph/* slurm/*.sh tinyshakespeare.sh; do
  ranks=RANKS head=
  [ "${file##*.}" = toml ] && ranks=$(ranks_of "$file") && head="0,/^#   /s|^#   |#   $copy\n&|"
  mkdir -p "$(dirname "$to/$file")"
  # In this order: what is longer comes before what it begins with.
  sed -e "$head" \
    -e "s|, and with an installed tenax .mpirun -n RANKS tenax DECK.\.|, in a copy of your own: \`$copy\` (PREFIX is \`/usr\` where tenax came as a package).|" \
    -e "s|bash app/run.sh inputs/|mpirun -n $ranks tenax |" \
    -e 's|build/tenax plan inputs/|tenax plan |' \
    -e 's|\.\./build/quickstart/|quickstart/|' \
    -e 's|bash inputs/|bash |; s|inputs/data/|data/|' \
    -e 's|^\* `quickstart_text\.sh` .*|* `quickstart/` holds the text of `quickstart.toml`: the prose of the manual of CMake.|' \
    -e 's|  # the build extracts these from .*||' \
    -e 's|\(sbatch .*\)inputs/slurm/|\1|; s|\[DECK \[section.key=value …\]\]|DECK [section.key=value …]|' \
    -e 's|From the clone (see README.md beside this file)|With tenax on the path|' \
    -e 's|From the clone, which every node must see|With tenax on the path, which every node must see|' \
    -e 's|\[ \$# -gt 0 \].*|[ $# -gt 0 ] \|\| { echo "usage: sbatch $0 DECK [section.key=value …]" >\&2; exit 2; }|' \
    -e 's,^\(exec \)\?bash "$SLURM_SUBMIT_DIR/app/run.sh" "$@",'"${trains//$'\n'/\\n}"'\n\1"${train[@]}" "$@",' \
    -e 's|"$SLURM_SUBMIT_DIR/build/tenax"|tenax|' "$file" >"$to/$file"
done
chmod +x "$to"/slurm/*.sh "$to"/*.sh
