/*
 * parts: byte strings that grow in several parts. A message may occur repeatedly, each time with unknown fields. For
 * pbc, a message that is not decoded consists of the bytes of all its occurrences. A new string for each part would
 * copy all earlier parts. So the parts are collected in a buffer that doubles. The buffer becomes a string once: at the
 * end of the occurrence if it is the only one, else at the end of the call.
 *
 * Until then the buffer, a userdata, is stored in place of the string. The call's table of parts maps each buffer to
 * the table that contains it. It also anchors the buffers, so that their addresses are not reused, and a user's
 * userdata in that position is not mistaken for a buffer. The table of parts replaces the input on the stack, and holds
 * the input under the key 1. Keys that are tables belong to oneofs.c.
 */
#include "decode.h"

enum { PLACE_UNKNOWN, PLACE_LAZY };

struct part {
  size_t used, room;
  int place;
  uint8_t bytes[];
};

/* Pushes the value at the place of the table at index. */
static void get_place(struct call *call, int table, int place) {
  lua_State *L = call->L;
  if (place == PLACE_LAZY) {
    lua_rawgeti(L, table, 2);
    return;
  }
  lua_rawgeti(L, call->keys, 0);
  lua_rawget(L, table);
}

/* Pops a value and stores it there. */
static void set_place(struct call *call, int table, int place) {
  lua_State *L = call->L;
  if (place == PLACE_LAZY) {
    lua_rawseti(L, table, 2);
    return;
  }
  lua_rawgeti(L, call->keys, 0);
  lua_insert(L, -2);
  lua_rawset(L, table);
}

/* Returns the part on top of the stack, if it belongs to this call and to that table; else NULL. */
static struct part *own_part(struct call *call, int table) {
  lua_State *L = call->L;
  struct part *part = lua_touserdata(L, -1);
  if (part == NULL || !call->has_parts) return NULL;
  lua_pushvalue(L, -1);
  lua_rawget(L, call->source);
  int own = lua_rawequal(L, -1, table);
  lua_pop(L, 1);
  return own ? part : NULL;
}

void need_parts(struct call *call) {
  lua_State *L = call->L;
  if (call->has_parts) return;
  lua_newtable(L);
  lua_pushvalue(L, call->source);
  lua_rawseti(L, -2, 1);
  lua_replace(L, call->source);
  call->has_parts = 1;
}

/* Registers the part on top of the stack for a table, or unregisters it (table 0). */
static void note_part(struct call *call, int table) {
  lua_State *L = call->L;
  need_parts(call);
  lua_pushvalue(L, -1);
  if (table != 0) lua_pushvalue(L, table);
  else lua_pushnil(L);
  lua_rawset(L, call->source);
}

/* Adds bytes at the place. keep: a string there holds the bytes of earlier occurrences. */
static void add_bytes(struct call *call, int table, int place, int keep, const uint8_t *bytes, size_t length) {
  lua_State *L = call->L;
  get_place(call, table, place);
  struct part *part = own_part(call, table);
  size_t used = 0;
  const void *old = NULL;
  if (part != NULL) old = part->bytes, used = part->used;
  else if (keep && lua_type(L, -1) == LUA_TSTRING) old = lua_tolstring(L, -1, &used);
  if (part == NULL || part->room - used < length) {
    size_t room = used + length + (used + length) / 2 + 32;
    struct part *larger = lua_newuserdatauv(L, sizeof *larger + room, 0);
    *larger = (struct part){.room = room, .place = place};
    if (used != 0) memcpy(larger->bytes, old, used);
    note_part(call, table);
    set_place(call, table, place);
    if (part != NULL) note_part(call, 0);
    part = larger; /* which the table of parts holds */
  }
  memcpy(part->bytes + used, bytes, length);
  part->used = used + length;
  lua_pop(L, 1);
}

/* Turns the part at the place into a string, if there is a part. */
static void finish_part(struct call *call, int table, int place) {
  lua_State *L = call->L;
  get_place(call, table, place);
  const struct part *part = own_part(call, table);
  if (part != NULL) {
    lua_pushlstring(L, (const char *)part->bytes, part->used);
    set_place(call, table, place);
  }
  lua_pop(L, 1);
}

PLAIT_COLD void finish_parts(struct call *call) {
  lua_State *L = call->L;
  for (lua_pushnil(L); lua_next(L, call->source) != 0; lua_pop(L, 1)) {
    const struct part *part = lua_touserdata(L, -2);
    if (part != NULL) finish_part(call, lua_gettop(L), part->place);
  }
  call->has_parts = 0;
}

PLAIT_COLD void unknown_add(struct call *call, struct frame *frame, const uint8_t *bytes, size_t length) {
  if (!call->options.unknown) return;
  add_bytes(call, frame->table, PLACE_UNKNOWN, frame->unknown || !frame->reuse, bytes, length);
  frame->unknown = 1;
}

PLAIT_COLD void unknown_finish(struct call *call, struct frame *frame) {
  lua_State *L = call->L;
  if (!frame->whole) return;
  get_place(call, frame->table, PLACE_UNKNOWN);
  if (own_part(call, frame->table) != NULL) {
    finish_part(call, frame->table, PLACE_UNKNOWN);
    note_part(call, 0);
  }
  lua_pop(L, 1);
}

PLAIT_COLD void unknown_enum(struct call *call, struct frame *frame, const struct plait_field *field, uint64_t bits) {
  uint8_t space[16];
  struct plait_writer writer = {.start = space, .at = space + sizeof space, .end = space + sizeof space};
  plait_write_varint(&writer, bits);
  plait_write_varint(&writer, field->tag & ~7u);
  unknown_add(call, frame, writer.at, plait_written(&writer));
}

void push_lazy(struct call *call, const struct plait_field *field, const uint8_t *at, size_t length) {
  lua_State *L = call->L;
  const struct plait_message *message = plait_schema_message(call->schema, field->type);
  lua_createtable(L, 2, 0);
  lua_pushlstring(L, plait_schema_name(call->schema, message->name), message->name_length);
  lua_rawseti(L, -2, 1);
  lua_pushlstring(L, (const char *)at, length);
  lua_rawseti(L, -2, 2);
  push_pbc_metatable(call, field->type, 1);
  lua_setmetatable(L, -2);
}

PLAIT_COLD void lazy_append(struct call *call, const uint8_t *at, size_t length) {
  add_bytes(call, lua_gettop(call->L), PLACE_LAZY, 1, at, length);
}
