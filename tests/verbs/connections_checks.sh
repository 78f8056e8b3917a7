# In a guest: connections over soft RDMA.
source "$(dirname "${BASH_SOURCE[0]}")/checks.sh"

ulimit -n 8192  # 2000 strangers have two ends each
"$CONNECTIONS_TEST" --gtest_brief=1
