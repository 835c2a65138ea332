/*
 * fuzz_message: libFuzzer targets of the module `message`, one program each (make fuzz; see fuzz.mk).
 *
 *     FUZZ_DESCRIPTOR  bytes as a FileDescriptorSet; an accepted set must become a valid image
 *     FUZZ_PATTERN     bytes as the text of a pattern; an accepted pattern packs and unpacks
 *     FUZZ_UNPACK      bytes as a message, through a pattern of many fields; values are written and read again
 *     FUZZ_IMAGE       a valid image with some bytes changed: refused, or safe
 */
#include "message_schema.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static struct test_memory memory = {-1, 0};
static const struct plait_allocator allocator = {test_resize, &memory};
static struct plait_message_error error;

static struct plait_schema *known_schema(void) {
  static struct plait_schema *schema;
  if (schema == NULL) {
    struct plait_writer writer = test_descriptor();
    if (plait_schema_build(writer.at, plait_written(&writer), 0, &allocator, &schema, &error) != 0) abort();
    free(writer.start);
    memory.live = 0;
  }
  return schema;
}

static int take_any(void *context, uint32_t slot, const struct plait_field *field, const struct plait_value *value) {
  (void)context;
  (void)slot;
  if (field->wire == PLAIT_WIRE_BYTES && value->length > 0) {
    volatile uint8_t last = value->data[value->length - 1];
    (void)last;
  }
  return 0;
}

static void round_trip(
    const struct plait_schema *schema, const struct plait_pattern *pattern, const uint8_t *bytes, size_t size) {
  struct plait_value values[PLAIT_PATTERN_SLOT_LIMIT], again[PLAIT_PATTERN_SLOT_LIMIT];
  struct plait_pattern_elements elements = {.take = take_any};
  if (plait_pattern_unpack(schema, pattern, bytes, size, 20, values, &elements, &error) != 0) return;
  struct plait_writer writer = test_writer();
  if (plait_pattern_pack(schema, pattern, values, NULL, &writer, &error) == 0) {
    if (plait_pattern_unpack(schema, pattern, writer.at, plait_written(&writer), 100, again, NULL, &error) != 0)
      abort();
    for (uint32_t i = 0; i < pattern->slot_count; i++) {
      const struct plait_field *field = plait_schema_field(schema, plait_pattern_field(pattern, i));
      if (field->flags & (PLAIT_FIELD_REPEATED | PLAIT_FIELD_IMPLICIT) || field->oneof != PLAIT_SCHEMA_NONE) continue;
      if (values[i].present != again[i].present) abort();
      if (values[i].present && values[i].length != again[i].length) abort();
    }
  } else if (error.status != PLAIT_MESSAGE_PATTERN && error.status != PLAIT_MESSAGE_UTF8) {
    abort();
  }
  free(writer.start);
}

static struct plait_pattern *pattern_from(const struct plait_schema *schema, const char *text, size_t length) {
  struct plait_pattern *pattern = NULL;
  if (plait_pattern_build(schema, text, length, &allocator, &pattern, &error) != 0) pattern = NULL;
  return pattern;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
  static const char many[] = "t.Person name id email home home.city home.next.next.code by_number by_place.city "
                             "old.x old rate t.good scores phone tags set.t.item.city set.t.item.code";
#if defined(FUZZ_DESCRIPTOR)
  struct plait_schema *schema = NULL;
  if (plait_schema_build(bytes, size, size & 1 ? PLAIT_SCHEMA_FIRST_WINS : 0, &allocator, &schema, &error) == 0) {
    if (plait_schema_check(schema, schema->size) != 0) abort();
    if (schema->message_count != 0) {
      char text[600];
      const struct plait_message *message = plait_schema_message(schema, 0);
      size_t length = message->name_length > 500 ? 500 : message->name_length;
      memcpy(text, plait_schema_name(schema, message->name), length);
      length += (size_t)snprintf(text + length, 60, " a b c");
      struct plait_pattern *pattern = pattern_from(schema, text, length);
      if (pattern != NULL) round_trip(schema, pattern, bytes, size);
      test_resize(&memory, pattern, 0, 0);
    }
    test_resize(&memory, schema, 0, 0);
  }
#elif defined(FUZZ_PATTERN)
  struct plait_schema *schema = known_schema();
  struct plait_pattern *pattern = pattern_from(schema, (const char *)bytes, size);
  static const uint8_t sample[] = {
      0x0A, 2, 'A', 'l', 0x10, 5, 0x32, 10, 0x0A, 1, 'X', 0x1A, 5, 0x15, 5, 0, 0, 0, 0x42, 0};
  if (pattern != NULL) round_trip(schema, pattern, sample, sizeof sample);
  test_resize(&memory, pattern, 0, 0);
  (void)many;
#elif defined(FUZZ_UNPACK)
  static const char singular[] =
      "t.Person name id email home.city home.next.next.code by_number by_place.city old.x rate t.good set.t.item";
  static struct plait_pattern *pattern, *plain;
  struct plait_schema *schema = known_schema();
  if (pattern == NULL) pattern = pattern_from(schema, many, sizeof many - 1);
  if (plain == NULL) plain = pattern_from(schema, singular, sizeof singular - 1);
  memory.live = 0;
  if (pattern == NULL || plain == NULL) abort();
  round_trip(schema, pattern, bytes, size);
  round_trip(schema, plain, bytes, size);
#elif defined(FUZZ_IMAGE)
  const struct plait_schema *good = known_schema();
  struct plait_schema *schema = malloc(good->size);
  memcpy(schema, good, good->size);
  for (size_t i = 0; i + 2 < size; i += 3) {
    size_t at = (bytes[i] | (size_t)bytes[i + 1] << 8) % good->size;
    ((uint8_t *)schema)[at] = bytes[i + 2];
  }
  if (plait_schema_check(schema, good->size) == 0) {
    struct plait_pattern *pattern = pattern_from(schema, many, sizeof many - 1);
    if (pattern != NULL) round_trip(schema, pattern, bytes, size);
    test_resize(&memory, pattern, 0, 0);
  }
  free(schema);
#endif
  if (memory.live != 0) abort();
  return 0;
}
