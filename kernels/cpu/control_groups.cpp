#include "kernels/cpu/control_groups.hpp"

#include <fstream>

namespace tenax::kernels {

namespace fs = std::filesystem;

// Inside a container the path that the kernel reports may lie above what is mounted: then only the mount's own root is
// found, which is the container's group.
void for_each_control_group(const std::string& controller, const fs::path& root,
                            const std::function<void(const fs::path&)>& visit) {
  std::ifstream groups(root /
                       "proc/self/cgroup");  // lines "id:controllers:/path"; version 2 has no controllers
  for (std::string line; std::getline(groups, line);) {
    const auto path = line.find(":/");
    if (path == std::string::npos) continue;
    const std::string controllers = "," + line.substr(line.find(':') + 1, path - line.find(':') - 1) + ",";
    const bool is_version_2 = line.starts_with("0::");
    if (!is_version_2 && controllers.find("," + controller + ",") == std::string::npos) continue;
    const fs::path mount = root / "sys/fs/cgroup" / (is_version_2 ? "" : controller);
    visit(mount);
    for (std::string group = line.substr(path + 2); !group.empty();
         group.erase(group.find('/') == std::string::npos ? 0 : group.find_last_of('/')))
      visit(mount / group);
  }
}

}  // namespace tenax::kernels
