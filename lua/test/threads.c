/*
 * threads: several threads use one frozen image in read-only memory at once. Each has its own Lua state, and encodes,
 * decodes, packs, unpacks, reads views and looks up names through the same image. A write to the image ends the
 * process. ThreadSanitizer reports other data that the threads share. The module is linked in.
 *
 * Use: threads LUA_PATH DESCRIPTORS [ROUNDS]
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "../compat.h"
#include <lualib.h>

int luaopen_plait_message_core(lua_State *L);

enum { THREADS = 4 };

static const char *path;
static void *image;
static size_t image_size;
static long rounds = 300;
static pthread_barrier_t barrier;

static const char script[] =
    "local address, length, wait, rounds, seed = ...\n"
    "local message = require 'plait.message'\n"
    "wait() -- so that all begin at once\n"
    "local schema = assert(message.share(address, length))\n"
    "local Three, Two, Person = schema.type 'kinds.Three', schema.type 'kinds.Two', schema.type 'tutorial.Person'\n"
    "local flat = schema.pattern 'kinds.Three f_int32 f_string f_message.f_string r_int64 m_string'\n"
    "for round = 1, rounds do\n"
    "  local text = ('thread %d round %d'):format(seed, round)\n"
    "  local bytes = assert(Three.encode { f_int32 = round, f_string = text, f_enum = 'BLUE', "
    "r_int64 = { seed, round }, "
    "m_string = { [text] = seed },\n"
    "    f_message = { f_string = text, r_message = { { f_int32 = seed }, {} } } })\n"
    "  local got = assert(Three.decode(bytes))\n"
    "  assert(got.f_string == text and got.f_enum == 'BLUE' and "
    "got.m_string[text] == seed and got.f_message.r_message[1].f_int32 == seed)\n"
    "  local number, name, inner, list, map = flat.unpack(bytes)\n"
    "  assert(number == round and name == text and inner == text and list[2] == round and map[text] == seed)\n"
    "  local packed = assert(flat.pack(round, text, text, { seed }, { a = round }))\n"
    "  assert(Three.view(packed).f_message.f_string == text and Three.view(packed).r_int64[1] == seed)\n"
    "  local two = Two.decode(assert(Two.encode { number = -seed, pair = { left = round }, "
    "set = { ['kinds.Item.item'] = { number = seed } } }))\n"
    "  assert(two.pair.left == round and two.set['kinds.Item.item'].number == seed)\n"
    "  local value, _, code = Person.encode { name = text, nobody = seed }\n"
    "  assert(value == nil and code == 'NAME')\n"
    "  assert(schema.enum('kinds.Color').BLUE == 5 and schema.fields('kinds.Two')[1].default == -7)\n"
    "  if round % 50 == 0 then assert(message.share(address, length).type('kinds.Two').decode '') end\n"
    "end\n";

static int wait_for_all(lua_State *L) {
  (void)L;
  pthread_barrier_wait(&barrier);
  return 0;
}

static lua_State *new_state(void) {
  lua_State *L = luaL_newstate();
  luaL_openlibs(L);
  lua_getglobal(L, "package");
  lua_pushstring(L, path);
  lua_setfield(L, -2, "path");
  lua_getfield(L, -1, "preload");
  lua_pushcfunction(L, luaopen_plait_message_core);
  lua_setfield(L, -2, "plait.message.core");
  lua_settop(L, 0);
  return L;
}

static void check(lua_State *L, int status) {
  if (status == 0) return;
  fprintf(stderr, "%s\n", lua_tostring(L, -1));
  exit(1);
}

static void *run(void *argument) {
  lua_State *L = new_state();
  check(L, luaL_loadstring(L, script));
  lua_pushlightuserdata(L, image);
  lua_pushinteger(L, (lua_Integer)image_size);
  lua_pushcfunction(L, wait_for_all);
  lua_pushinteger(L, rounds);
  lua_pushinteger(L, *(int *)argument);
  check(L, lua_pcall(L, 5, 0, 0));
  lua_close(L);
  return NULL;
}

int main(int count, char **arguments) {
  if (count < 3) return 2;
  path = arguments[1];
  if (count > 3) rounds = atol(arguments[3]);
  lua_State *L = new_state();
  check(L, luaL_loadstring(L, "return (assert(require 'plait.message'.load(...)).freeze())"));
  lua_pushstring(L, arguments[2]);
  check(L, lua_pcall(L, 1, 1, 0));
  const char *bytes = lua_tolstring(L, -1, &image_size);
  image = mmap(NULL, image_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (image == MAP_FAILED) return 2;
  memcpy(image, bytes, image_size);
  if (mprotect(image, image_size, PROT_READ) != 0) return 2;
  lua_close(L); /* the image belongs to no state */

  pthread_t threads[THREADS];
  int seeds[THREADS];
  pthread_barrier_init(&barrier, NULL, THREADS);
  for (int i = 0; i < THREADS; i++) {
    seeds[i] = i + 1;
    if (pthread_create(&threads[i], NULL, run, &seeds[i]) != 0) return 2;
  }
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  printf("ok %d threads with a Lua state each used one image, %ld rounds\n", THREADS, rounds);
  return 0;
}
