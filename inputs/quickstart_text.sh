#!/usr/bin/env bash
# Writes DIR/train.txt and DIR/validation.txt: the prose of CMake's manual, which every machine that builds tenax has
# (Debian: cmake-data). Markup, directives and indented code are left out; every 12th page is kept for validation.
#
#   bash quickstart_text.sh DIR CMAKE_ROOT      # CMAKE_ROOT: /usr/share/cmake-3.25
set -euo pipefail
export LC_ALL=C
directory=$1
manual=$2/Help

prose_of() {  # the pages named on standard input, one after the other
  xargs -d '\n' cat |
    sed -E -e '/^( {3,}|\t|\.\.|[-=~^"*#]{3,})/d' -e 's/:[a-z_:-]+:`([^`<]*)( <[^`]*>)?`/\1/g' -e 's/`//g' |
    cat -s
}

mkdir -p "$directory"
pages=$(find "$manual" -name '*.rst' | sort)
sed -n '0~12p' <<<"$pages" | prose_of >"$directory/validation.txt"
sed '0~12d' <<<"$pages" | prose_of >"$directory/train.txt"
