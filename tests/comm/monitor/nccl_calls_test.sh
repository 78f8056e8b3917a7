# libtenax_monitor.so in front of NCCL, a fake one: the calls of groups of two to four ranks, which are threads (one alone calls nothing).
#   nccl_calls_test.sh PROGRAM LIBRARY
set -euo pipefail
program=$1 library=$2

LD_PRELOAD=$library RANK=7 TENAX_MONITOR_DIR=$PWD/logs "$program" --gtest_brief=1 \
  --gtest_filter='*NcclCommunicatorTest.sums_fp64*:*NcclCommunicatorTest.sums_bf16_in_fp32*'
[ "$(ls logs)" = rank-7.csv ] || { ls logs; exit 1; }
tail -n +2 logs/rank-7.csv | cut -d, -f2- >calls

called() { cut -d, -f"$1" calls | sort -u | tr '\n' ' '; }
[ "$(called 1)" = "ncclAllGather ncclAllReduce ncclRecv ncclReduceScatter ncclSend " ] || { called 1; exit 1; }
[ "$(called 3)" = "2 3 4 " ] || { called 3; exit 1; }
# Each message is sent and received; to a collective all ranks come, with values of 2 or 8 bytes.
diff <(sed -n 's/^ncclSend,//p' calls | sort) <(sed -n 's/^ncclRecv,//p' calls | sort)
grep -v '^ncclSend\|^ncclRecv' calls | sort | uniq -c | tr ',' ' ' | while read -r count call bytes ranks; do
  if ((count % ranks || bytes % 2)); then echo "$count times $call of $bytes bytes by $ranks ranks" && exit 1; fi
done
