/*
 * memory: a Lua state whose allocator fails, for tests of the module. It runs a script again and again:
 *
 *     1. every allocation of the script in turn is the last that succeeds: each run ends in a value or an error,
 *        never in a crash, and closing the state gives back every byte;
 *     2. (Lua 5.2 and later) every first try fails and the second succeeds, so that Lua collects all garbage at each
 *        single allocation.
 *
 * The module is linked in. Use: memory SCRIPT LUA_PATH DESCRIPTORS [STEP]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../compat.h"
#include <lualib.h>

int luaopen_plait_message_core(lua_State *L);

static struct {
  long long live; /* bytes */
  long blocks;
  long allowed;      /* how many more allocations succeed; negative: all */
  int stress, again; /* fail each first try */
} memory;

static void *resize(void *context, void *block, size_t old_size, size_t new_size) {
  (void)context;
  if (new_size == 0) {
    if (block != NULL) {
      memory.live -= (long long)old_size;
      memory.blocks--;
    }
    free(block);
    return NULL;
  }
  if (block == NULL) old_size = 0;
  if (new_size > old_size) {
    if (memory.allowed == 0) return NULL;
    if (memory.allowed > 0) memory.allowed--;
    if (memory.stress && (memory.again = !memory.again)) return NULL;
  }
  /* Always moves the block, so that a stale pointer shows. */
  void *made = malloc(new_size);
  if (made == NULL) return NULL;
  if (block != NULL) {
    memcpy(made, block, old_size < new_size ? old_size : new_size);
    free(block);
  } else {
    memory.blocks++;
  }
  memory.live += (long long)new_size - (long long)old_size;
  return made;
}

static lua_State *new_state(const char *script, const char *path, const char *descriptors) {
  memory.allowed = -1;
  lua_State *L = lua_newstate(resize, NULL);
  if (L == NULL) exit(2);
  luaL_openlibs(L);
  lua_getglobal(L, "package");
  lua_pushstring(L, path);
  lua_setfield(L, -2, "path");
  lua_getfield(L, -1, "preload");
  lua_pushcfunction(L, luaopen_plait_message_core);
  lua_setfield(L, -2, "plait.message.core");
  lua_settop(L, 0);
  if (luaL_loadfile(L, script) != 0) {
    fprintf(stderr, "%s\n", lua_tostring(L, -1));
    exit(2);
  }
  lua_pushstring(L, descriptors);
  /* the script returns two functions: the whole test, and the part that handles no failure itself */
  if (lua_pcall(L, 1, 2, 0) != 0) {
    fprintf(stderr, "%s\n", lua_tostring(L, -1));
    exit(2);
  }
  return L;
}

static int close_state(lua_State *L) {
  memory.allowed = -1;
  memory.stress = 0;
  lua_close(L);
  if (memory.live == 0 && memory.blocks == 0) return 0;
  fprintf(stderr, "%lld bytes in %ld blocks are left\n", memory.live, memory.blocks);
  return 1;
}

int main(int count, char **arguments) {
  if (count < 4) return 2;
  long step = count > 4 ? atol(arguments[4]) : 1, tries = 0;
  for (long allowed = 0;; allowed += step, tries++) {
    lua_State *L = new_state(arguments[1], arguments[2], arguments[3]);
    lua_pushvalue(L, 1);
    memory.allowed = allowed;
    int failed = lua_pcall(L, 0, 0, 0), out = memory.allowed == 0;
    memory.allowed = -1;
    if (failed) {
      const char *reason = lua_tostring(L, -1);
      if (!out || reason == NULL || strstr(reason, "memory") == NULL) {
        fprintf(stderr, "with %ld allocations: %s\n", allowed, reason == NULL ? "an error without text" : reason);
        return 1;
      }
      /* Objects that existed before still work. */
      lua_settop(L, 2);
      lua_pushvalue(L, 2);
      if (lua_pcall(L, 0, 0, 0) != 0) {
        fprintf(stderr, "after a failure with %ld allocations: %s\n", allowed, lua_tostring(L, -1));
        return 1;
      }
    }
    if (close_state(L) != 0) return 1;
    if (!failed && !out) break;
  }
  printf("ok every allocation failed in turn (%ld states)\n", tries);
#if LUA_VERSION_NUM >= 502
  lua_State *L = new_state(arguments[1], arguments[2], arguments[3]);
  lua_pushvalue(L, 2);
  memory.stress = 1;
  int failed = lua_pcall(L, 0, 0, 0);
  memory.stress = 0;
  if (failed) {
    fprintf(stderr, "collecting at each allocation: %s\n", lua_tostring(L, -1));
    return 1;
  }
  if (close_state(L) != 0) return 1;
  printf("ok garbage was collected at each allocation\n");
#endif
  return 0;
}
