// cxx-threads: std::thread, and objects that one thread makes and another one destroys.
#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "expect.h"

int main() {
  std::atomic<int> alive{0};
  struct Counted {
    std::atomic<int> &count;
    std::string text = std::string(300, 'x');
    explicit Counted(std::atomic<int> &of) : count(of) { count++; }
    ~Counted() { count--; }
  };
  std::vector<std::vector<std::shared_ptr<Counted>>> made(4);
  std::vector<std::thread> threads;
  for (auto &mine : made)
    threads.emplace_back([&mine, &alive] {
      for (int i = 0; i < 3000; i++) mine.push_back(std::make_shared<Counted>(alive));
    });
  for (auto &thread : threads) thread.join();
  EXPECT(alive == 12000);
  threads.clear();
  for (int i = 0; i < 4; i++) threads.emplace_back([&made, i] { made[(i + 1) % 4].clear(); });
  for (auto &thread : threads) thread.join();
  EXPECT(alive == 0);
  return expected("cxx-threads");
}
