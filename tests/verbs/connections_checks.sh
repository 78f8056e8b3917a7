# In a guest: connections over soft RDMA.
source "$(dirname "${BASH_SOURCE[0]}")/checks.sh"

"$CONNECTIONS_TEST" --gtest_brief=1
