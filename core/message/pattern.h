/*
 * pattern: flat access. A pattern is a list of field names of one message type, nested names allowed: "tutorial.Person
 * name id home.city". Packing takes one value for each name, and unpacking returns one. No intermediate object is
 * created. Only a growing writer allocates memory.
 *
 * A pattern is one block without pointers, like a schema: it can be moved, shared, and put into a space. It is valid
 * only with the schema that it was made for.
 *
 * Any thread may call all functions.
 */
#ifndef PLAIT_MESSAGE_PATTERN_H
#define PLAIT_MESSAGE_PATTERN_H

#include "schema.h"
#include "wire.h"

#define PLAIT_PATTERN_SLOT_LIMIT 200u

/* One value. 16 bytes in every language. */
struct plait_value {
  union {
    uint64_t bits; /* integers, enums, bool: extended by their sign; FLOAT and DOUBLE: a double */
    int64_t integer;
    double number;
    const uint8_t *data; /* STRING, BYTES, messages: encoded */
  };
  uint32_t length;  /* of data */
  uint32_t present; /* 0: absent. Repeated fields, packing: not 0 if `elements` is to be asked */
};

/* One name: the action of a node for a field. Ordered by number within the node. */
struct plait_pattern_step {
  uint32_t tag;   /* the field's */
  uint32_t field; /* its index in the schema */
  uint16_t slot;  /* where its value goes; PLAIT_PATTERN_NO: nowhere */
  uint16_t child; /* node for what lies inside; PLAIT_PATTERN_NO: none */
  uint8_t kind;
  uint8_t wire;
  uint16_t flags;
};

#define PLAIT_PATTERN_NO 0xFFFFu
#define PLAIT_PATTERN_SET_ITEM 0x8000u /* among a step's flags: the field is written as an item of a MessageSet */

struct plait_pattern_node {
  uint32_t message;
  uint16_t first_step, step_count;
  uint16_t oneofs; /* whether a step's field is in a oneof */
  uint16_t set;    /* whether the message is a MessageSet */
};

struct plait_pattern {
  uint32_t size;
  uint16_t slot_count, node_count, step_count, copy_count;
  /* distances. slots: uint32_t field of each slot. copies: pairs of uint16_t, from and to */
  uint32_t nodes, steps, slots, copies;
  uint32_t both; /* a name and what lies inside it: only for reading */
};

static inline const struct plait_pattern_step *plait_pattern_steps(const struct plait_pattern *pattern) {
  return (const struct plait_pattern_step *)((const uint8_t *)pattern + pattern->steps);
}
static inline const struct plait_pattern_node *plait_pattern_nodes(const struct plait_pattern *pattern) {
  return (const struct plait_pattern_node *)((const uint8_t *)pattern + pattern->nodes);
}
/* The field whose value is in a slot. */
static inline uint32_t plait_pattern_field(const struct plait_pattern *pattern, uint32_t slot) {
  return ((const uint32_t *)((const uint8_t *)pattern + pattern->slots))[slot];
}

/*
 * Makes a pattern from "Type name name.inner ..."; words are separated by blanks or commas. *pattern is one block of
 * `allocator`, pattern->size long. 0, -NAME, -PATTERN or -MEMORY; error->text names the word.
 */
int plait_pattern_build(const struct plait_schema *schema, const char *text, size_t length,
    const struct plait_allocator *allocator, struct plait_pattern **pattern, struct plait_message_error *error);

/* The caller's functions for the elements of repeated fields and maps, which do not fit into a slot. */
struct plait_pattern_elements {
  /* Unpacking: takes one element; the entry of a map is a message. Returns 0, or a negated status that ends it all. */
  int (*take)(void *context, uint32_t slot, const struct plait_field *field, const struct plait_value *value);
  /*
   * Unpacking: joins two occurrences of a singular message; *value becomes their concatenation. Returns 0, or a negated
   * status. NULL: the last occurrence counts.
   */
  int (*join)(void *context, uint32_t slot, const struct plait_value *before, struct plait_value *value);
  void *context;
  /* Packing: writes all elements with their tags, the last one first. Returns 0, or a negated status. */
  int (*give)(void *context, uint32_t slot, const struct plait_field *field, struct plait_writer *writer);
  /* Packing: 1: all given members of a oneof are written, and a reader takes the last; 0: several are an error. */
  int all_members;
};

/*
 * Reads the pattern's fields into values[0 .. slot_count - 1]; `present` of absent ones is 0. `data` points into
 * `bytes`. Without `elements`, repeated fields are skipped. depth: how deep messages may be nested, usually
 * PLAIT_DEPTH_USUAL.
 */
int plait_pattern_unpack(const struct plait_schema *schema, const struct plait_pattern *pattern, const uint8_t *bytes,
    size_t size, uint32_t depth, struct plait_value *values, const struct plait_pattern_elements *elements,
    struct plait_message_error *error);

/*
 * Writes one message in front of the writer's bytes. Numbers are not checked, but cut to the field's size. Strings of
 * fields that require UTF-8 are checked.
 */
int plait_pattern_pack(const struct plait_schema *schema, const struct plait_pattern *pattern,
    const struct plait_value *values, const struct plait_pattern_elements *elements, struct plait_writer *writer,
    struct plait_message_error *error);

#endif
