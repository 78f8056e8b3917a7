// libFuzzer starts from files: FUZZ_TARGET --seeds-to=FOLDER writes the target's seeds there and ends.
#include <filesystem>
#include <fstream>

#include "tests/fuzz/fuzz_target.hpp"

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  constexpr std::string_view kOption = "--seeds-to=";
  const std::string_view first = *argc > 1 ? (*argv)[1] : "";
  if (!first.starts_with(kOption)) return 0;
  const std::filesystem::path folder(first.substr(kOption.size()));
  std::filesystem::create_directories(folder);
  int number = 0;
  for (const std::string& seed : tenax::fuzz::seeds())
    std::ofstream(folder / ("seed-" + std::to_string(number++)), std::ios::binary) << seed;
  std::exit(0);
}
