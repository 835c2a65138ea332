/*
 * oneofs: while a message is decoded, the last member of a oneof replaces earlier ones.
 *
 * The members of a small oneof are checked one by one. For a large oneof, the frame remembers the present member, so
 * that the cost does not grow with the number of members. For several oneofs, and for further occurrences of the
 * message, the call's table of parts (parts.c) holds them under the message's table: [oneof index + 1] = field index +
 * 1.
 */
#include "decode.h"

#define FEW_MEMBERS 8

static void remove_member(struct call *call, struct frame *frame, const struct plait_field *member) {
  size_t position = (size_t)(member - frame->fields);
  push_field_key(call, member);
  lua_pushnil(call->L);
  lua_rawset(call->L, frame->table);
  if (position < 64) frame->seen &= ~(1ull << position);
}

static int is_large(const struct call *call, uint32_t oneof) {
  return oneof != PLAIT_SCHEMA_NONE && plait_schema_oneof(call->schema, oneof)->member_count > FEW_MEMBERS;
}

/*
 * For a table that earlier occurrences have filled: adds its members of large oneofs, except the one just read, to the
 * table on top.
 */
static void find_members(struct call *call, const struct frame *frame, const struct plait_field *but) {
  lua_State *L = call->L;
  int found = lua_gettop(L);
  uint32_t index = (uint32_t)(frame->message - plait_schema_message(call->schema, 0));
  struct name_guess *guess = names_begin(call->box, index);
  for (lua_pushnil(L); lua_next(L, frame->table) != 0; lua_pop(L, 1)) {
    const struct plait_field *field = names_find(call->box, index, L, found + 1, &guess);
    if (field == NULL || field == but || !is_large(call, field->oneof)) continue;
    lua_pushinteger(L, (lua_Integer)plait_schema_field_index(call->schema, field) + 1);
    lua_rawseti(L, found, (int)field->oneof + 1);
  }
}

/* Pushes the members noted for the frame's table, and creates that note if needed. */
static void push_known(struct call *call, struct frame *frame, const struct plait_field *but) {
  lua_State *L = call->L;
  need_parts(call);
  lua_pushvalue(L, frame->table);
  lua_rawget(L, call->source);
  if (lua_isnil(L, -1)) {
    lua_pop(L, 1);
    lua_newtable(L);
    if (!frame->fresh && !frame->reuse) find_members(call, frame, but);
    lua_pushvalue(L, frame->table);
    lua_pushvalue(L, -2);
    lua_rawset(L, call->source);
  }
  frame->known = 1;
}

PLAIT_COLD void oneof_remember(struct call *call, struct frame *frame) {
  lua_State *L = call->L;
  push_known(call, frame, NULL);
  lua_pushinteger(L, (lua_Integer)plait_schema_field_index(call->schema, frame->member) + 1);
  lua_rawseti(L, -2, (int)frame->member->oneof + 1);
  lua_pop(L, 1);
}

/* Sets the frame's member to the present member of this field's oneof, if any. */
static void recall(struct call *call, struct frame *frame, const struct plait_field *field) {
  lua_State *L = call->L;
  if (frame->member != NULL) oneof_remember(call, frame);
  frame->member = NULL;
  if (!frame->known && (frame->fresh || frame->reuse)) return;
  push_known(call, frame, field);
  lua_rawgeti(L, -1, (int)field->oneof + 1);
  if (!lua_isnil(L, -1)) frame->member = plait_schema_field(call->schema, (uint32_t)lua_tointeger(L, -1) - 1);
  lua_pop(L, 2);
}

PLAIT_COLD void oneof_set(struct call *call, struct frame *frame, const struct plait_field *field) {
  const struct plait_oneof *oneof = plait_schema_oneof(call->schema, field->oneof);
  if (oneof->member_count > FEW_MEMBERS) {
    if (frame->member == NULL || frame->member->oneof != field->oneof) recall(call, frame, field);
    if (frame->member != NULL && frame->member != field) remove_member(call, frame, frame->member);
    frame->member = field;
    return;
  }
  for (uint32_t i = 0; i < oneof->member_count; i++) {
    const struct plait_field *other =
        plait_schema_field(call->schema, plait_schema_member(call->schema, oneof->first_member + i));
    size_t position = (size_t)(other - frame->fields);
    /* The end of the occurrence removes fields of a reused table that did not come. */
    int absent = position < 64 && (frame->fresh || frame->reuse) && !(frame->seen >> position & 1);
    if (other != field && !absent) remove_member(call, frame, other);
  }
}
