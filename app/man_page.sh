#!/usr/bin/env bash
# Writes the manual page of a tenax in roff: what its --help and every command's --help say.
#
#   bash man_page.sh TENAX >tenax.1
set -euo pipefail
export LC_ALL=C
tenax=$1

escaped() { sed -e 's/\\/\\e/g' -e 's/-/\\-/g' -e "s/^[.']/\\\\\&&/"; }
verbatim() { printf '.nf\n'; escaped; printf '.fi\n'; }

help=$("$tenax" --help)
version=$("$tenax" --version | head -n 1)
commands=$(sed -n 's/^ *tenax \([a-z]*\) .*/\1/p' <<<"$help" | awk '!seen[$0]++')

printf '.TH TENAX 1 "" "%s" "User Commands"\n' "$(escaped <<<"$version")"
printf '.SH NAME\ntenax \\- pre\\-trains GPT models on supercomputers, under MPI\n'
printf '.SH SYNOPSIS\n'
verbatim <<<"$help"
printf '.SH COMMANDS\n'
for command in $commands; do
  printf '.SS %s\n' "$command"
  "$tenax" "$command" --help | verbatim
done
printf '.SH DECKS\nEvery key of a deck, with default, range and unit: tenax \\-\\-deck\\-help. Examples come with tenax, in\n'
printf '.IR share/tenax/inputs .\n'
printf '.SH SEE ALSO\n.BR mpirun (1),\n.BR srun (1)\n'
