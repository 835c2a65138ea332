/*
 * names: finds the field that a key of a table names. The schema's table of keys holds each name once, as a string that
 * is not collected while the schema lives. So an equal short key has the same address. The address is compared with the
 * key that came here in the last table, then looked up in a hash table. Long names and unknown names are looked up by
 * their bytes.
 */
#include "message.h"

static uint32_t hash_address(const void *name, uint32_t message) {
  uint64_t word = (uint64_t)(uintptr_t)name * 0x9E3779B97F4A7C15u + message * 0xD1B54A32D192ED03u;
  return (uint32_t)(word >> 32);
}

static const char NO_NAME[1]; /* the address of no key */

PLAIT_ONCE const struct plait_field *names_search(const struct schema_box *box, uint32_t message, lua_State *L,
    int index, const void *address, struct name_guess *guess) {
  for (uint32_t at = hash_address(address, message); address != NULL; at++) {
    const struct name_slot *slot = &box->names[at & box->name_mask];
    if (slot->name == address && slot->message == message) {
      *guess = (struct name_guess){address, plait_schema_field(box->image, slot->field), box->guesses + slot->field};
      return guess->field;
    }
    if (slot->name == NULL) break;
  }
  if (lua_type(L, index) != LUA_TSTRING) return NULL;
  /* Looks up a string by its bytes: a long name, or no name of the schema. */
  size_t length;
  const char *name = lua_tolstring(L, index, &length);
  uint32_t field = plait_schema_find_field(box->image, message, name, length);
  return field == PLAIT_SCHEMA_NONE ? NULL : plait_schema_field(box->image, field);
}

static size_t guesses_count(const struct plait_schema *schema) {
  return (size_t)schema->field_count + schema->message_count;
}

size_t guesses_size(const struct plait_schema *schema) {
  return guesses_count(schema) * sizeof(struct name_guess) + 1;
}

void clear_guesses(struct schema_box *box) {
  for (size_t i = 0; i < guesses_count(box->image); i++)
    box->guesses[i] = (struct name_guess){.name = NO_NAME, .next = &box->guesses[i]};
}

/* Fills the keys at the stack's top, and the names' addresses. */
void fill_keys(lua_State *L, struct schema_box *box) {
  const struct plait_schema *schema = box->image;
  lua_pushliteral(L, UNKNOWN_KEY);
  lua_rawseti(L, -2, 0);
  for (uint32_t i = 0; i < schema->field_count; i++) {
    const struct plait_field *field = plait_schema_field(schema, i);
    lua_pushlstring(L, plait_schema_name(schema, field->name), field->name_length);
    const void *name = name_address(L, -1);
    uint32_t at = hash_address(name, field->message);
    while (box->names[at & box->name_mask].name != NULL) at++;
    box->names[at & box->name_mask] = (struct name_slot){name, field->message, i};
    lua_rawseti(L, -2, (int)(1 + i));
  }
  for (uint32_t i = 0; i < schema->value_count; i++) {
    const struct plait_enum_value *value = plait_schema_value(schema, i);
    lua_pushlstring(L, plait_schema_name(schema, value->name), value->name_length);
    lua_rawseti(L, -2, (int)(1 + schema->field_count + i));
  }
}
