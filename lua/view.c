/*
 * view: a message that is read in place. A view is a userdata that names a part of a string of bytes. Each read of a
 * field searches the bytes, which is efficient for a few fields of a large message.
 *
 *     view.name          a number, string, boolean; nil if absent; a list or map, decoded; or the view of a message
 *     message.expand(v)  the whole as a table (lua/plait/message.lua)
 *
 * The view of a message that occurs twice concatenates the two encodings, because the format defines merging that way.
 */
#include "message.h"

struct view {
  uint32_t message, offset, length, depth;
  struct options options;
  struct schema_box *schema;
};

/* A view's environment, the table behind its metatable's keys: [1] schema, [2] keys, [3] bytes. */
static void push_view(lua_State *L, struct schema_box *box, int schema, int keys, int bytes, const struct view *from) {
  schema = lua_absindex(L, schema);
  keys = lua_absindex(L, keys);
  bytes = lua_absindex(L, bytes);
  struct view *view = lua_newuserdatauv(L, sizeof *view, 1);
  *view = *from;
  view->schema = box;
  luaL_getmetatable(L, VIEW_METATABLE);
  lua_setmetatable(L, -2);
  lua_createtable(L, 3, 0);
  lua_pushvalue(L, schema);
  lua_rawseti(L, -2, 1);
  lua_pushvalue(L, keys);
  lua_rawseti(L, -2, 2);
  lua_pushvalue(L, bytes);
  lua_rawseti(L, -2, 3);
#if LUA_VERSION_NUM >= 502
  lua_setuservalue(L, -2);
#else
  lua_setfenv(L, -2);
#endif
}

static struct view *check_view(lua_State *L) {
  struct view *view = luaL_checkudata(L, 1, VIEW_METATABLE);
  check_alive(L, view->schema);
#if LUA_VERSION_NUM >= 502
  lua_getuservalue(L, 1);
#else
  lua_getfenv(L, 1);
#endif
  return view;
}

/* type.view(bytes, options) */
int type_view(lua_State *L) {
  struct type_box *type = lua_touserdata(L, lua_upvalueindex(UP_TYPE));
  size_t size;
  luaL_argcheck(L, lua_type(L, 1) == LUA_TSTRING, 1, "a string of encoded bytes expected");
  lua_tolstring(L, 1, &size);
  luaL_argcheck(L, size <= PLAIT_WIRE_LENGTH_LIMIT, 1, "2 GiB or more");
  struct view view = {.message = type->message, .length = (uint32_t)size, .options = type->options};
  check_options(L, 2, &view.options);
  view.depth = view.options.depth;
  push_view(L, type->schema, lua_upvalueindex(UP_SCHEMA), lua_upvalueindex(UP_KEYS), 1, &view);
  return 1;
}

static int view_error(lua_State *L, struct call *call, uint32_t message) {
  push_error_text(call, plait_schema_name(call->schema, plait_schema_message(call->schema, message)->name));
  return lua_error(L);
}

/*
 * Decodes one field with the decoder for whole messages, from the occurrences of that field alone. So merging, packing,
 * maps and checks are the same. Messages become views instead.
 */
static int view_index(lua_State *L) {
  struct view *view = check_view(L); /* environment at 3 */
  lua_settop(L, 3);
  const struct plait_schema *schema = view->schema->image;
  const struct plait_message *message = plait_schema_message(schema, view->message);
  struct name_guess *guess = names_begin(view->schema, view->message);
  const struct plait_field *field = names_find(view->schema, view->message, L, 2, &guess);
  if (field == NULL) {
    lua_pushfstring(L, "%s has no field %s", plait_schema_name(schema, message->name), lua_tostring(L, 2));
    return lua_error(L);
  }
  lua_rawgeti(L, 3, 1);
  lua_rawgeti(L, 3, 2);
  lua_rawgeti(L, 3, 3); /* 4 schema, 5 keys, 6 bytes */
  const uint8_t *whole = (const uint8_t *)lua_tolstring(L, 6, NULL);
  const uint8_t *at = whole + view->offset, *end = at + view->length;
  struct call call;
  start_call(&call, L, view->schema, &view->options, 5);
  call.bytes = whole;
  int singular = plait_kind_is_message(field->kind) && !(field->flags & PLAIT_FIELD_REPEATED);
  const uint8_t *first = NULL, *first_end = NULL;
  uint32_t found = 0;
  lua_newtable(L); /* 7: the occurrences, to be joined */
  while (at < end) {
    uint32_t tag;
    int status;
    const uint8_t *start = at, *value = plait_wire_tag(at, end, &tag), *value_end;
    if (value == NULL) decode_fail(&call, -PLAIT_MESSAGE_TAG, at);
    else if ((at = plait_wire_skip(value, end, tag, view->depth, &status)) == NULL) decode_fail(&call, status, value);
    if (value == NULL || at == NULL) return view_error(L, &call, view->message);
    const struct plait_field *other = tag >> 3 == field->tag >> 3 ? field : NULL;
    uint32_t length = 0;
    const uint8_t *item = NULL;
    if (tag == PLAIT_SET_ITEM_BEGIN && plait_field_is_set_item(message, field)) {
      uint32_t number;
      plait_wire_set_item(value, end, view->depth, &number, &item, &value_end, &status);
      other = number == field->tag >> 3 ? field : NULL;
    }
    if (other == NULL && field->oneof != PLAIT_SCHEMA_NONE) {
      other = plait_message_find_number(schema, message, tag >> 3);
      if (other == NULL || other->oneof != field->oneof || other->wire != (tag & 7) ||
          !plait_wire_counts(schema, other, value, end))
        continue;
      found = 0; /* another member of the oneof: those before do not count */
      lua_newtable(L);
      lua_replace(L, 7);
      continue;
    }
    if (other == NULL) continue;
    if (item != NULL) {
      start = plait_wire_length(item, value_end, &length);
      value_end = start + length;
    } else {
      value_end = at;
    }
    if (item == NULL && singular) {
      if (field->wire != (tag & 7)) continue;
      if (field->kind == PLAIT_KIND_GROUP) plait_wire_group(value, end, tag >> 3, view->depth, &value_end, &status);
      else value = plait_wire_length(value, end, &length);
      start = value;
    }
    if (++found == 1) {
      first = start;
      first_end = value_end;
    }
    if (found == 2 || !singular || found > 2) {
      if (found == 2 && singular) {
        lua_pushlstring(L, (const char *)first, (size_t)(first_end - first));
        lua_rawseti(L, 7, 1);
      }
      lua_pushlstring(L, (const char *)start, (size_t)(value_end - start));
      lua_rawseti(L, 7, (int)found);
    }
  }
  if (found == 0) return 0;
  struct view inner = {.message = field->type, .depth = view->depth - 1, .options = view->options};
  if (singular && view->depth == 0) {
    decode_fail(&call, -PLAIT_MESSAGE_DEPTH, at);
    return view_error(L, &call, view->message);
  }
  if (singular && found == 1) {
    inner.offset = (uint32_t)(first - whole);
    inner.length = (uint32_t)(first_end - first);
    push_view(L, view->schema, 4, 5, 6, &inner);
    return 1;
  }
  luaL_Buffer buffer;
  luaL_buffinit(L, &buffer);
  for (uint32_t i = 1; i <= found; i++) {
    lua_rawgeti(L, 7, (int)i);
    luaL_addvalue(&buffer);
  }
  luaL_pushresult(&buffer);
  lua_replace(L, 6);
  lua_settop(L, 6);
  size_t size;
  const uint8_t *joined = (const uint8_t *)lua_tolstring(L, 6, &size);
  if (singular) {
    inner.length = (uint32_t)size;
    push_view(L, view->schema, 4, 5, 6, &inner);
    return 1;
  }
  call.bytes = joined;
  call.options.depth = (uint16_t)view->depth;
  call.options.unknown = 0;
  call.source = 6;
  lua_newtable(L);
  if (decode_message(&call, view->message, joined, joined + size, 7, 1) < 0) return view_error(L, &call, view->message);
  lua_settop(L, 7);
  lua_pushvalue(L, 2);
  lua_rawget(L, 7);
  return 1;
}

static int view_newindex(lua_State *L) {
  return luaL_error(L, "a view is only read");
}

/* core.view_bytes(view) -> its encoded bytes, the type's name */
static int view_bytes(lua_State *L) {
  struct view *view = check_view(L);
  const struct plait_message *message = plait_schema_message(view->schema->image, view->message);
  lua_rawgeti(L, -1, 3);
  lua_pushlstring(L, lua_tolstring(L, -1, NULL) + view->offset, view->length);
  lua_pushlstring(L, plait_schema_name(view->schema->image, message->name), message->name_length);
  return 2;
}

/* core.expand(view) -> table | nil, message, code */
static int view_expand(lua_State *L) {
  struct view *view = check_view(L);
  struct call call;
  lua_settop(L, 2);
  lua_rawgeti(L, 2, 2);
  lua_rawgeti(L, 2, 3); /* 3 keys, 4 bytes */
  start_call(&call, L, view->schema, &view->options, 3);
  call.bytes = (const uint8_t *)lua_tolstring(L, 4, NULL);
  call.options.depth = (uint16_t)view->depth;
  const struct plait_message *message = plait_schema_message(call.schema, view->message);
  const uint8_t *at = call.bytes + view->offset;
  call.source = 4;
  lua_newtable(L);
  if (decode_message(&call, view->message, at, at + view->length, 5, 1) == 0) return 1;
  return push_failure(&call, plait_schema_name(call.schema, message->name));
}

static const luaL_Reg view_functions[] = {{"view_bytes", view_bytes}, {"expand", view_expand}, {NULL, NULL}};

/* With the module's table on top. */
void open_view(lua_State *L) {
  luaL_setfuncs(L, view_functions, 0);
  luaL_newmetatable(L, VIEW_METATABLE);
  lua_pushcfunction(L, view_index);
  lua_setfield(L, -2, "__index");
  lua_pushcfunction(L, view_newindex);
  lua_setfield(L, -2, "__newindex");
  lua_pushliteral(L, "plait");
  lua_setfield(L, -2, "__metatable");
  lua_pop(L, 1);
}
