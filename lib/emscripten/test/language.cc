// language: what C++ asks of a heap: new and delete in all their forms, containers, strings.
#include <cstdint>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "expect.h"

struct alignas(128) Wide {
  char bytes[256];
};

/* Kept from the compiler, which may remove a pair of new and delete. */
static volatile size_t too_large = SIZE_MAX / 2;
static char *volatile kept;

int main() {
  std::map<std::string, std::vector<int>> map;
  const std::string prefix = "a key that is longer than a small string ";
  for (int i = 0; i < 5000; i++) map[prefix + std::to_string(i % 700)].push_back(i);
  size_t total = 0;
  for (const auto &entry : map) total += entry.second.size();
  EXPECT(total == 5000);

  std::vector<std::unique_ptr<Wide>> wide;
  for (int i = 0; i < 100; i++) wide.push_back(std::make_unique<Wide>());
  for (const auto &each : wide) EXPECT(reinterpret_cast<uintptr_t>(each.get()) % 128 == 0);

  delete[] (kept = new char[100]);
  EXPECT(::operator new(too_large, std::nothrow) == nullptr);
#ifdef THROWS
  bool caught = false;
  try {
    kept = new char[too_large];
  } catch (const std::bad_alloc &) {
    caught = true;
  }
  EXPECT(caught);
#endif
  return expected("language");
}
