/*
 * message: declarations shared by the C files of the Lua module.
 *
 * A schema in Lua is a userdata that holds or borrows the image, and a table of keys. The table holds every name that
 * decoding may push, created once, by index:
 *
 *     keys[0]                     the key of unknown fields
 *     keys[1 + field]             the field's name
 *     keys[1 + field_count + v]   the name of enum value v
 *     keys[-1 - 2 * message]      metatables of the pbc API: defaults,
 *     keys[-2 - 2 * message]      and messages that are not decoded yet
 *
 * Names in the table are never collected. Short names are unique, so a key of a user's table is found by its address
 * (names_find), without reading its bytes.
 *
 * Errors: between two calls into Lua, a function keeps data only on the C stack or in Lua (a userdata on the stack). So
 * lua_error may leave from anywhere, and a finalizer that the collector runs in between may call the module again.
 */
#ifndef PLAIT_LUA_MESSAGE_H
#define PLAIT_LUA_MESSAGE_H

#include <string.h>

#include "compat.h"
#include "../core/message/pattern.h"

#define SCHEMA_METATABLE "plait.schema"
#define PATTERN_METATABLE "plait.pattern"
#define VIEW_METATABLE "plait.view"
#define UNKNOWN_KEY "?unknown"
#define DEPTH_LIMIT 1000 /* maximum of the option depth; the stack of Lua 5.1 holds some 1300 levels */
#define STACK_AHEAD 64   /* places of Lua's stack that are asked for at once */
#define BUFFER_SIZE 1024 /* on the C stack; longer messages go on in a userdata */

enum int64_form { INT64_NUMBER, INT64_EXACT, INT64_STRING, INT64_CDATA };

struct options {
  uint8_t int64;         /* enum int64_form */
  uint8_t enums_numbers; /* enums become numbers, not names */
  uint8_t unknown;       /* keep unknown fields */
  uint8_t required;      /* demand required fields */
  uint8_t deterministic; /* maps ordered by key */
  /* as pbc does: sub-messages stay encoded until touched, numbers and strings convert into each other */
  uint8_t pbc;
  uint16_t depth;
};

struct name_slot {
  const void *name;
  uint32_t message, field;
}; /* name NULL: empty */

/*
 * Most tables of one type are built in one way, so lua_next() yields their keys in one order. A guess belongs to a
 * field, or to a message for the first key. It holds the address of the key that came next the last time, and that
 * key's field. `next` is the guess for the key after it.
 */
struct name_guess {
  const void *name; /* of no key: NO_NAME */
  const struct plait_field *field;
  struct name_guess *next;
};

struct schema_box {
  struct plait_schema *image;
  int owned;               /* 0: the image is in memory of the caller */
  struct name_slot *names; /* a power of two of them */
  uint32_t name_mask;
  struct name_guess *guesses; /* for each field, then for each message */
  uint8_t *hints;             /* for each message: how many keys the last decoded one had */
  lua_Alloc alloc;
  void *alloc_context;
};

/* The upvalues of an encode or decode function, in this order. */
enum { UP_SCHEMA = 1, UP_KEYS = 2, UP_TYPE = 3 };

struct type_box {
  struct schema_box *schema;
  uint32_t message;
  struct options options;
};

struct pattern_box {
  struct schema_box *schema;
  struct plait_pattern *pattern;
  struct options options;
  int lists; /* whether it has fields that need a place on the stack: repeated ones, messages */
  int plain; /* see plain.c */
};

/* One call, in either direction. */
struct call {
  lua_State *L;
  struct schema_box *box;
  const struct plait_schema *schema;
  struct options options;
  int keys;    /* stack index of the table of keys */
  int ensured; /* up to which index the stack has room */
  int source;  /* decoding: stack index of the input, or of the table of parts (parts.c) if has_parts */
  int has_parts;
  int anchor;           /* decoding for pbc: stack index of the string that is read, or 0 */
  const uint8_t *bytes; /* decoding: the start, for offsets */
  struct plait_writer writer;
  int buffer; /* encoding: stack index for the userdata of a writer that has grown */
  struct plait_message_error error;
  uint8_t space[BUFFER_SIZE];
};

/*
 * A user's finalizer may run after the schema's finalizer, which frees the image. So every function that Lua calls
 * checks the schema here before it reads it.
 */
static inline void check_alive(lua_State *L, const struct schema_box *box) {
  if (box->image == NULL) luaL_error(L, "the schema was already collected when this finalizer used it");
}
static inline void check_pattern_alive(lua_State *L, const struct pattern_box *box) {
  if (box->pattern == NULL) luaL_error(L, "the pattern was already collected when this finalizer used it");
}

/* ---- call.c ---- */
struct schema_box *check_schema(lua_State *L, int index);
void check_options(lua_State *L, int index, struct options *options);
struct call *start_call(
    struct call *call, lua_State *L, struct schema_box *box, const struct options *options, int keys);
/* Leaves nil, message, code. `type`: the start of the path. */
int push_failure(struct call *call, const char *type);
/* Pushes "type.path: text (byte n)". */
void push_error_text(struct call *call, const char *type);
/* The bytes of a string argument, or of a lightuserdata and a length behind it. */
const uint8_t *check_bytes(lua_State *L, int index, size_t *size);
void *lua_allocate(void *context, void *block, size_t old_size, size_t new_size);
/* Sets the error's status, and its place, if there is none yet. Returns the status. */
int decode_fail(struct call *call, int status, const uint8_t *at);
int encode_fail(struct call *call, int status);
/* Puts the field in front of the error's path. */
void path_field(struct call *call, const struct plait_field *field);
/* Both, with the index of the element if that is not 0. Returns the status. */
int field_fail(struct call *call, int status, const uint8_t *at, const struct plait_field *field, int index);
int value_fail(struct call *call, int status, const struct plait_field *field, int index);

/* ---- names.c ---- */
/*
 * The address of a string, or NULL. Equal short strings have the same address. lua_topointer() returns it in one call
 * instead of two, or NULL in a Lua where it does not support strings.
 */
static inline const void *name_address(lua_State *L, int index) {
#if LUA_VERSION_NUM >= 504 || defined(LUAJIT_VERSION)
  return lua_topointer(L, index);
#else
  return lua_type(L, index) == LUA_TSTRING ? lua_tolstring(L, index, NULL) : NULL;
#endif
}
/*
 * names_find() for a key at this address that differs from the guess. If it is a short name of the schema, it becomes
 * the next guess.
 */
const struct plait_field *names_search(const struct schema_box *box, uint32_t message, lua_State *L, int index,
    const void *address, struct name_guess *guess);
/* The guess for the first key of a message's table. */
static inline struct name_guess *names_begin(const struct schema_box *box, uint32_t message) {
  return box->guesses + box->image->field_count + message;
}
/* The field of a message whose name is the key at index, or NULL. Updates *guess for the next key. */
static inline const struct plait_field *names_find(
    const struct schema_box *box, uint32_t message, lua_State *L, int index, struct name_guess **guess) {
  const void *address = name_address(L, index);
  struct name_guess *now = *guess;
  if (now->name == address) {
    *guess = now->next;
    return now->field;
  }
  const struct plait_field *field = names_search(box, message, L, index, address, now);
  if (field != NULL) *guess = box->guesses + plait_schema_field_index(box->image, field);
  return field;
}
/* Fills the table of keys at the stack's top, and the names' addresses. */
void fill_keys(lua_State *L, struct schema_box *box);
/* Bytes of the guesses for a schema, and their first state. */
size_t guesses_size(const struct plait_schema *schema);
void clear_guesses(struct schema_box *box);

/* ---- values.c ---- */
/* Pushes a number, bool or enum. */
void push_number(struct call *call, const struct plait_field *field, uint64_t bits);
/* The bits of the Lua value at index, whose lua_type() is `type`: 0 or a negated status. */
int to_bits(struct call *call, const struct plait_field *field, int index, int type, uint64_t *bits);
/* Pushes a field's default, which is a number or bytes. */
void push_default(struct call *call, const struct plait_field *field);

/* ---- decode.c, maps.c, required.c ---- */
/*
 * Decodes into the table at index, which is the stack's top. May replace the stack value at call->source. fresh: the
 * table is empty. Returns 0, or a negated status with the error filled.
 */
int decode_message(struct call *call, uint32_t message, const uint8_t *at, const uint8_t *end, int table, int fresh);
/* Adds a map's entry to the table at index. *known 0: its value is an unknown number of a closed enum. */
int add_entry(struct call *call, const struct plait_field *field, const uint8_t *at, const uint8_t *end, int table,
    uint32_t depth, int *known);
/* Returns 0, or -REQUIRED with the path of a field that is missing in the decoded table at index. */
int check_required(struct call *call, const struct plait_message *message, int table, uint32_t depth);
static inline void push_field_key(struct call *call, const struct plait_field *field) {
  lua_rawgeti(call->L, call->keys, (int)(1 + plait_schema_field_index(call->schema, field)));
}
/*
 * Ensures that `need` more values fit on a stack whose top is `top`. Returns 0, or -MEMORY. pre: need is at most
 * LUA_MINSTACK.
 *
 * LuaJIT's collector halves a stack of which less than a quarter is in use, even after lua_checkstack(). A few more
 * values always fit, but the stack must be checked again each time. This also applies to Lua 5.1, because LuaJIT can
 * load a module built for it.
 */
static inline int ensure_stack(struct call *call, int top, int need) {
#if LUA_VERSION_NUM == 501
  (void)top;
  return lua_checkstack(call->L, need) ? 0 : -PLAIT_MESSAGE_MEMORY;
#endif
  if (top + need <= call->ensured) return 0;
  if (lua_checkstack(call->L, need + STACK_AHEAD)) call->ensured = top + need + STACK_AHEAD;
  else if (lua_checkstack(call->L, need)) call->ensured = top + need;
  else return -PLAIT_MESSAGE_MEMORY;
  return 0;
}

/* ---- encode.c ---- */
/*
 * buffer: the stack index for a larger buffer. 0: the buffer is pushed on top, and the stack values below must not move
 * afterwards.
 */
void start_writer(struct call *call, int buffer);
/*
 * Writes the table at index in front of the writer's bytes. top: the top of the stack, which is higher afterwards.
 * depth: how deep the message may nest.
 */
int encode_message(struct call *call, uint32_t message, int table, int top, uint32_t depth);
/* Writes all elements of a repeated field or map from the table at index. */
int encode_repeated(struct call *call, const struct plait_field *field, int table, int top, uint32_t depth);
/* Reads an encoded sub-message of pbc, which is {lightuserdata, length} or a string. 0: it is neither. */
int encoded_bytes(lua_State *L, int index, const uint8_t **data, size_t *length);

/* ---- plain.c ---- */
#define PLAIN_LIMIT 12 /* values; as many as Lua's stack has room for without asking, and some to make them with */
int pattern_is_plain(const struct plait_pattern *pattern);
int pack_plain(struct call *call, const struct plait_pattern *pattern, int first);
int unpack_plain(struct call *call, const struct plait_pattern *pattern, const uint8_t *at, size_t size);

/* ---- lazy.c ---- */
extern const struct options pbc_options;
/* Pushes a new type. */
struct type_box *new_type(lua_State *L, struct schema_box *box, uint32_t message);
/* pbc: pushes the metatable of a message type: 0 defaults, 1 not decoded yet. */
void push_pbc_metatable(struct call *call, uint32_t message, int lazy);
/* Whether the table on top is such a metatable of messages not decoded yet, of any schema. */
int is_lazy_metatable(lua_State *L);

/* ---- flat.c, view.c, pbc.c ---- */
int schema_pattern(lua_State *L);
int push_unpacked(struct call *call, const struct pattern_box *box, const uint8_t *bytes, size_t size);
int pack_arguments(struct call *call, const struct pattern_box *box, int first, int top);
struct pattern_box *new_pattern(lua_State *L, struct schema_box *box, const struct options *options, const char *text,
    size_t length, struct plait_message_error *error);
int type_view(lua_State *L);
void open_view(lua_State *L);
void open_pbc(lua_State *L);
void open_ffi(lua_State *L);

#endif
