/*
 * test_message: schemas, patterns and the wire format in C. The expected bytes are written out here; the tests of the
 * Lua module compare with protoc. Every input is copied to a block of its exact size, so that AddressSanitizer sees a
 * read beyond it.
 */
#define _GNU_SOURCE
#include "message_schema.h"

#include "../message/number.h"

static struct plait_message_error error;

static struct plait_schema *build(struct test_memory *memory) {
  struct plait_writer writer = test_descriptor();
  struct plait_allocator allocator = {test_resize, memory};
  struct plait_schema *schema = NULL;
  int status = plait_schema_build(writer.at, plait_written(&writer), 0, &allocator, &schema, &error);
  if (status != 0) printf("# %s\n", error.text);
  CHECK(status == 0);
  CHECK(plait_schema_check(schema, schema->size) == 0);
  free(writer.start);
  return schema;
}

static void test_lookup(void) {
  struct test_memory memory = {-1, 0};
  struct plait_schema *schema = build(&memory);
  CHECK(memory.live == 1);
  uint32_t person = plait_schema_find_message(schema, ".t.Person", 9);
  CHECK(person != PLAIT_SCHEMA_NONE && plait_schema_find_message(schema, "t.Person", 8) == person);
  CHECK(plait_schema_find_message(schema, "t.Kind", 6) == PLAIT_SCHEMA_NONE);
  uint32_t kind = plait_schema_find_enum(schema, "t.Kind", 6);
  CHECK(kind != PLAIT_SCHEMA_NONE);
  CHECK(plait_schema_value(schema, plait_schema_find_value(schema, kind, "FAR", 3))->number == -7);
  CHECK(plait_enum_find_number(schema, plait_schema_enum(schema, kind), 1) != NULL);
  CHECK(plait_enum_find_number(schema, plait_schema_enum(schema, kind), 2) == NULL);
  const struct plait_message *message = plait_schema_message(schema, person);
  const struct plait_field *fields = plait_message_fields(schema, message);
  CHECK(message->field_count == 13 && message->oneof_count == 1 && message->flags & PLAIT_TYPE_REQUIRED);
  CHECK(
      fields[9].flags & PLAIT_FIELD_MAP && fields[8].kind == PLAIT_KIND_GROUP && fields[4].flags & PLAIT_FIELD_PACKED);
  CHECK(memcmp(plait_schema_name(schema, (uint32_t)fields[2].default_bits), "a\tb", 3) == 0);
  double rate;
  memcpy(&rate, &fields[10].default_bits, 8);
  CHECK(rate == -1.5e-3);
  CHECK(plait_schema_find_field(schema, person, "t.good", 6) == message->first_field + 12);
  CHECK(plait_message_find_number(schema, message, 100) == &fields[12]);
  CHECK(
      plait_message_find_number(schema, message, 99) == NULL && plait_message_find_number(schema, message, 0) == NULL);
  test_resize(&memory, schema, 0, 0);
  CHECK(memory.live == 0);
}

static struct plait_pattern *pattern_of(const struct plait_schema *schema, const char *text) {
  struct test_memory memory = {-1, 0};
  struct plait_allocator allocator = {test_resize, &memory};
  struct plait_pattern *pattern = NULL;
  if (plait_pattern_build(schema, text, strlen(text), &allocator, &pattern, &error) != 0) printf("# %s\n", error.text);
  CHECK(pattern != NULL && memory.live == 1);
  return pattern;
}

static struct plait_value text_value(const char *text) {
  return (struct plait_value){.data = (const uint8_t *)text, .length = (uint32_t)strlen(text), .present = 1};
}
static struct plait_value number_value(int64_t number) { return (struct plait_value){.integer = number, .present = 1}; }

static void test_flat(void) {
  struct test_memory memory = {-1, 0};
  struct plait_schema *schema = build(&memory);
  struct plait_pattern *pattern =
      pattern_of(schema, "t.Person id name, home.city home.next.code t.good by_number by_place.city old.x");
  CHECK(pattern->slot_count == 8);
  struct plait_value values[8] = {number_value(-1), text_value("Al"), text_value("X"), number_value(5), number_value(1),
      number_value(300), {.present = 0}, number_value(7)};
  struct plait_writer writer = test_writer();
  CHECK(plait_pattern_pack(schema, pattern, values, NULL, &writer, &error) == 0);
  static const uint8_t expected[] = {0x0A, 2, 'A', 'l', 0x10, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 1,
      0x32, 10, 0x0A, 1, 'X', 0x1A, 5, 0x15, 5, 0, 0, 0, 0x38, 0xAC, 2, 0x4B, 8, 7, 0x4C, 0xA0, 6, 1};
  CHECK(plait_written(&writer) == sizeof expected && memcmp(writer.at, expected, sizeof expected) == 0);
  struct plait_value got[8];
  CHECK(plait_pattern_unpack(schema, pattern, expected, sizeof expected, 100, got, NULL, &error) == 0);
  for (int i = 0; i < 8; i++) {
    CHECK(got[i].present == values[i].present);
    if (i == 1 || i == 2)
      CHECK(got[i].length == values[i].length && memcmp(got[i].data, values[i].data, got[i].length) == 0);
    else if (got[i].present) CHECK(got[i].integer == values[i].integer);
  }
  /* Merging, and a oneof's last member. */
  static const uint8_t twice[] = {
      0x32, 3, 0x0A, 1, 'Y', 0x32, 7, 0x1A, 5, 0x15, 9, 0, 0, 0, 0x38, 1, 0x42, 3, 0x0A, 1, 'Z'};
  CHECK(plait_pattern_unpack(schema, pattern, twice, sizeof twice, 100, got, NULL, &error) == 0);
  CHECK(got[2].present && got[3].integer == 9 && !got[5].present && got[6].present && got[6].data[0] == 'Z');
  /* Errors name their position. */
  static const uint8_t bad[] = {0x32, 3, 0x1A, 5, 0x15};
  CHECK(plait_pattern_unpack(schema, pattern, bad, sizeof bad, 100, got, NULL, &error) == -PLAIT_MESSAGE_LENGTH);
  CHECK(error.offset == 3 && strcmp(error.text, ".home.next") == 0);
  CHECK(plait_pattern_unpack(schema, pattern, expected, sizeof expected, 2, got, NULL, &error) == -PLAIT_MESSAGE_DEPTH);
  CHECK(plait_pattern_unpack(schema, pattern, expected, sizeof expected, 3, got, NULL, &error) == 0);
  free(writer.start);
  free(pattern);
  test_resize(&memory, schema, 0, 0);
}

/* Items of a MessageSet, in both orders of their parts, in the plain form, twice, with others between. */
static void test_set(void) {
  struct test_memory memory = {-1, 0};
  struct plait_schema *schema = build(&memory);
  struct plait_pattern *pattern = pattern_of(schema, "t.Person set.t.item.city set.t.item.code"),
                       *whole = pattern_of(schema, "t.Set t.item");
  struct plait_value values[2] = {text_value("X"), number_value(5)}, got[2];
  struct plait_writer writer = test_writer();
  CHECK(plait_pattern_pack(schema, pattern, values, NULL, &writer, &error) == 0);
  static const uint8_t expected[] = {0x62, 14, 0x0B, 0x10, 5, 0x1A, 8, 0x0A, 1, 'X', 0x15, 5, 0, 0, 0, 0x0C};
  CHECK(plait_written(&writer) == sizeof expected && memcmp(writer.at, expected, sizeof expected) == 0);
  CHECK(plait_pattern_unpack(schema, pattern, expected, sizeof expected, 100, got, NULL, &error) == 0);
  CHECK(got[0].present && got[0].length == 1 && got[0].data[0] == 'X' && got[1].present && got[1].integer == 5);
  CHECK(plait_pattern_unpack(schema, pattern, expected, sizeof expected, 2, got, NULL, &error) == -PLAIT_MESSAGE_DEPTH);
  static const uint8_t parts[] = {0x62, 28, 0x0B, 0x1A, 3, 0x0A, 1, 'Y', 0x10, 5, 0x0C, 0x0B, 0x10, 6, 0x1A, 0, 0x0C,
      0x0B, 0x10, 5, 0x0C, 0x0B, 0x0C, 0x2A, 5, 0x15, 9, 0, 0, 0};
  CHECK(plait_pattern_unpack(schema, pattern, parts, sizeof parts, 100, got, NULL, &error) == 0);
  CHECK(got[0].present && got[0].data[0] == 'Y' && got[1].present && got[1].integer == 9);
  static const uint8_t bad[] = {0x62, 9, 0x0B, 0x10, 5, 0x1A, 3, 0x0A, 5, 'Y', 0x0C};
  CHECK(plait_pattern_unpack(schema, pattern, bad, sizeof bad, 100, got, NULL, &error) == -PLAIT_MESSAGE_LENGTH);
  CHECK(error.offset == 8 && strcmp(error.text, ".set.t.item.city") == 0);
  CHECK(plait_pattern_unpack(schema, whole, expected + 2, sizeof expected - 2, 100, got, NULL, &error) == 0);
  CHECK(got[0].present && got[0].length == 8 && got[0].data == expected + 7);
  struct plait_writer again = test_writer();
  CHECK(plait_pattern_pack(schema, whole, got, NULL, &again, &error) == 0);
  CHECK(plait_written(&again) == sizeof expected - 2 && memcmp(again.at, expected + 2, sizeof expected - 2) == 0);
  free(again.start);
  free(writer.start);
  free(pattern);
  free(whole);
  test_resize(&memory, schema, 0, 0);
}

static int count_element(
    void *context, uint32_t slot, const struct plait_field *field, const struct plait_value *value) {
  (void)slot;
  (void)field;
  *(int64_t *)context = *(int64_t *)context * 10 + (int64_t)value->integer;
  return 0;
}

static void test_repeated(void) {
  struct test_memory memory = {-1, 0};
  struct plait_schema *schema = build(&memory);
  struct plait_pattern *pattern = pattern_of(schema, "t.Person scores");
  static const uint8_t mixed[] = {0x2A, 2, 2, 4, 0x28, 6, 0x2A, 1, 8}; /* 1 2 | 3 | 4, packed or not */
  int64_t sum = 0;
  struct plait_pattern_elements elements = {.take = count_element, .context = &sum};
  struct plait_value value;
  CHECK(plait_pattern_unpack(schema, pattern, mixed, sizeof mixed, 100, &value, &elements, &error) == 0);
  CHECK(sum == 1234);
  free(pattern);
  test_resize(&memory, schema, 0, 0);
}

/* Malformed bytes, each with one error. */
static void mutate(const uint8_t *bytes, size_t size, void (*use)(const uint8_t *bytes, size_t size)) {
  for (size_t length = 0; length <= size; length++) {
    uint8_t *copy = malloc(length == 0 ? 1 : length);
    memcpy(copy, bytes, length);
    use(copy, length);
    free(copy);
  }
  uint8_t *copy = malloc(size);
  for (size_t i = 0; i < size; i++) {
    static const uint8_t others[] = {0, 1, 2, 3, 4, 0x7F, 0x80, 0xFF, 0xFE, 0x0B, 0x0C};
    for (size_t j = 0; j < sizeof others + 8; j++) {
      memcpy(copy, bytes, size);
      copy[i] = j < sizeof others ? others[j] : copy[i] ^ (uint8_t)(1u << (j - sizeof others));
      use(copy, size);
    }
  }
  free(copy);
}

static void use_all(const struct plait_schema *schema) {
  for (uint32_t i = 0; i < schema->message_count; i++) {
    const struct plait_message *message = plait_schema_message(schema, i);
    plait_schema_find_message(schema, plait_schema_name(schema, message->name), message->name_length);
    for (uint32_t number = 0; number < 200; number++) plait_message_find_number(schema, message, number);
    plait_schema_find_field(schema, i, "name", 4);
  }
  for (uint32_t i = 0; i < schema->enum_count; i++) {
    for (int32_t number = -8; number < 4; number++)
      plait_enum_find_number(schema, plait_schema_enum(schema, i), number);
    plait_schema_find_value(schema, i, "HOME", 4);
  }
}

static void use_descriptor(const uint8_t *bytes, size_t size) {
  struct test_memory memory = {-1, 0};
  struct plait_allocator allocator = {test_resize, &memory};
  struct plait_schema *schema;
  if (plait_schema_build(bytes, size, 0, &allocator, &schema, &error) != 0) {
    CHECK(error.status != 0 && memory.live == 0);
    return;
  }
  CHECK(plait_schema_check(schema, schema->size) == 0);
  use_all(schema);
  test_resize(&memory, schema, 0, 0);
}

static void test_broken_descriptors(void) {
  struct plait_writer writer = test_descriptor();
  mutate(writer.at, plait_written(&writer), use_descriptor);
  uint64_t state = test_seed;
  for (uint32_t round = 0; round < test_work(20000); round++) {
    uint8_t noise[200];
    size_t size = test_random(&state) % sizeof noise;
    for (size_t i = 0; i < size; i++) noise[i] = (uint8_t)test_random(&state);
    use_descriptor(noise, size);
  }
  free(writer.start);
}

static const struct plait_schema *used_schema;
static struct plait_pattern *used_pattern;

static void use_message(const uint8_t *bytes, size_t size) {
  struct plait_value values[16];
  int64_t sum = 0;
  struct plait_pattern_elements elements = {.take = count_element, .context = &sum};
  if (plait_pattern_unpack(used_schema, used_pattern, bytes, size, 100, values, &elements, &error) != 0) {
    CHECK(error.status != 0 && error.offset <= size);
    return;
  }
  for (uint32_t i = 0; i < used_pattern->slot_count; i++) {
    const struct plait_field *field = plait_schema_field(used_schema, plait_pattern_field(used_pattern, i));
    if (values[i].present && (field->wire == PLAIT_WIRE_BYTES || field->wire == PLAIT_WIRE_START) &&
        values[i].length != 0)
      CHECK(values[i].data >= bytes && values[i].data + values[i].length <= bytes + size);
  }
  struct plait_writer writer = test_writer();
  CHECK(plait_pattern_pack(used_schema, used_pattern, values, NULL, &writer, &error) == 0);
  free(writer.start);
}

static void test_broken_messages(void) {
  struct test_memory memory = {-1, 0};
  struct plait_schema *schema = build(&memory);
  used_schema = schema;
  used_pattern =
      pattern_of(schema, "t.Person name id email home.city home.next.next.code by_number by_place old.x rate t.good");
  static const uint8_t sample[] = {0x0A, 2, 'A', 'l', 0x10, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 1,
      0x1A, 1, 'e', 0x32, 10, 0x0A, 1, 'X', 0x1A, 5, 0x15, 5, 0, 0, 0, 0x38, 0xAC, 2, 0x4B, 8, 7, 0x4C, 0x2A, 2, 2, 4,
      0x59, 0, 0, 0, 0, 0, 0, 0xF0, 0x3F, 0xA0, 6, 1, 0x93, 0x30, 8, 1, 0x13, 0x14, 0x94, 0x30};
  mutate(sample, sizeof sample, use_message);
  uint64_t state = test_seed;
  for (uint32_t round = 0; round < test_work(100000); round++) {
    uint8_t noise[64];
    size_t size = test_random(&state) % sizeof noise;
    for (size_t i = 0; i < size; i++)
      noise[i] = (uint8_t)(test_random(&state) % 3 ? test_random(&state) % 128 : test_random(&state));
    use_message(noise, size);
  }
  free(used_pattern);
  test_resize(&memory, schema, 0, 0);
}

/* ---- one image and one pattern, several threads ---- */

struct shared {
  const struct plait_schema *schema;
  const struct plait_pattern *pattern;
};

static void *use_shared(void *argument) {
  const struct shared *shared = argument;
  for (uint32_t round = 0; round < test_work(20000); round++) {
    struct plait_value values[4] = {number_value(round), text_value("name"), text_value("city"), number_value(1)},
                       got[4];
    struct plait_writer writer = test_writer();
    struct plait_message_error problem;
    CHECK(plait_pattern_pack(shared->schema, shared->pattern, values, NULL, &writer, &problem) == 0);
    CHECK(plait_pattern_unpack(
              shared->schema, shared->pattern, writer.at, plait_written(&writer), 100, got, NULL, &problem) == 0);
    CHECK(got[0].integer == (int64_t)round && got[1].length == 4 && got[2].length == 4 && got[3].integer == 1);
    CHECK(plait_pattern_unpack(
              shared->schema, shared->pattern, writer.at, plait_written(&writer) - 1, 100, got, NULL, &problem) != 0);
    uint32_t person = plait_schema_find_message(shared->schema, "t.Person", 8);
    CHECK(plait_schema_find_field(shared->schema, person, "rate", 4) != PLAIT_SCHEMA_NONE);
    CHECK(plait_enum_find_number(shared->schema, plait_schema_enum(shared->schema, 0), -7) != NULL);
    CHECK(round % 100 != 0 || plait_schema_check(shared->schema, shared->schema->size) == 0);
    free(writer.start);
  }
  return NULL;
}

/* They lie in read-only memory, so a write ends the process. */
static void test_threads(void) {
  struct test_memory memory = {-1, 0};
  struct plait_schema *schema = build(&memory);
  struct plait_pattern *pattern = pattern_of(schema, "t.Person id name home.city t.good");
  size_t place = (schema->size + 7) & ~(size_t)7, size = place + pattern->size;
  uint8_t *both = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(both != MAP_FAILED);
  memcpy(both, schema, schema->size);
  memcpy(both + place, pattern, pattern->size);
  CHECK(mprotect(both, size, PROT_READ) == 0);
  free(pattern);
  test_resize(&memory, schema, 0, 0);
  struct shared shared = {(const struct plait_schema *)both, (const struct plait_pattern *)(both + place)};
  pthread_t threads[4];
  for (int i = 0; i < 4; i++) CHECK(pthread_create(&threads[i], NULL, use_shared, &shared) == 0);
  for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
  CHECK(munmap(both, size) == 0);
}

/* A modified image is either refused, or safe to use. */
static void test_broken_images(void) {
  struct test_memory memory = {-1, 0};
  struct plait_schema *schema = build(&memory);
  struct plait_schema *copy = malloc(schema->size);
  uint32_t accepted = 0;
  for (uint32_t at = 0; at < schema->size; at++) {
    for (uint32_t j = 0; j < 4; j++) {
      memcpy(copy, schema, schema->size);
      ((uint8_t *)copy)[at] ^= (uint8_t[]){1, 0x80, 0xFF, 4}[j];
      if (plait_schema_check(copy, schema->size) != 0) continue;
      accepted++;
      use_all(copy);
      struct test_memory other = {-1, 0};
      struct plait_allocator allocator = {test_resize, &other};
      struct plait_pattern *pattern = NULL;
      if (plait_pattern_build(
              copy, "t.Person name id home.next.code phone tags by_place.city", 55, &allocator, &pattern, &error) != 0)
        continue;
      used_schema = copy;
      used_pattern = pattern;
      static const uint8_t sample[] = {
          0x0A, 2, 'A', 'l', 0x10, 5, 0x32, 10, 0x0A, 1, 'X', 0x1A, 5, 0x15, 5, 0, 0, 0, 0x42, 0};
      use_message(sample, sizeof sample);
      free(pattern);
    }
  }
  printf("# %u of %u changed images were accepted\n", accepted, schema->size * 4);
  CHECK(plait_schema_check(schema, schema->size - 8) != 0);
  free(copy);
  test_resize(&memory, schema, 0, 0);
}

static void test_no_memory(void) {
  struct plait_writer writer = test_descriptor();
  struct plait_schema *schema = NULL;
  int64_t allowed = 0;
  for (;; allowed++) {
    struct test_memory memory = {allowed, 0};
    struct plait_allocator allocator = {test_resize, &memory};
    if (plait_schema_build(writer.at, plait_written(&writer), 0, &allocator, &schema, &error) == 0) break;
    CHECK(error.status == PLAIT_MESSAGE_MEMORY && memory.live == 0);
  }
  CHECK(allowed >= 2);
  for (allowed = 0;; allowed++) {
    struct test_memory memory = {allowed, 0};
    struct plait_allocator allocator = {test_resize, &memory};
    struct plait_pattern *pattern;
    if (plait_pattern_build(schema, "t.Person name", 13, &allocator, &pattern, &error) == 0) {
      free(pattern);
      break;
    }
    CHECK(error.status == PLAIT_MESSAGE_MEMORY && memory.live == 0);
  }
  CHECK(allowed == 2);
  free(schema);
  free(writer.start);
}

static void test_numbers(void) {
  uint64_t state = test_seed;
  static const char *const fixed[] = {"0", "-0", "1e-400", "1e400", "4.9e-324", "2.4703282292062327e-324",
      "2.4703282292062328e-324", "1.7976931348623157e308", "1.7976931348623159e308", "2.2250738585072011e-308",
      "9007199254740993", "0.000001", ".5", "5.", "inf", "-inf", "123456789012345678901234567890e-10"};
  for (uint32_t i = 0; i < sizeof fixed / sizeof *fixed + test_work(20000); i++) {
    char text[64];
    if (i < sizeof fixed / sizeof *fixed) {
      snprintf(text, sizeof text, "%s", fixed[i]);
    } else {
      uint64_t bits = (uint64_t)test_random(&state) << 32 | test_random(&state);
      double value;
      memcpy(&value, &bits, 8);
      if (value != value) continue;
      snprintf(text, sizeof text, i % 3 == 0 ? "%.17g" : i % 3 == 1 ? "%.9g" : "%.25e", value);
    }
    double ours, theirs = strtod(text, NULL);
    CHECK(plait_number_double(text, strlen(text), &ours) == 0);
    snprintf(test_context, sizeof test_context, "%s: %.17g, not %.17g", text, ours, theirs);
    CHECK(memcmp(&ours, &theirs, 8) == 0);
  }
  double value;
  CHECK(plait_number_double("", 0, &value) != 0 && plait_number_double("1e", 2, &value) != 0 &&
      plait_number_double("1x", 2, &value) != 0);
  uint64_t bits;
  int negative;
  CHECK(plait_number_integer("18446744073709551615", 20, &bits, &negative) == 0 && bits == UINT64_MAX);
  CHECK(plait_number_integer("18446744073709551616", 20, &bits, &negative) == -PLAIT_MESSAGE_RANGE);
  CHECK(plait_number_integer("-9223372036854775808", 20, &bits, &negative) == 0 && bits == 1ull << 63 && negative);
  CHECK(plait_number_integer("-9223372036854775809", 20, &bits, &negative) == -PLAIT_MESSAGE_RANGE);
  CHECK(plait_number_integer("0xfF", 4, &bits, &negative) == 0 && bits == 255);
  CHECK(plait_number_integer("1 ", 2, &bits, &negative) == -PLAIT_MESSAGE_TYPE &&
      plait_number_integer("-", 1, &bits, &negative) != 0);
}

/* The slow definition of UTF-8: decode, then encode again. */
static int slow_utf8(const uint8_t *bytes, size_t size) {
  for (size_t at = 0; at < size;) {
    uint32_t first = bytes[at],
             more = first < 0x80 ? 0
        : first < 0xE0           ? 1
        : first < 0xF0           ? 2
                                 : 3,
             code, least[] = {0, 0x80, 0x800, 0x10000};
    if ((first >= 0x80 && first < 0xC0) || first >= 0xF8 || at + more >= size) return 0;
    code = more == 0 ? first : first & (0x3F >> more);
    for (uint32_t i = 1; i <= more; i++) {
      if (bytes[at + i] >> 6 != 2) return 0;
      code = code << 6 | (bytes[at + i] & 0x3F);
    }
    if (code < least[more] || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) return 0;
    at += more + 1;
  }
  return 1;
}

static void test_utf8(void) {
  for (uint32_t word = 0; word < 1u << 24; word += test_work(1) == 0 ? 37 : 1) {
    uint8_t bytes[11] = {
        'a', 'b', 'c', 'd', 'e', 'f', 'g', (uint8_t)word, (uint8_t)(word >> 8), (uint8_t)(word >> 16), 0x80};
    if (word >> 16 == 0x80 && (word & 0xFF) < 0xF0) continue;
    CHECK(plait_utf8_valid(bytes + 7, 3) == slow_utf8(bytes + 7, 3));
    if ((word & 0xFF) >= 0xF0) CHECK(plait_utf8_valid(bytes, 11) == slow_utf8(bytes, 11));
  }
}

static const struct test tests[] = {
    {"types, fields and values are found", test_lookup},
    {"flat values become the expected bytes and come back", test_flat},
    {"items of a MessageSet are fields", test_set},
    {"packed and unpacked elements are read", test_repeated},
    {"broken descriptors are refused or harmless", test_broken_descriptors},
    {"broken messages are refused or harmless", test_broken_messages},
    {"one image and one pattern serve several threads", test_threads},
    {"broken images are refused or harmless", test_broken_images},
    {"every allocation may fail", test_no_memory},
    {"decimal text becomes the right number", test_numbers},
    {"UTF-8 is distinguished from other bytes", test_utf8},
};
TEST_MAIN(tests)
