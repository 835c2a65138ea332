/*
 * descriptor: the descriptor records, an intermediate form between a FileDescriptorSet and an image. Private to this
 * module.
 *
 * descriptor.c parses bytes into descriptor records. resolve.c resolves names to types, and sets the flags of fields.
 * freeze.c lays the image out. All descriptor records lie in one arena, and names point into the caller's bytes or into
 * the arena. The arena is freed as a whole, also after an error.
 */
#ifndef PLAIT_MESSAGE_DESCRIPTOR_H
#define PLAIT_MESSAGE_DESCRIPTOR_H

#include "schema.h"

struct plait__span {
  const char *data;
  uint32_t length;
};

/* FeatureSet's values; 0: not set here. */
struct plait__features {
  uint8_t presence; /* 1 explicit, 2 implicit, 3 required */
  uint8_t enums;    /* 1 open, 2 closed */
  uint8_t packing;  /* 1 packed, 2 expanded */
  uint8_t utf8;     /* 2 verify, 3 none */
  uint8_t encoding; /* 1 length-prefixed, 2 delimited */
};

struct plait__value {
  struct plait__value *next;
  struct plait__span name;
  int32_t number;
  uint32_t order;
};

struct plait__enum {
  struct plait__enum *next; /* of all */
  struct plait__span name;  /* full */
  struct plait__value *values;
  struct plait__features features;
  uint32_t index, value_count;
  int32_t first_number;
};

struct plait__oneof {
  struct plait__oneof *next; /* of the message */
  struct plait__span name;
  struct plait__features features;
  uint32_t index;   /* in the image */
  uint32_t members; /* number of fields in it; 0 if it is synthetic, for an `optional` of proto3 */
  uint32_t filled;
};

struct plait__field {
  struct plait__field *next; /* of its message; of all extensions until they are resolved */
  struct plait__span name;   /* an extension's is full */
  struct plait__span type_name, extendee, default_text;
  struct plait__span scope; /* in which names are looked up */
  struct plait__features features;
  struct plait__oneof *oneof;
  int64_t number, oneof_declared; /* -1: none */
  uint32_t label, kind, type, flags;
  uint8_t has_default, has_packed, packed, proto3_optional, extension;
  uint64_t default_bits;
  uint32_t default_length;
};

struct plait__message {
  struct plait__message *next; /* of all */
  struct plait__span name;     /* full */
  struct plait__field *fields;
  struct plait__oneof *oneofs;
  struct plait__features features;
  uint32_t index, field_count, oneof_count, flags;
};

struct plait__file {
  struct plait__span name, bytes; /* bytes.data NULL: an empty slot */
};

struct plait__chunk {
  struct plait__chunk *next;
  size_t size, used;
};

/* A hash table of messages and enums by full name, used while the image is built. */
struct plait__type {
  uint32_t hash;
  struct plait__message *message; /* one of the two, or both NULL: an empty slot */
  struct plait__enum *enumeration;
};

struct plait__build {
  const struct plait_allocator *allocator;
  struct plait_message_error *error;
  struct plait__chunk *chunks;
  struct plait__file *files; /* a hash table by name */
  struct plait__message *messages, **messages_end;
  struct plait__enum *enums, **enums_end;
  struct plait__field *extensions, **extensions_end;
  struct plait__type *types;
  uint32_t type_mask, file_mask, flags;
  uint32_t message_count, enum_count, field_count, value_count, oneof_count, member_count;
  uint64_t name_bytes;
  /* Counts names compared, slots visited and bytes hashed: a test checks that the sum is proportional to the input. */
  uint64_t work;
  const uint8_t *start; /* of the input: offsets in errors count from here */
};

/* Initializes `build` for the input `bytes`. All memory allocated until plait__build_end() belongs to one arena. */
void plait__build_begin(struct plait__build *build, const uint8_t *bytes, uint32_t flags,
    const struct plait_allocator *allocator, struct plait_message_error *error);
void plait__build_end(struct plait__build *build);

/* Allocates zeroed memory from the arena. NULL: out of memory, and the error is set. */
void *plait__build_alloc(struct plait__build *build, size_t size);

/* Sets the error: "name: text" and returns -SCHEMA. `name` may be empty. */
int plait__build_fail(struct plait__build *build, struct plait__span name, const char *text);
int plait__build_fail_about(
    struct plait__build *build, struct plait__span name, const char *text, struct plait__span about);

int plait__descriptor_read(struct plait__build *build, const uint8_t *bytes, size_t size);
int plait__build_resolve(struct plait__build *build);
int plait__build_freeze(struct plait__build *build, struct plait_schema **image);

static inline int plait__span_equal(struct plait__span a, struct plait__span b) {
  return a.length == b.length && (a.length == 0 || __builtin_memcmp(a.data, b.data, a.length) == 0);
}

#define PLAIT__COLLISION "one name too often, or names that were made to collide: "

#endif
