#!/usr/bin/env bash
# Runs scripts of tests whose ranks sleep most of the time (emulated devices, leases that run out) at once, each in a directory of its
# own; prints what they said one after the other. Status: that of one that failed; else 77 where one was skipped.
#
#   beside_each_other.sh NAME …       NAME_test.sh of this folder
set -u
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
declare -A started
trap 'kill $(jobs -p) 2>/dev/null' EXIT
for name in "$@"; do
  mkdir -p "$name"
  (cd "$name" && exec bash "$here/${name}_test.sh") >"$name.log" 2>&1 </dev/null &
  started[$name]=$!
done
result=0
for name in "$@"; do
  wait "${started[$name]}"
  status=$?
  echo "== $name: status $status"
  cat "$name.log"
  case $status in
    0) ;;
    77) [ $result != 0 ] || result=77 ;;
    *) result=$status ;;
  esac
done
exit $result
