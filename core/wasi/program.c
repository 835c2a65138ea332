/*
 * program: see program.h.
 */
#include "program.h"
#include "../fs/internal.h"
#include "preview1.h"

/* Threads' ids, as wasi-threads wants them: from 1 to this. */
#define LARGEST_ID 0x1fffffffu

static void program_event(plait_word_t *word, uint32_t wakes) {
  atomic_fetch_add_explicit(word, 1, memory_order_seq_cst);
  plait_platform_notify(word, wakes);
}

PLAIT_COLD_BEGIN

PLAIT_EXPORT plait_ref_t plait_program_create(uint32_t host_id, uint32_t starter, uint32_t thread_limit) {
  plait_ref_t ref = plait_heap_alloc_zeroed(sizeof(struct plait_program));
  if (ref == 0) return 0;
  plait_thread_t owner = plait_slot_claim(host_id);
  if (owner == 0) {
    plait_heap_free(ref);
    return 0;
  }
  plait_put(&plait_slot_of(owner)->starter, starter);
  plait_put(&plait_slot_of(owner)->role, PLAIT_ROLE_PROGRAM);
  struct plait_program *program = plait_at(ref);
  plait_put(&program->table.beneath, 1);
  plait_put(&program->owner, owner);
  plait_put(&program->limit, thread_limit);
  return ref;
}

static void free_block(plait_word_t *word) {
  plait_ref_t block = plait_get(word);
  plait_put(word, 0);
  if (block != 0) plait_heap_free(block);
}

PLAIT_EXPORT void plait_program_destroy(plait_ref_t ref) {
  struct plait_program *program = plait_at(ref);
  for (uint32_t i = 0; i < PLAIT_WASI_CHUNK_LIMIT; i++) {
    plait_ref_t chunk = plait_get(&program->table.chunks[i]);
    struct plait_wasi_entry *entries = plait_at(chunk);
    for (uint32_t k = 0; chunk != 0 && k < PLAIT_WASI_CHUNK_ENTRIES; k++) free_block(&entries[k].name);
    free_block(&program->table.chunks[i]);
  }
  free_block(&program->arguments.block);
  free_block(&program->environment.block);
  for (uint32_t i = 0; i < PLAIT_WASI_STREAMS; i++)
    if (plait_get(&program->streams[i].kind) == PLAIT_STREAM_PIPE) free_block(&program->streams[i].value);
  plait_thread_t owner = plait_get(&program->owner);
  plait_heap_free(ref);
  plait_thread_note_exit(owner);
}

PLAIT_EXPORT int plait_program_enter(plait_ref_t ref) {
  struct plait_program *program = plait_at(ref);
  plait_ref_t mine = plait_fs_enter();
  if (mine == 0) return -PLAIT_ENOMEM;
  plait_put(&((struct plait_fs_thread *)plait_at(mine))->owner, plait_get(&program->owner));
  plait_program_set_current(program);
  return 0;
}

PLAIT_EXPORT void plait_program_leave(void) {
  plait_put(&plait__fs_mine()->owner, 0);
  plait_program_set_current(NULL);
}

PLAIT_EXPORT void plait_program_set_strings(
    plait_ref_t ref, uint32_t which, plait_ref_t block, uint32_t count, uint32_t bytes) {
  struct plait_program *program = plait_at(ref);
  struct plait_program_strings *strings = which == 0 ? &program->arguments : &program->environment;
  plait_put(&strings->count, count);
  plait_put(&strings->bytes, bytes);
  plait_put(&strings->block, block);
}

PLAIT_EXPORT void plait_program_set_stream(plait_ref_t ref, uint32_t index, uint32_t kind, uint32_t value) {
  struct plait_program_stream *stream = &((struct plait_program *)plait_at(ref))->streams[index];
  plait_put(&stream->value, value);
  plait_put(&stream->kind, kind);
}

PLAIT_EXPORT int plait_program_open_streams(void) {
  return plait_preview1_add_streams();
}

PLAIT_EXPORT int plait_program_preopen(uint32_t length, plait_ref_t name, uint32_t name_length, int is_read_only) {
  int directory = plait_fs_open(length, PLAIT_FS_MUST_DIR, 0, 0);
  if (directory < 0) return directory;
  int number = plait_preview1_preopen(directory, name, name_length, is_read_only);
  if (number < 0) plait_fs_close(directory);
  return number;
}

PLAIT_EXPORT int plait_program_end(plait_ref_t ref, uint32_t status, int trapped) {
  struct plait_program *program = plait_at(ref);
  uint32_t running = 0,
           end = PLAIT_PROGRAM_ENDED | (trapped ? PLAIT_PROGRAM_TRAPPED : 0) | (status & (PLAIT_PROGRAM_TRAPPED - 1));
  int first = atomic_compare_exchange_strong(&program->end, &running, end);
  plait_platform_notify(&program->end, UINT32_MAX);
  program_event(&program->signal, UINT32_MAX);
  program_event(&program->wanted, UINT32_MAX);
  return first;
}

/* ---- threads ---- */

/* 0 if there is no room, or the limit is reached. pre: holds `spawning`. */
static int put_spawn(struct plait_program *program, uint32_t argument) {
  uint32_t tail = plait_get(&program->tail);
  if (tail - plait_get(&program->head) == PLAIT_PROGRAM_RING) return 0;
  if (plait_get(&program->count) >= plait_get(&program->limit)) return 0;
  uint32_t id = plait_get(&program->next_id) % LARGEST_ID + 1;
  struct plait_program_spawn *spawn = &program->ring[tail % PLAIT_PROGRAM_RING];
  plait_put(&spawn->id, id);
  plait_put(&spawn->argument, argument);
  plait_put(&program->next_id, id);
  plait_put(&program->count, plait_get(&program->count) + 1);
  plait_put(&program->tail, tail + 1); /* the commit */
  return (int)id;
}

/* wasi-threads' thread-spawn: a positive id, or a negative error. */
PLAIT_EXPORT int plait_preview1_thread_spawn(uint32_t argument) {
  if (plait_wasi_is_over()) return -PREVIEW1_EAGAIN;
  struct plait_program *program = plait_program_current();
  if (plait_lock_acquire(&program->spawning) < 0) return -PREVIEW1_EAGAIN;
  int id = put_spawn(program, argument);
  int lacks = plait_get(&program->tail) - plait_get(&program->head) > plait_get(&program->idle);
  plait_lock_release(&program->spawning);
  if (id == 0) return -PREVIEW1_EAGAIN;
  program_event(&program->signal, 1);
  if (lacks) program_event(&program->wanted, UINT32_MAX);
  return id;
}

/* Takes a thread to run, if there is one. `idle` and the ring change together, so a spawn never counts on this thread. */
static int take_spawn(struct plait_program *program, plait_ref_t out) {
  if (plait_lock_acquire(&program->spawning) < 0) return 0;
  uint32_t head = plait_get(&program->head), some = plait_get(&program->tail) != head;
  if (some) {
    struct plait_program_spawn *from = &program->ring[head % PLAIT_PROGRAM_RING], *to = plait_at(out);
    plait_put(&to->id, plait_get(&from->id));
    plait_put(&to->argument, plait_get(&from->argument));
    plait_put(&program->idle, plait_get(&program->idle) - 1);
    plait_put(&program->head, head + 1);
  }
  plait_lock_release(&program->spawning);
  return (int)some;
}

PLAIT_EXPORT int plait_program_take(plait_ref_t out, int is_first) {
  struct plait_program *program = plait_program_current();
  if (plait_lock_acquire(&program->spawning) < 0) return 0;
  plait_put(&program->idle, plait_get(&program->idle) + 1);
  if (is_first) plait_put(&program->arrived, plait_get(&program->arrived) + 1);
  else plait_put(&program->count, plait_get(&program->count) - 1);
  plait_lock_release(&program->spawning);
  for (;;) {
    uint32_t signal = atomic_load(&program->signal);
    if (plait_load(&program->end) != 0) return 0;
    if (take_spawn(program, out)) return 1;
    plait_platform_wait(&program->signal, signal, -1);
  }
}

PLAIT_EXPORT uint32_t plait_program_lacking(plait_ref_t ref, uint32_t started) {
  struct plait_program *program = plait_at(ref);
  if (plait_lock_acquire(&program->spawning) < 0) return 0;
  uint32_t pending = plait_get(&program->tail) - plait_get(&program->head);
  uint32_t coming = plait_get(&program->idle) + (started - plait_get(&program->arrived));
  plait_lock_release(&program->spawning);
  return pending > coming ? pending - coming : 0;
}

PLAIT_COLD_END
