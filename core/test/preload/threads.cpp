/*
 * A C++ program with many threads: threads ROUNDS [SEED]. Each round starts threads that fill containers, hand strings to
 * each other, throw exceptions and end. Its output depends only on its arguments.
 */
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

namespace {

constexpr int THREADS = 24, STEPS = 4000, PLACES = 512;

struct Place {
  std::mutex busy;
  std::unique_ptr<std::string> text;
};

Place places[PLACES];
std::atomic<uint64_t> checked{0}, damaged{0};

struct Random {
  uint64_t state;
  uint32_t below(uint32_t limit) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<uint32_t>((state >> 33) % limit);
  }
};

void check(const std::string &text) {
  checked++;
  for (char letter : text) {
    if (letter != text[0]) {
      damaged++;
      return;
    }
  }
}

struct alignas(256) Wide {
  uint64_t words[32];
};

uint64_t work(uint64_t seed) {
  Random random{seed};
  uint64_t sum = 0;
  std::map<uint32_t, std::string> ordered;
  std::unordered_map<uint32_t, std::vector<uint32_t>> lists;
  for (int i = 0; i < STEPS; i++) {
    uint32_t length = 1 + random.below(random.below(100) == 0 ? 200000 : 300);
    auto text = std::make_unique<std::string>(length, static_cast<char>('a' + random.below(26)));
    Place &place = places[random.below(PLACES)];
    {
      std::lock_guard<std::mutex> lock(place.busy);
      std::swap(text, place.text);
    }
    if (text) check(*text);
    ordered[random.below(500)] = std::to_string(i);
    lists[random.below(50)].push_back(static_cast<uint32_t>(i));
    auto wide = std::make_unique<Wide>();
    if (reinterpret_cast<uintptr_t>(wide.get()) % 256 != 0) damaged++;
    if (i % 500 == 0) {
      try {
        throw std::runtime_error(std::string(100, 'x') + std::to_string(i));
      } catch (const std::exception &error) {
        sum += std::string(error.what()).size();
      }
    }
  }
  for (auto &entry : ordered) sum += entry.first + entry.second.size();
  for (auto &entry : lists) sum += entry.second.size();
  return sum;
}

} // namespace

int main(int count, char **words) {
  int rounds = count > 1 ? std::atoi(words[1]) : 4;
  uint64_t seed = count > 2 ? std::strtoull(words[2], nullptr, 10) : 1, total = 0;
  for (int round = 0; round < rounds; round++) {
    std::vector<std::thread> threads;
    std::vector<uint64_t> sums(THREADS);
    for (int i = 0; i < THREADS; i++) {
      threads.emplace_back([&sums, i, round, seed] { sums[i] = work(seed * 1000003 + static_cast<uint64_t>(round * THREADS + i)); });
    }
    for (auto &thread : threads) thread.join();
    for (uint64_t sum : sums) total += sum;
  }
  for (Place &place : places) {
    if (place.text) check(*place.text);
  }
  std::printf("sum %llu, checked %llu, damaged %llu\n", static_cast<unsigned long long>(total),
              static_cast<unsigned long long>(checked), static_cast<unsigned long long>(damaged));
  return damaged == 0 ? 0 : 1;
}
