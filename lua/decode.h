/*
 * decode: what the files that turn bytes into tables share: decode.c (messages), maps.c (their entries) and parts.c
 * (what comes in parts).
 */
#ifndef PLAIT_LUA_DECODE_H
#define PLAIT_LUA_DECODE_H

#include "message.h"

#define DECODE_SLOTS 16 /* of Lua's stack for each level */

/* One occurrence of a message. Its table is the stack's top, or one below it while a list goes on. */
struct frame {
  const struct plait_message *message;
  const struct plait_field *fields;
  int table; /* stack index */
  int fresh; /* the table had nothing before this occurrence */
  int reuse; /* it had, and what is not seen now must go */
  int whole; /* there will be no other occurrence of it */
  uint64_t seen;
  uint32_t count; /* keys put in, for the next table's size */
  uint32_t depth;
  /* the repeated field that goes on; its list is at table + 1 */
  const struct plait_field *list;
  int length, old_length;
  int unknown; /* it has unknown fields */
  /* of a large oneof (oneofs.c): */
  const struct plait_field *member; /* the one that is there, of the oneof that came last; NULL: none came */
  int known;                        /* the call's table tells of this table's others */
};

/* ---- decode.c ---- */
/* How a message meets its table: a new one, one that the user has given, or that of an occurrence before. */
enum occurrence { FRESH, REUSED, ANOTHER, ELEMENT, REUSED_ELEMENT };
/*
 * Decodes a message, from behind its tag or length, into the table on top of the stack (at index table). group: the
 * number of its field, or 0 if a length tells where it ends. depth: how deep the message may nest. *next is the place
 * behind it.
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
/* A member of a oneof has been put into the frame's table: those before it go. */
void oneof_set(struct call *call, struct frame *frame, const struct plait_field *field);
/* Keeps what the frame knows of its member for the next occurrence. */
void oneof_remember(struct call *call, struct frame *frame);

/* ---- parts.c ---- */
/* Makes the call's table of what the message's tables have beside their fields, if there is none yet. */
void need_parts(struct call *call);
/* Adds an unknown field to the frame's table. */
void unknown_add(struct call *call, struct frame *frame, const uint8_t *bytes, size_t length);
/* A number that a closed enum does not name, in the form of an unknown field of its own. */
void unknown_enum(struct call *call, struct frame *frame, const struct plait_field *field, uint64_t bits);
/* The frame's unknown fields are all there. */
void unknown_finish(struct call *call, struct frame *frame);
/* pbc: pushes {type name, bytes} with a metatable that decodes at the first touch. */
void push_lazy(struct call *call, const struct plait_field *field, const uint8_t *at, size_t length);
/* pbc: adds to the bytes of the message on top, whose second occurrence has come. */
void lazy_append(struct call *call, const uint8_t *at, size_t length);
/* All parts of this call are there: they become strings. */
void finish_parts(struct call *call);

#endif
