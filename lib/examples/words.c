/*
 * words: a C program for WASI whose malloc is Plait's. Nothing in it knows of that, but for the last function, which
 * asks the heap what it holds.
 *
 * It makes up a text, counts its words in a hash table that grows, prints the most frequent ones, and frees everything.
 */
#include "../plait_heap.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_WORDS = 400000, FIRST_BUCKETS = 16, SHOWN = 3 };

struct word {
  struct word *next;
  uint32_t count;
  char text[];
};

struct table {
  struct word **buckets;
  uint32_t bucket_count, word_count;
};

static uint64_t seed = 1;

static uint32_t random_below(uint32_t limit) {
  seed = seed * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)((seed >> 33) % limit);
}

static void *need(void *block) {
  if (block != NULL) return block;
  fputs("no memory\n", stderr);
  exit(1);
}

/* Small numbers are frequent, so there are frequent words and many rare ones. */
static char *make_text(size_t *length) {
  size_t room = 64;
  char *text = need(malloc(room));
  *length = 0;
  for (uint32_t i = 0; i < TEXT_WORDS; i++) {
    uint32_t rank = random_below(1 + random_below(1 + random_below(200000)));
    if (room - *length < 32) text = need(realloc(text, room *= 2));
    *length += (size_t)snprintf(text + *length, 32, "word%" PRIu32 " ", rank);
  }
  return text;
}

static uint32_t hash(const char *text, size_t length) {
  uint32_t value = 2166136261u;
  while (length-- > 0) value = (value ^ (uint8_t)*text++) * 16777619u;
  return value;
}

static void grow(struct table *table) {
  uint32_t count = table->bucket_count == 0 ? FIRST_BUCKETS : table->bucket_count * 2;
  struct word **buckets = need(calloc(count, sizeof *buckets));
  for (uint32_t i = 0; i < table->bucket_count; i++) {
    for (struct word *word = table->buckets[i], *next; word != NULL; word = next) {
      struct word **place = &buckets[hash(word->text, strlen(word->text)) % count];
      next = word->next;
      word->next = *place;
      *place = word;
    }
  }
  free(table->buckets);
  table->buckets = buckets;
  table->bucket_count = count;
}

static void count_word(struct table *table, const char *text, size_t length) {
  if (table->word_count == table->bucket_count) grow(table);
  struct word **place = &table->buckets[hash(text, length) % table->bucket_count];
  for (struct word *word = *place; word != NULL; word = word->next) {
    if (strlen(word->text) == length && memcmp(word->text, text, length) == 0) {
      word->count++;
      return;
    }
  }
  struct word *word = need(malloc(sizeof *word + length + 1));
  *word = (struct word){.next = *place, .count = 1};
  memcpy(word->text, text, length);
  word->text[length] = 0;
  *place = word;
  table->word_count++;
}

static int by_count(const void *a, const void *b) {
  const struct word *x = *(struct word *const *)a, *y = *(struct word *const *)b;
  return x->count != y->count ? (x->count < y->count ? 1 : -1) : strcmp(x->text, y->text);
}

static void print_most_frequent(const struct table *table) {
  struct word **all = need(malloc(table->word_count * sizeof *all));
  uint32_t count = 0;
  for (uint32_t i = 0; i < table->bucket_count; i++) {
    for (struct word *word = table->buckets[i]; word != NULL; word = word->next) all[count++] = word;
  }
  qsort(all, count, sizeof *all, by_count);
  for (uint32_t i = 0; i < SHOWN; i++) printf("%s %" PRIu32 "\n", all[i]->text, all[i]->count);
  free(all);
}

static void free_table(struct table *table) {
  for (uint32_t i = 0; i < table->bucket_count; i++) {
    for (struct word *word = table->buckets[i], *next; word != NULL; word = next) {
      next = word->next;
      free(word);
    }
  }
  free(table->buckets);
}

/* Returns how many blocks are live. */
static uint32_t print_usage(const char *when) {
  struct plait_heap_usage usage;
  plait_heap_usage(&usage);
  printf("heap, %s: %" PRIu32 " live blocks, %" PRIu64 " KiB in use, %" PRIu64 " at peak, %" PRIu64 " reserved\n", when,
      usage.live_blocks, usage.used_bytes / 1024, usage.peak_bytes / 1024, usage.reserved_bytes / 1024);
  return usage.live_blocks;
}

int main(void) {
  struct table table = {0};
  printf("%d words\n", TEXT_WORDS); /* here the C library takes its buffers */
  uint32_t before = print_usage("before");
  size_t length;
  char *text = make_text(&length);
  for (char *word = text, *end; word < text + length; word = end + 1) {
    end = memchr(word, ' ', (size_t)(text + length - word));
    count_word(&table, word, (size_t)(end - word));
  }
  print_most_frequent(&table);
  uint32_t during = print_usage("with all words"), expected = before + table.word_count + 2;
  free_table(&table);
  free(text);
  uint32_t after = print_usage("after");
  /* 2: the text and the buckets. If these were another malloc's blocks, the numbers would not move. */
  int good = during == expected && after == before && plait_heap_is_whole();
  puts(good ? "every block was Plait's" : "the heap's numbers are wrong");
  return good ? 0 : 1;
}
