#!/usr/bin/env bash
# Every source file is as clang-format 14 writes it (other versions disagree). `format.sh -i` rewrites them.
set -eu
cd "$(dirname "$0")/../.."
for tool in clang-format-14 clang-format; do
  version=$("$tool" --version 2>/dev/null) && [[ $version == *"version 14."* ]] && break || tool=
done
[ -n "$tool" ] || { echo "skipped: no clang-format 14 on this machine"; exit 77; }
find kernels comm io model parallel resilience app tests -regextype egrep -regex '.*\.(cpp|hpp|cu|cuh)' -print0 |
  xargs -0 "$tool" ${1:---dry-run -Werror}
