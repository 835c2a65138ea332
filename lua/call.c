/*
 * call: one call from Lua, in either direction: its arguments and options, and its error.
 */
#include "message.h"

struct schema_box *check_schema(lua_State *L, int index) {
  struct schema_box *box = luaL_checkudata(L, index, SCHEMA_METATABLE);
  check_alive(L, box);
  return box;
}

void *lua_allocate(void *context, void *block, size_t old_size, size_t new_size) {
  struct schema_box *box = context;
  if (new_size != 0 || block != NULL) return box->alloc(box->alloc_context, block, old_size, new_size);
  return NULL;
}

/* ---- errors ---- */

void push_error_text(struct call *call, const char *type) {
  struct plait_message_error *error = &call->error;
  lua_State *L = call->L;
  const char *text = plait_message_status_text(error->status);
  if (call->bytes != NULL && error->status != PLAIT_MESSAGE_REQUIRED && error->status != PLAIT_MESSAGE_SIZE)
    lua_pushfstring(L, "%s%s: %s (byte %d)", type, error->text, text, (int)error->offset);
  else lua_pushfstring(L, "%s%s: %s", type, error->text, text);
}

int push_failure(struct call *call, const char *type) {
  lua_State *L = call->L;
  lua_pushnil(L);
  push_error_text(call, type);
  lua_pushstring(L, plait_message_status_name(call->error.status));
  return 3;
}

int decode_fail(struct call *call, int status, const uint8_t *at) {
  if (call->error.status == 0) {
    call->error.status = -status;
    call->error.offset = (uint32_t)(at - call->bytes);
  }
  return status;
}

void path_field(struct call *call, const struct plait_field *field) {
  plait__error_add_before(&call->error, plait_schema_name(call->schema, field->name), field->name_length);
  plait__error_add_before(&call->error, ".", 1);
}

int field_fail(struct call *call, int status, const uint8_t *at, const struct plait_field *field, int index) {
  decode_fail(call, status, at);
  if (index > 0) plait__error_add_index(&call->error, (uint64_t)index);
  path_field(call, field);
  return status;
}

int encode_fail(struct call *call, int status) {
  if (call->error.status == 0) call->error.status = -status;
  return status;
}

PLAIT_COLD int value_fail(struct call *call, int status, const struct plait_field *field, int index) {
  encode_fail(call, status);
  if (index > 0) plait__error_add_index(&call->error, (uint64_t)index);
  path_field(call, field);
  return status;
}

/* ---- options ---- */

static int bool_option(lua_State *L, int index, const char *name, uint8_t *option) {
  lua_getfield(L, index, name);
  int given = !lua_isnil(L, -1);
  if (given) *option = (uint8_t)lua_toboolean(L, -1);
  lua_pop(L, 1);
  return given;
}

static const char *const int64_names[] = {"number", "exact", "string", "cdata", NULL};
static const char *const enum_names[] = {"name", "number", NULL};

static int choice_option(lua_State *L, int index, const char *name, const char *const *choices, uint8_t *option) {
  lua_getfield(L, index, name);
  int given = !lua_isnil(L, -1);
  if (given) {
    const char *text = lua_tostring(L, -1);
    int i = 0;
    while (choices[i] != NULL && (text == NULL || strcmp(choices[i], text) != 0)) i++;
    if (choices[i] == NULL) luaL_error(L, "option %s cannot be %s", name, text == NULL ? luaL_typename(L, -1) : text);
    *option = (uint8_t)i;
  }
  lua_pop(L, 1);
  return given;
}

void check_options(lua_State *L, int index, struct options *options) {
  if (lua_isnoneornil(L, index)) return;
  luaL_checktype(L, index, LUA_TTABLE);
  int known = choice_option(L, index, "int64", int64_names, &options->int64) +
      choice_option(L, index, "enums", enum_names, &options->enums_numbers) +
      bool_option(L, index, "unknown", &options->unknown) + bool_option(L, index, "required", &options->required) +
      bool_option(L, index, "deterministic", &options->deterministic);
  lua_getfield(L, index, "depth");
  if (!lua_isnil(L, -1)) {
    lua_Number depth = lua_tonumber(L, -1);
    if (!(depth >= 1 && depth <= DEPTH_LIMIT)) luaL_error(L, "option depth must be from 1 to %d", DEPTH_LIMIT);
    options->depth = (uint16_t)depth;
    known++;
  }
  lua_pop(L, 1);
  int given = 0;
  for (lua_pushnil(L); lua_next(L, index) != 0; lua_pop(L, 1)) given++;
  if (given != known)
    luaL_error(L, "an unknown option; there are int64, enums, unknown, required, deterministic and depth");
}

/* ---- a call ---- */

struct call *start_call(
    struct call *call, lua_State *L, struct schema_box *box, const struct options *options, int keys) {
  check_alive(L, box);
  call->L = L;
  call->box = box;
  call->schema = box->image;
  call->options = *options;
  call->keys = keys;
  call->ensured = 0;
  call->has_parts = 0;
  call->anchor = 0;
  call->bytes = NULL;
  call->error.status = 0;
  call->error.offset = 0;
  call->error.length = 0;
  call->error.text[0] = 0;
  return call;
}

const uint8_t *check_bytes(lua_State *L, int index, size_t *size) {
  if (lua_type(L, index) == LUA_TSTRING) return (const uint8_t *)lua_tolstring(L, index, size);
  if (lua_islightuserdata(L, index)) {
    lua_Number length = luaL_checknumber(L, index + 1);
    luaL_argcheck(L, length >= 0 && length <= PLAIT_WIRE_LENGTH_LIMIT, index + 1, "not a length");
    *size = (size_t)length;
    luaL_argcheck(L, *size == 0 || lua_touserdata(L, index) != NULL, index, "no address");
    return *size == 0 ? (const uint8_t *)"" : lua_touserdata(L, index);
  }
  luaL_argerror(L, index, "a string of encoded bytes expected");
  return NULL;
}
