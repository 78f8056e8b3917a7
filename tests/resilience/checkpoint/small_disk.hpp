// A file system of a few pages, for tests of a full disk.
#pragma once

#include <sys/mount.h>

#include <filesystem>
#include <string>

namespace tenax::resilience {

/// Mounts a tmpfs of `bytes` on `directory` while it lives, if this process may.
class SmallDisk {
 public:
  SmallDisk(const std::filesystem::path& directory, std::int64_t bytes) : directory_(directory) {
    std::filesystem::create_directories(directory);
    mounted_ =
        ::mount("tmpfs", directory.c_str(), "tmpfs", 0, ("size=" + std::to_string(bytes)).c_str()) == 0;
  }
  ~SmallDisk() {
    if (mounted_) ::umount2(directory_.c_str(), MNT_DETACH);
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;
  bool mounted() const { return mounted_; }

 private:
  std::filesystem::path directory_;
  bool mounted_ = false;
};

}  // namespace tenax::resilience
