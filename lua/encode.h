/*
 * encode: declarations shared by the files that turn tables into bytes: encode.c (messages), repeated.c (lists and
 * maps), lists.c (keys of lists) and proxies.c (tables with metatables).
 */
#ifndef PLAIT_LUA_ENCODE_H
#define PLAIT_LUA_ENCODE_H

#include "message.h"

#define ENCODE_SLOTS 18 /* of Lua's stack for each level, with the first four of them */

/* ---- encode.c ---- */
/* Writes the message at index, without its tag. top: the top of the stack, here and below. */
int encode_sub(struct call *call, const struct plait_field *field, int index, int top, uint32_t depth);
/* Writes a string's bytes and length. For pbc, numbers become strings. */
int encode_bytes(struct call *call, const struct plait_field *field, int index);
/* Writes one value without its tag. */
static inline int encode_value(struct call *call, const struct plait_field *field, int index, int top, uint32_t depth) {
  if (field->wire == PLAIT_WIRE_BYTES || field->wire == PLAIT_WIRE_START)
    return plait_kind_is_message(field->kind) ? encode_sub(call, field, index, top, depth)
                                              : encode_bytes(call, field, index);
  uint64_t bits;
  int status = to_bits(call, field, index, lua_type(call->L, index), &bits);
  return status < 0 ? status : plait_write_number(&call->writer, field->kind, bits);
}

/* ---- lists.c ---- */
/*
 * Whether the list at index has no other keys than 1 to count. Returns 0, or -LIST with the wrong key in the path. The
 * stack ends at top.
 */
int check_keys(struct call *call, int table, int count, int top);
/* Notes the first hole of a list. Returns -LIST. */
int list_hole(struct call *call, int table);

/* ---- proxies.c ---- */
enum shape { SHAPE_MESSAGE, SHAPE_MAP, SHAPE_LIST };
/* pbc: replaces the table at index by a copy that pairs() or ipairs() yields. Returns 0, or a negated status. */
int replace_proxy(struct call *call, int index, enum shape shape);

#endif
