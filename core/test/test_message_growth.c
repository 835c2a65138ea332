/*
 * test_message_growth: the cost of a FileDescriptorSet is proportional to its bytes, also for hostile input. The
 * builder counts its steps (`work` of struct plait__build). Eight times the input may take about eight times the steps,
 * not 64.
 */
#include "message_schema.h"

#include "../message/descriptor.h"

static struct plait_message_error error;

struct cost {
  uint64_t work;
  int64_t bytes;
  int status;
  uint32_t fields;
};

struct counted {
  int64_t live, most;
};

static void *counted_resize(void *context, void *block, size_t old_size, size_t new_size) {
  struct counted *counted = context;
  counted->live += (int64_t)new_size - (int64_t)(block == NULL ? 0 : old_size);
  if (counted->live > counted->most) counted->most = counted->live;
  if (new_size != 0) return realloc(block, new_size);
  free(block);
  return NULL;
}

/* Builds as plait_schema_build() does, and returns the cost. */
static struct cost cost_of(struct plait_writer *writer) {
  struct counted counted = {0, 0};
  struct plait_allocator allocator = {counted_resize, &counted};
  struct plait__build build;
  struct plait_schema *schema = NULL;
  plait__build_begin(&build, writer->at, 0, &allocator, &error);
  int status = plait__descriptor_read(&build, writer->at, plait_written(writer));
  if (status == 0) status = plait__build_resolve(&build);
  if (status == 0) status = plait__build_freeze(&build, &schema);
  struct cost cost = {build.work, 0, status, 0};
  plait__build_end(&build);
  cost.bytes = counted.most;
  if (status == 0) {
    cost.fields = schema->field_count;
    CHECK(plait_schema_check(schema, schema->size) == 0);
    counted_resize(&counted, schema, schema->size, 0);
  }
  CHECK(counted.live == 0);
  free(writer->start);
  return cost;
}

/* name: a letter and a number. */
static void put_counted(struct plait_writer *writer, uint32_t field, char letter, uint32_t number) {
  char text[16];
  snprintf(text, sizeof text, "%c%u", letter, number);
  put_text(writer, field, text);
}

static void put_field(
    struct plait_writer *writer, uint32_t index, const char *type, uint32_t kind, const char *text, int in_oneof) {
  size_t mark = plait_written(writer);
  if (in_oneof) put_number(writer, 9, index);
  if (text != NULL) put_text(writer, 7, text);
  if (type != NULL) put_text(writer, 6, type);
  put_number(writer, 5, kind);
  put_number(writer, 3, index + 1);
  put_counted(writer, 1, 'f', index);
  put_message(writer, 2, mark);
}

static struct plait_writer many_files(uint32_t count) {
  struct plait_writer writer = test_writer();
  while (count-- > 0) {
    size_t mark = plait_written(&writer);
    put_counted(&writer, 1, 'p', count);
    put_message(&writer, 1, mark);
  }
  return writer;
}

/* A message with `count` fields, each of which is in a oneof of its own. */
static struct plait_writer many_oneofs(uint32_t count) {
  struct plait_writer writer = test_writer();
  for (uint32_t i = count; i-- > 0;) {
    size_t mark = plait_written(&writer);
    put_counted(&writer, 1, 'o', i);
    put_message(&writer, 8, mark);
  }
  while (count-- > 0) put_field(&writer, count, NULL, PLAIT_KIND_INT32, NULL, 1);
  put_text(&writer, 1, "M");
  put_message(&writer, 4, 0);
  put_message(&writer, 1, 0);
  return writer;
}

/* An enum with `count` values and a message with as many fields, whose default is the last. */
static struct plait_writer many_defaults(uint32_t count) {
  struct plait_writer writer = test_writer();
  char last[16];
  snprintf(last, sizeof last, "v%u", count - 1);
  for (uint32_t i = count; i-- > 0;) {
    size_t mark = plait_written(&writer);
    put_number(&writer, 2, i);
    put_counted(&writer, 1, 'v', i);
    put_message(&writer, 2, mark);
  }
  put_text(&writer, 1, "E");
  put_message(&writer, 5, 0);
  size_t mark = plait_written(&writer);
  while (count-- > 0) put_field(&writer, count, ".E", PLAIT_KIND_ENUM, last, 0);
  put_text(&writer, 1, "M");
  put_message(&writer, 4, mark);
  put_message(&writer, 1, 0);
  return writer;
}

/* Fields whose type is found only in the outermost of 500 packages. */
static struct plait_writer deep_scope(uint32_t count) {
  struct plait_writer writer = test_writer();
  char package[1000];
  for (size_t i = 0; i < sizeof package; i++) package[i] = i % 2 ? '.' : 'a';
  package[sizeof package - 1] = 0;
  while (count-- > 0) put_field(&writer, count, "T", PLAIT_KIND_MESSAGE, NULL, 0);
  put_text(&writer, 1, "M");
  put_message(&writer, 4, 0);
  put_text(&writer, 2, package);
  put_text(&writer, 1, "a");
  put_message(&writer, 1, 0);
  size_t mark = plait_written(&writer);
  put_text(&writer, 1, "T");
  put_message(&writer, 4, mark);
  put_text(&writer, 1, "b");
  put_message(&writer, 1, mark);
  return writer;
}

static struct plait_writer same_fields(uint32_t count) {
  struct plait_writer writer = test_writer();
  for (uint32_t i = count; i-- > 0;) {
    size_t mark = plait_written(&writer);
    put_number(&writer, 5, PLAIT_KIND_INT32);
    put_number(&writer, 3, i + 1);
    put_text(&writer, 1, "same");
    put_message(&writer, 2, mark);
  }
  put_text(&writer, 1, "M");
  put_message(&writer, 4, 0);
  put_message(&writer, 1, 0);
  return writer;
}

static struct plait_writer same_values(uint32_t count) {
  struct plait_writer writer = test_writer();
  while (count-- > 0) {
    size_t mark = plait_written(&writer);
    put_number(&writer, 2, count);
    put_text(&writer, 1, "same");
    put_message(&writer, 2, mark);
  }
  put_text(&writer, 1, "E");
  put_message(&writer, 5, 0);
  put_message(&writer, 1, 0);
  return writer;
}

/* Enums whose names have hashes with the same lower bits. */
static struct plait_writer colliding(uint32_t count) {
  struct plait_writer writer = test_writer();
  for (uint32_t i = 0, found = 0; found < count; i++) {
    char name[16];
    int length = snprintf(name, sizeof name, "e%u", i);
    if ((plait__schema_hash(0, name, (size_t)length) & 0xFFF) != 0) continue;
    found++;
    size_t mark = plait_written(&writer), inner = mark;
    put_text(&writer, 1, "v");
    put_message(&writer, 2, inner);
    put_text(&writer, 1, name);
    put_message(&writer, 5, mark);
  }
  put_message(&writer, 1, 0);
  return writer;
}

static void check_growth(const char *what, struct plait_writer (*make)(uint32_t), uint32_t count, int refused) {
  struct plait_writer few = make(count), many = make(count * 8);
  size_t few_bytes = plait_written(&few), many_bytes = plait_written(&many);
  struct cost small = cost_of(&few), large = cost_of(&many);
  printf("# %s: %zu bytes, %llu steps, %lld bytes of memory; %zu, %llu, %lld\n", what, few_bytes,
      (unsigned long long)small.work, (long long)small.bytes, many_bytes, (unsigned long long)large.work,
      (long long)large.bytes);
  snprintf(test_context, sizeof test_context, "%.40s: %.120s", what, error.text);
  CHECK(large.status == (refused ? -PLAIT_MESSAGE_SCHEMA : 0));
  CHECK(large.work <= small.work * 12 + 100000 && large.bytes <= small.bytes * 12);
  CHECK(large.work < many_bytes * 400);
}

static void test_growth(void) {
  check_growth("files", many_files, 5000, 0);
  check_growth("defaults of enums", many_defaults, 5000, 0);
  check_growth("types in an outer scope", deep_scope, 2000, 0);
  check_growth("fields with one name", same_fields, 5000, 1);
  check_growth("values with one name", same_values, 5000, 1);
  check_growth("names that collide", colliding, 500, 1);
}

/* The search for a field's oneof counts no steps. If it visited all oneofs for each field, this would take minutes. */
static void test_oneofs(void) {
  struct plait_writer writer = many_oneofs(test_work(300000));
  struct cost cost = cost_of(&writer);
  CHECK(cost.status == 0 && cost.fields == test_work(300000));
}

/* Names chosen by people and generators stay far below the limit. */
static void test_usual_names(void) {
  for (uint32_t owner = 0; owner < 3; owner++) {
    enum { SLOTS = 1 << 18 };
    static uint8_t used[SLOTS];
    uint32_t most = 0;
    memset(used, 0, sizeof used);
    for (uint32_t i = 0; i < SLOTS / 2; i++) {
      char name[64];
      int length = snprintf(name, sizeof name,
          owner == 0       ? "f%u"
              : owner == 1 ? "some_field_%06u"
                           : "PREFIX_%u_SUFFIX",
          i);
      uint32_t at = plait__schema_hash(owner, name, (size_t)length), probes = 1;
      for (; used[at & (SLOTS - 1)]; at++) probes++;
      used[at & (SLOTS - 1)] = 1;
      if (probes > most) most = probes;
    }
    printf("# the farthest of %u names lies %u from its place\n", SLOTS / 2, most);
    CHECK(most < PLAIT_SCHEMA_PROBE_LIMIT / 2);
  }
}

/* Overlapping parts of an image would be walked for each of its messages. */
static void test_overlapping_image(void) {
  struct test_memory memory = {-1, 0};
  struct plait_allocator allocator = {test_resize, &memory};
  struct plait_writer writer = test_descriptor();
  struct plait_schema *schema = NULL;
  CHECK(plait_schema_build(writer.at, plait_written(&writer), 0, &allocator, &schema, &error) == 0);
  struct plait_enum *type = (struct plait_enum *)((uint8_t *)schema + schema->enums);
  CHECK(schema->enum_count == 1 && type->value_count == 3);
  struct plait_message *messages = (struct plait_message *)((uint8_t *)schema + schema->messages);
  struct plait_message *person = &messages[plait_schema_find_message(schema, "t.Person", 8)];
  struct plait_message *set = &messages[plait_schema_find_message(schema, "t.Set", 5)];
  CHECK(person->oneof_count == 1 && set->oneof_count == 0);
  set->first_oneof = person->first_oneof;
  ((struct plait_oneof *)((uint8_t *)schema + schema->oneofs))->member_count = 0;
  CHECK(plait_schema_check(schema, schema->size) == 0);
  set->oneof_count = 1;
  CHECK(plait_schema_check(schema, schema->size) != 0);
  test_resize(&memory, schema, 0, 0);
  free(writer.start);
}

static const struct test tests[] = {
    {"eight times the descriptors take eight times the steps", test_growth},
    {"many oneofs", test_oneofs},
    {"usual names do not collide", test_usual_names},
    {"images whose parts overlap are refused", test_overlapping_image},
};
TEST_MAIN(tests)
