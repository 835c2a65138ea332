/*
 * decode: declarations shared by the files that turn bytes into tables: decode.c (messages), maps.c (map entries),
 * oneofs.c and parts.c (values in several parts).
 */
#ifndef PLAIT_LUA_DECODE_H
#define PLAIT_LUA_DECODE_H

#include "message.h"

#define DECODE_SLOTS 16 /* of Lua's stack for each level */

/* One occurrence of a message. Its table is the stack's top, or one below it while a list is open. */
struct frame {
  const struct plait_message *message;
  const struct plait_field *fields;
  int table; /* stack index */
  int fresh; /* the table had nothing before this occurrence */
  int reuse; /* the table had fields before, and those not seen now must be removed */
  int whole; /* the message cannot occur again */
  uint64_t seen;
  uint32_t count; /* keys put in, for the next table's size */
  uint32_t depth;
  /* the repeated field whose list is open, at table + 1 */
  const struct plait_field *list;
  int length, old_length;
  int unknown; /* it has unknown fields */
  /* of a large oneof (oneofs.c): */
  const struct plait_field *member; /* the present member of the oneof that was read last; NULL: none was read */
  int known;                        /* the call's table of parts has the members of this table's other oneofs */
};

/* ---- decode.c ---- */
/* The table of a message: a new one, one that the user has given, or that of an earlier occurrence. */
enum occurrence { FRESH, REUSED, ANOTHER, ELEMENT, REUSED_ELEMENT };
/*
 * Decodes a message, from after its tag or length, into the table on top of the stack (at index table). group: the
 * number of its field, or 0 if it has a length. depth: how deep the message may nest. *next is the address after it.
 */
int decode_occurrence(struct call *call, uint32_t message, const uint8_t *at, const uint8_t *end, uint32_t group,
    int table, enum occurrence occurrence, uint32_t depth, const uint8_t **next);

/* Whether a value is a number that the field's closed enum does not name. */
static inline int is_closed_out(struct call *call, const struct plait_field *field, uint64_t bits) {
  return field->flags & PLAIT_FIELD_CLOSED &&
      plait_enum_find_number(call->schema, plait_schema_enum(call->schema, field->type), (int32_t)bits) == NULL;
}

static inline void push_table_for(struct call *call, uint32_t message) {
  lua_createtable(call->L, 0, call->box->hints[message]);
}

/* ---- oneofs.c ---- */
/* Removes the earlier members of a oneof from the frame's table, after another one was put there. */
void oneof_set(struct call *call, struct frame *frame, const struct plait_field *field);
/* Saves the frame's member for the next occurrence. */
void oneof_remember(struct call *call, struct frame *frame);

/* ---- parts.c ---- */
/* Creates the call's table of parts, if there is none yet. */
void need_parts(struct call *call);
/* Adds an unknown field to the frame's table. */
void unknown_add(struct call *call, struct frame *frame, const uint8_t *bytes, size_t length);
/* Adds a number that a closed enum does not name, as an unknown field of its own. */
void unknown_enum(struct call *call, struct frame *frame, const struct plait_field *field, uint64_t bits);
/* Completes the frame's unknown fields. */
void unknown_finish(struct call *call, struct frame *frame);
/* pbc: pushes {type name, bytes} with a metatable that decodes at the first touch. */
void push_lazy(struct call *call, const struct plait_field *field, const uint8_t *at, size_t length);
/* pbc: appends another occurrence to the bytes of the message on top. */
void lazy_append(struct call *call, const uint8_t *at, size_t length);
/* Turns all parts of this call into strings. */
void finish_parts(struct call *call);

#endif
