/*
 * message_schema: descriptors made by hand for native tests, and a writer over plain malloc.
 *
 *     package t;
 *     message Person { required string name = 1; required int32 id = 2; optional string email = 3 [default = "a\tb"];
 *                      repeated Phone phone = 4; repeated sint32 scores = 5 [packed = true]; optional Address home = 6;
 *                      oneof way { int64 by_number = 7; Address by_place = 8; }
 *                      optional group Old = 9 { optional int32 x = 1; } map<string, int32> tags = 10;
 *                      optional double rate = 11 [default = -1.5e-3]; extensions 100 to 199; }
 *     message Phone { required string number = 1; optional Kind kind = 2 [default = HOME]; }
 *     enum Kind { MOBILE = 0; HOME = 1; FAR = -7; }
 *     message Address { optional string city = 1; optional fixed32 code = 2; optional Address next = 3; }
 *     extend Person { optional bool good = 100; }
 *     message Set { option message_set_wire_format = true; extensions 4 to max; }
 *     extend Set { optional Address item = 5; }
 *     and in Person: optional Set set = 12;
 */
#ifndef PLAIT_TEST_MESSAGE_SCHEMA_H
#define PLAIT_TEST_MESSAGE_SCHEMA_H

#include "../message/pattern.h"
#include "harness.h"

struct test_memory {
  int64_t allowed; /* how many more allocations succeed; negative: all */
  int64_t live;
};

static inline void *test_resize(void *context, void *block, size_t old_size, size_t new_size) {
  struct test_memory *memory = context;
  (void)old_size;
  if (new_size == 0) {
    if (block != NULL) memory->live--;
    free(block);
    return NULL;
  }
  if (memory->allowed == 0) return NULL;
  if (memory->allowed > 0) memory->allowed--;
  void *made = realloc(block, new_size);
  if (block == NULL && made != NULL) memory->live++;
  return made;
}

static inline int test_writer_grow(struct plait_writer *writer, size_t need) {
  size_t used = plait_written(writer), size = (used + need) * 2 + 64;
  uint8_t *block = malloc(size);
  if (block == NULL) return -PLAIT_MESSAGE_MEMORY;
  if (used != 0) memcpy(block + size - used, writer->at, used);
  free(writer->start);
  writer->start = block;
  writer->end = block + size;
  writer->at = writer->end - used;
  return 0;
}

static inline struct plait_writer test_writer(void) {
  uint8_t *block = malloc(16);
  return (struct plait_writer){.start = block, .at = block + 16, .end = block + 16, .grow = test_writer_grow};
}

static inline void put_number(struct plait_writer *writer, uint32_t field, uint64_t value) {
  plait_write_varint(writer, value);
  plait_write_varint(writer, field << 3);
}
static inline void put_text(struct plait_writer *writer, uint32_t field, const char *text) {
  plait_write_raw(writer, text, strlen(text));
  plait_write_varint(writer, strlen(text));
  plait_write_varint(writer, field << 3 | 2);
}
/* Turns all bytes written since `mark` into a message. */
static inline void put_message(struct plait_writer *writer, uint32_t field, size_t mark) {
  plait_write_varint(writer, plait_written(writer) - mark);
  plait_write_varint(writer, field << 3 | 2);
}

struct test_field {
  const char *name;
  uint32_t number, label, kind;
  const char *type, *text;
  int packed, oneof;
};

static inline void put_field_descriptor(
    struct plait_writer *writer, uint32_t at, const struct test_field *field, const char *extendee) {
  size_t mark = plait_written(writer);
  if (field->oneof) put_number(writer, 9, 0);
  if (field->packed) {
    size_t inner = plait_written(writer);
    put_number(writer, 2, 1);
    put_message(writer, 8, inner);
  }
  if (field->text != NULL) put_text(writer, 7, field->text);
  if (field->type != NULL) put_text(writer, 6, field->type);
  put_number(writer, 5, field->kind);
  put_number(writer, 4, field->label);
  put_number(writer, 3, field->number);
  if (extendee != NULL) put_text(writer, 2, extendee);
  put_text(writer, 1, field->name);
  put_message(writer, at, mark);
}

static inline void put_fields(struct plait_writer *writer, const struct test_field *fields, size_t count) {
  while (count-- > 0) put_field_descriptor(writer, 2, &fields[count], NULL);
}

static inline struct plait_writer test_descriptor(void) {
  static const struct test_field person[] = {
      {"name", 1, 2, 9, NULL, NULL, 0, 0},
      {"id", 2, 2, 5, NULL, NULL, 0, 0},
      {"email", 3, 1, 9, NULL, "a\tb", 0, 0},
      {"phone", 4, 3, 11, ".t.Phone", NULL, 0, 0},
      {"scores", 5, 3, 17, NULL, NULL, 1, 0},
      {"home", 6, 1, 11, "Address", NULL, 0, 0},
      {"by_number", 7, 1, 3, NULL, NULL, 0, 1},
      {"by_place", 8, 1, 11, "t.Address", NULL, 0, 1},
      {"old", 9, 1, 10, "Old", NULL, 0, 0},
      {"tags", 10, 3, 11, ".t.Person.TagsEntry", NULL, 0, 0},
      {"rate", 11, 1, 1, NULL, "-1.5e-3", 0, 0},
      {"set", 12, 1, 11, "Set", NULL, 0, 0},
  };
  static const struct test_field phone[] = {
      {"number", 1, 2, 9, NULL, NULL, 0, 0}, {"kind", 2, 1, 14, "Kind", "HOME", 0, 0}};
  static const struct test_field address[] = {{"city", 1, 1, 9, NULL, NULL, 0, 0}, {"code", 2, 1, 7, NULL, NULL, 0, 0},
      {"next", 3, 1, 11, "Address", NULL, 0, 0}};
  static const struct test_field old[] = {{"x", 1, 1, 5, NULL, NULL, 0, 0}};
  static const struct test_field entry[] = {{"key", 1, 1, 9, NULL, NULL, 0, 0}, {"value", 2, 1, 5, NULL, NULL, 0, 0}};
  static const struct test_field good = {"good", 100, 1, 8, NULL, NULL, 0, 0},
                                 item = {"item", 5, 1, 11, "Address", NULL, 0, 0};
  static const struct {
    const char *name;
    int32_t number;
  } values[] = {{"MOBILE", 0}, {"HOME", 1}, {"FAR", -7}};
  struct plait_writer writer = test_writer();
  put_field_descriptor(&writer, 7, &good, "Person");
  put_field_descriptor(&writer, 7, &item, "Set");
  size_t file = 0, mark = plait_written(&writer), options = mark;
  put_number(&writer, 1, 1);
  put_message(&writer, 7, options);
  put_text(&writer, 1, "Set");
  put_message(&writer, 4, mark);
  mark = plait_written(&writer);
  for (int i = 3; i-- > 0;) {
    size_t inner = plait_written(&writer);
    put_number(&writer, 2, (uint64_t)(int64_t)values[i].number);
    put_text(&writer, 1, values[i].name);
    put_message(&writer, 2, inner);
  }
  put_text(&writer, 1, "Kind");
  put_message(&writer, 5, mark);
  mark = plait_written(&writer);
  put_fields(&writer, address, 3);
  put_text(&writer, 1, "Address");
  put_message(&writer, 4, mark);
  mark = plait_written(&writer);
  put_fields(&writer, phone, 2);
  put_text(&writer, 1, "Phone");
  put_message(&writer, 4, mark);
  mark = plait_written(&writer);
  size_t inner = plait_written(&writer);
  put_text(&writer, 1, "way");
  put_message(&writer, 8, inner);
  inner = plait_written(&writer);
  put_number(&writer, 7, 1);
  put_message(&writer, 7, inner);
  put_fields(&writer, entry, 2);
  put_text(&writer, 1, "TagsEntry");
  put_message(&writer, 3, inner);
  inner = plait_written(&writer);
  put_fields(&writer, old, 1);
  put_text(&writer, 1, "Old");
  put_message(&writer, 3, inner);
  put_fields(&writer, person, sizeof person / sizeof *person);
  put_text(&writer, 1, "Person");
  put_message(&writer, 4, mark);
  put_text(&writer, 2, "t");
  put_text(&writer, 1, "t.proto");
  put_message(&writer, 1, file);
  return writer;
}

#endif
