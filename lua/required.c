/*
 * required: whether a decoded table has all its required fields, including nested messages. A table that a user has
 * passed to decode into may contain anything.
 */
#include "decode.h"

int check_required(struct call *call, const struct plait_message *message, int table, uint32_t depth) {
  lua_State *L = call->L;
  int status = 0;
  /* A user's tables may contain each other, or one table may serve two fields. */
  if (depth == 0) return decode_fail(call, -PLAIT_MESSAGE_DEPTH, call->bytes);
  if (!lua_istable(L, table)) return decode_fail(call, -PLAIT_MESSAGE_TYPE, call->bytes);
  int top = lua_gettop(L);
  if (ensure_stack(call, top, DECODE_SLOTS) < 0) return decode_fail(call, -PLAIT_MESSAGE_MEMORY, call->bytes);
  for (uint32_t i = 0; i < message->field_count && status == 0; i++) {
    const struct plait_field *field = plait_message_fields(call->schema, message) + i;
    if (!(field->flags & PLAIT_FIELD_REQUIRED) && !plait_kind_is_message(field->kind)) continue;
    push_field_key(call, field);
    lua_rawget(L, table);
    if (lua_isnil(L, -1)) {
      if (field->flags & PLAIT_FIELD_REQUIRED)
        status = field_fail(call, -PLAIT_MESSAGE_REQUIRED, call->bytes, field, 0);
    } else if (field->flags & PLAIT_FIELD_REPEATED && !lua_istable(L, -1)) {
      status = field_fail(call, -PLAIT_MESSAGE_TYPE, call->bytes, field, 0);
    } else if (field->flags & PLAIT_FIELD_MAP) {
      const struct plait_field *value =
          plait_message_fields(call->schema, plait_schema_message(call->schema, field->type)) + 1;
      if (value->kind == PLAIT_KIND_MESSAGE) {
        for (lua_pushnil(L); status == 0 && lua_next(L, -2) != 0; lua_pop(L, 1))
          status = check_required(call, plait_schema_message(call->schema, value->type), lua_gettop(L), depth - 1);
        if (status < 0) path_field(call, field);
      }
    } else if (field->flags & PLAIT_FIELD_REPEATED) {
      int count = (int)lua_rawlen(L, -1);
      for (int j = 1; j <= count && status == 0; j++) {
        lua_rawgeti(L, -1, j);
        status = check_required(call, plait_schema_message(call->schema, field->type), lua_gettop(L), depth - 1);
        if (status < 0) field_fail(call, status, call->bytes, field, j);
        lua_pop(L, 1);
      }
    } else if (plait_kind_is_message(field->kind)) {
      status = check_required(call, plait_schema_message(call->schema, field->type), lua_gettop(L), depth - 1);
      if (status < 0) path_field(call, field);
    }
    lua_settop(L, top);
  }
  return status;
}
