/*
 * math THREADS: counts the steps of the Mandelbrot set's points, and prints nanoseconds per step as JSON. No thread
 * waits for another or allocates: what a machine can gain from threads at all.
 */
#include "program.h"

enum { SIDE = 1400, STEPS = 300 };

/* What one thread alone counts, natively too. */
#define EXPECTED UINT64_C(107526656)

static _Atomic uint32_t next_row;
static _Atomic uint64_t total;

static uint32_t steps_of(double x, double y) {
  double a = 0, b = 0;
  uint32_t steps = 0;
  while (steps < STEPS && a * a + b * b < 4) {
    double next = a * a - b * b + x;
    b = 2 * a * b + y, a = next;
    steps++;
  }
  return steps;
}

static uint64_t row_of(uint32_t row) {
  uint64_t steps = 0;
  for (uint32_t column = 0; column < SIDE; column++)
    steps += steps_of(column * 3.0 / SIDE - 2.25, row * 3.0 / SIDE - 1.5);
  return steps;
}

static void *work(void *argument) {
  struct part *part = argument;
  uint64_t steps = 0;
  for (uint32_t row = 0; row < SIDE / 4; row++) steps += row_of(row); /* the engine compiles the code for good */
  CHECK(steps > 0);
  start_together(part);
  steps = 0;
  for (uint32_t row; (row = next_row++) < SIDE;) steps += row_of(row);
  part->end = now_ns();
  total += steps;
  return NULL;
}

int main(int count, char **words) {
  CHECK(count == 2);
  double ns = on_threads((uint32_t)atoi(words[1]), work);
  CHECK(total == EXPECTED);
  printf("{\"ns\": %.4f}\n", ns / (double)total);
  return 0;
}
