/*
 * schema: the description of message types as one frozen image.
 *
 * An image is one block of bytes. References inside it are indexes, or distances from the image's start. It has no
 * pointers and is immutable. So it can lie in a space, a mapping, a file or a Lua userdata, and can be moved. Any
 * number of threads, processes and Lua states can read it at once, without a lock or a copy.
 *
 *     header · messages · fields · enums · values · oneofs · members · dense tables · hash tables · names
 *
 * The fields of a message lie together, ordered by number. Extensions lie among them, named by their full name. Both
 * directions use this order: a writer walks it backwards (see wire.h), and a reader expects the next field.
 *
 * Invariant: every image that plait_schema_build() made passes plait_schema_check(). An image from elsewhere must pass
 * it before use.
 *
 * Any thread may call all functions.
 */
#ifndef PLAIT_MESSAGE_SCHEMA_H
#define PLAIT_MESSAGE_SCHEMA_H

#include "status.h"

#define PLAIT_SCHEMA_MAGIC 0x31424C50u /* "PLB1": changes with the layout */
#define PLAIT_SCHEMA_NONE 0xFFFFFFFFu
#define PLAIT_FIELD_NUMBER_LIMIT 536870911u
#define PLAIT_DEPTH_USUAL 100  /* how deep messages may be nested by default */
#define PLAIT_NAME_LIMIT 1024u /* bytes of a full name */
/*
 * The maximum distance of a name from its hash's slot in a hash table, and so the maximum length of a search. Ordinary
 * names in a half-full table stay far below. Building an image refuses names that were chosen to collide.
 */
#define PLAIT_SCHEMA_PROBE_LIMIT 256u

/* The numbers of FieldDescriptorProto.Type. */
enum plait_kind {
  PLAIT_KIND_DOUBLE = 1,
  PLAIT_KIND_FLOAT = 2,
  PLAIT_KIND_INT64 = 3,
  PLAIT_KIND_UINT64 = 4,
  PLAIT_KIND_INT32 = 5,
  PLAIT_KIND_FIXED64 = 6,
  PLAIT_KIND_FIXED32 = 7,
  PLAIT_KIND_BOOL = 8,
  PLAIT_KIND_STRING = 9,
  PLAIT_KIND_GROUP = 10,
  PLAIT_KIND_MESSAGE = 11,
  PLAIT_KIND_BYTES = 12,
  PLAIT_KIND_UINT32 = 13,
  PLAIT_KIND_ENUM = 14,
  PLAIT_KIND_SFIXED32 = 15,
  PLAIT_KIND_SFIXED64 = 16,
  PLAIT_KIND_SINT32 = 17,
  PLAIT_KIND_SINT64 = 18,
};

enum plait_wire { PLAIT_WIRE_VARINT, PLAIT_WIRE_64, PLAIT_WIRE_BYTES, PLAIT_WIRE_START, PLAIT_WIRE_END, PLAIT_WIRE_32 };

enum plait_field_flag {
  PLAIT_FIELD_REPEATED = 1, /* maps too */
  PLAIT_FIELD_PACKABLE = 2, /* repeated, of numbers: both forms are read */
  PLAIT_FIELD_PACKED = 4,   /* ... and the packed one is written */
  PLAIT_FIELD_MAP = 8,
  PLAIT_FIELD_REQUIRED = 16,
  PLAIT_FIELD_IMPLICIT = 32, /* no presence: zero is not written */
  PLAIT_FIELD_UTF8 = 64,     /* the bytes must be UTF-8 */
  PLAIT_FIELD_EXTENSION = 128,
  PLAIT_FIELD_CLOSED = 256,  /* numbers that the enum does not name are unknown fields */
  PLAIT_FIELD_DEFAULT = 512, /* the schema gives a default */
};

enum plait_message_flag { PLAIT_TYPE_MAP_ENTRY = 1, PLAIT_TYPE_MESSAGE_SET = 2, PLAIT_TYPE_REQUIRED = 4 /* has any */ };

struct plait_field {
  uint32_t tag;   /* as it is written: number << 3 | wire type */
  uint8_t kind;   /* enum plait_kind; GROUP: any message with delimited encoding */
  uint8_t wire;   /* wire type of one element */
  uint16_t flags; /* enum plait_field_flag */
  uint32_t name;  /* distance of the name from the image's start; a zero byte follows it */
  uint32_t name_length;
  uint32_t message;        /* index of the message that has it */
  uint32_t type;           /* index of its message or enum, or PLAIT_SCHEMA_NONE */
  uint32_t oneof;          /* index of its oneof, or PLAIT_SCHEMA_NONE */
  uint32_t default_length; /* STRING, BYTES */
  /* integers and enums: the value, sign-extended; FLOAT, DOUBLE: a double; STRING, BYTES: distance */
  uint64_t default_bits;
};
_Static_assert(sizeof(struct plait_field) == 40, "40 bytes a field");

struct plait_message {
  uint32_t name, name_length; /* full, without a leading dot */
  uint32_t first_field, field_count;
  uint32_t dense, dense_count; /* distance of uint16_t[dense_count]: number -> position + 1, 0: none; 8-byte aligned */
  uint32_t first_oneof, oneof_count;
  uint32_t flags; /* enum plait_message_flag */
  uint32_t reserved;
};

struct plait_enum {
  uint32_t name, name_length;
  uint32_t first_value, value_count; /* ordered by number; of one number the first declared comes first */
  uint32_t closed;
  int32_t first_number; /* of the value that is declared first: the default */
};

struct plait_enum_value {
  int32_t number;
  uint32_t name, name_length;
};

struct plait_oneof {
  uint32_t name, name_length;
  uint32_t first_member, member_count; /* in the members: indexes of fields */
};

struct plait_schema {
  uint32_t magic, size;
  uint32_t message_count, field_count, enum_count, value_count, oneof_count, member_count;
  uint32_t messages, fields, enums, values, oneofs, members; /* distances of the arrays */
  uint32_t type_slots, type_mask;   /* hash of full names: 0 empty, else 1 + (index * 2 + is an enum) */
  uint32_t field_slots, field_mask; /* hash of (message, name): 0 empty, else 1 + index */
  uint32_t value_slots, value_mask; /* hash of (enum, name): the same */
};

static inline const void *plait__schema_at(const struct plait_schema *schema, uint32_t distance) {
  return (const uint8_t *)schema + distance;
}
static inline const struct plait_message *plait_schema_message(const struct plait_schema *schema, uint32_t index) {
  return (const struct plait_message *)plait__schema_at(schema, schema->messages) + index;
}
static inline const struct plait_field *plait_schema_field(const struct plait_schema *schema, uint32_t index) {
  return (const struct plait_field *)plait__schema_at(schema, schema->fields) + index;
}
static inline const struct plait_enum *plait_schema_enum(const struct plait_schema *schema, uint32_t index) {
  return (const struct plait_enum *)plait__schema_at(schema, schema->enums) + index;
}
static inline const struct plait_enum_value *plait_schema_value(const struct plait_schema *schema, uint32_t index) {
  return (const struct plait_enum_value *)plait__schema_at(schema, schema->values) + index;
}
static inline const struct plait_oneof *plait_schema_oneof(const struct plait_schema *schema, uint32_t index) {
  return (const struct plait_oneof *)plait__schema_at(schema, schema->oneofs) + index;
}
static inline uint32_t plait_schema_member(const struct plait_schema *schema, uint32_t index) {
  return ((const uint32_t *)plait__schema_at(schema, schema->members))[index];
}
static inline const char *plait_schema_name(const struct plait_schema *schema, uint32_t name) {
  return (const char *)plait__schema_at(schema, name);
}
static inline uint32_t plait_schema_field_index(const struct plait_schema *schema, const struct plait_field *field) {
  return (uint32_t)(field - plait_schema_field(schema, 0));
}
static inline const struct plait_field *plait_message_fields(
    const struct plait_schema *schema, const struct plait_message *message) {
  return plait_schema_field(schema, message->first_field);
}
static inline int plait_kind_is_message(uint32_t kind) {
  return kind == PLAIT_KIND_MESSAGE || kind == PLAIT_KIND_GROUP;
}
/* Whether a field of the message is written as an item of a MessageSet. */
static inline int plait_field_is_set_item(const struct plait_message *message, const struct plait_field *field) {
  return message->flags & PLAIT_TYPE_MESSAGE_SET && field->kind == PLAIT_KIND_MESSAGE &&
      !(field->flags & PLAIT_FIELD_REPEATED);
}

enum {
  PLAIT_SCHEMA_FIRST_WINS = 1, /* a file whose name came before is skipped, even if it differs; else that is an error */
};

/*
 * Builds an image from the bytes of a FileDescriptorSet. Files may come in any order, and several sets may be
 * concatenated. *image is one block of `allocator`, image->size long, 8-byte aligned; the caller frees it. Returns 0,
 * or -SCHEMA, -MEMORY or an error of malformed bytes. After an error nothing is left allocated.
 */
int plait_schema_build(const uint8_t *bytes, size_t size, uint32_t flags, const struct plait_allocator *allocator,
    struct plait_schema **image, struct plait_message_error *error);

/* Whether `size` bytes are an image that every function here can use safely. pre: aligned to 8 bytes. */
int plait_schema_check(const void *image, size_t size);

/* Finds by name: the index, or PLAIT_SCHEMA_NONE. A leading dot of a type's name is ignored. */
uint32_t plait_schema_find_message(const struct plait_schema *schema, const char *name, size_t length);
uint32_t plait_schema_find_enum(const struct plait_schema *schema, const char *name, size_t length);
uint32_t plait_schema_find_field(const struct plait_schema *schema, uint32_t message, const char *name, size_t length);
uint32_t plait_schema_find_value(
    const struct plait_schema *schema, uint32_t enumeration, const char *name, size_t length);

/* The first declared value with this number, or NULL. */
const struct plait_enum_value *plait_enum_find_number(
    const struct plait_schema *schema, const struct plait_enum *enumeration, int32_t number);

/* The field with this number beyond the dense table, or NULL. */
const struct plait_field *plait__message_search(
    const struct plait_schema *schema, const struct plait_message *message, uint32_t number);

/* The field with this number, or NULL. */
static inline const struct plait_field *plait_message_find_number(
    const struct plait_schema *schema, const struct plait_message *message, uint32_t number) {
  if (number < message->dense_count) {
    uint32_t position = ((const uint16_t *)plait__schema_at(schema, message->dense))[number];
    return position == 0 ? NULL : plait_message_fields(schema, message) + (position - 1);
  }
  return plait__message_search(schema, message, number);
}

/*
 * The hash of a name among those of an owner (a message, an enum; 0 for types). In parts: begin, add any number of
 * times, end.
 */
static inline uint32_t plait__schema_hash_begin(uint32_t owner) {
  return 2166136261u ^ owner * 2654435761u;
}
static inline uint32_t plait__schema_hash_add(uint32_t hash, const char *name, size_t length) {
  for (size_t i = 0; i < length; i++) hash = (hash ^ (uint8_t)name[i]) * 16777619u;
  return hash;
}
static inline uint32_t plait__schema_hash_end(uint32_t hash) {
  return hash ^ hash >> 15;
}
uint32_t plait__schema_hash(uint32_t owner, const char *name, size_t length);

#endif
