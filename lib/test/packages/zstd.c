/*
 * zstd: files compressed and decompressed as zstd -T4 does, with four workers for one file. Then four threads, with one
 * file each. What is written must be what the native build writes, byte for byte.
 */
#include "../workers.h"
#include "zstd.h"

#ifndef ROUNDS
#define ROUNDS 1
#endif

/* Text-like bytes, which compress to a part of their size. */
static void make_input(const char *name, uint32_t seed, size_t size) {
  static const char *const words[] = {
      "alpha ", "beta ", "gamma, ", "delta\n", "the ", "of ", "thread ", "file ", "0x", "; "};
  FILE *file = fopen(name, "w");
  for (size_t length = 0; length < size;) {
    seed = seed * 1664525u + 1013904223u;
    const char *word = words[(seed >> 16) % COUNT(words)];
    length += strlen(word);
    fputs(word, file);
    if (seed >> 24 < 40) length += (size_t)fprintf(file, "%u ", seed);
  }
  fclose(file);
}

static void pack(struct worker *worker, const char *from, const char *to, int level, int threads) {
  FILE *in = fopen(from, "rb"), *out = fopen(to, "wb");
  ZSTD_CCtx *context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, level);
  ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
  ZSTD_CCtx_setParameter(context, ZSTD_c_jobSize, 1 << 20);
  if (ZSTD_isError(ZSTD_CCtx_setParameter(context, ZSTD_c_nbWorkers, threads))) tell(worker, "no workers\n");
  size_t room = ZSTD_CStreamInSize(), space = ZSTD_CStreamOutSize(), left;
  char *buffer = malloc(room), *packed = malloc(space);
  for (size_t got = 1; got != 0;) {
    got = fread(buffer, 1, room, in);
    ZSTD_inBuffer input = {buffer, got, 0};
    do {
      ZSTD_outBuffer output = {packed, space, 0};
      left = ZSTD_compressStream2(context, &output, &input, got == 0 ? ZSTD_e_end : ZSTD_e_continue);
      if (ZSTD_isError(left)) tell(worker, "%s\n", ZSTD_getErrorName(left));
      fwrite(packed, 1, output.pos, out);
    } while (got == 0 ? left != 0 && !ZSTD_isError(left) : input.pos < input.size);
  }
  ZSTD_freeCCtx(context);
  free(buffer), free(packed);
  fclose(in), fclose(out);
}

static void unpack(struct worker *worker, const char *from, const char *to) {
  FILE *in = fopen(from, "rb"), *out = fopen(to, "wb");
  ZSTD_DCtx *context = ZSTD_createDCtx();
  size_t room = ZSTD_DStreamInSize(), space = ZSTD_DStreamOutSize();
  char *buffer = malloc(room), *plain = malloc(space);
  for (size_t got; (got = fread(buffer, 1, room, in)) != 0;) {
    ZSTD_inBuffer input = {buffer, got, 0};
    while (input.pos < input.size) {
      ZSTD_outBuffer output = {plain, space, 0};
      size_t rc = ZSTD_decompressStream(context, &output, &input);
      if (ZSTD_isError(rc)) {
        tell(worker, "%s\n", ZSTD_getErrorName(rc));
        break;
      }
      fwrite(plain, 1, output.pos, out);
    }
  }
  ZSTD_freeDCtx(context);
  free(buffer), free(plain);
  fclose(in), fclose(out);
}

static void *one_file_each(void *argument) {
  struct worker *worker = argument;
  char in[40], packed[40], out[40];
  snprintf(in, sizeof in, HERE "in-%d", worker->number);
  snprintf(packed, sizeof packed, HERE "in-%d.zst", worker->number);
  snprintf(out, sizeof out, HERE "out-%d", worker->number);
  make_input(in, (uint32_t)worker->number + 1, (1u << 20) * ROUNDS);
  static const int levels[] = {1, 3, 9};
  for (int i = 0; i < COUNT(levels); i++) {
    pack(worker, in, packed, levels[i], 0);
    unpack(worker, packed, out);
    tell_file(worker, packed);
    tell_file(worker, out);
  }
  tell_file(worker, in);
  return NULL;
}

int main(void) {
  fresh();
  printf("zstd %s\n", ZSTD_versionString());
  struct worker *worker = &workers[0];
  make_input(HERE "large", 99, (6u << 20) * ROUNDS);
#if WASI
  int threads = 0;
#else
  int threads = 4;
#endif
  pack(worker, HERE "large", HERE "large.zst", 3, threads);
  unpack(worker, HERE "large.zst", HERE "large.out");
  tell_file(worker, HERE "large");
  tell_file(worker, HERE "large.zst");
  tell_file(worker, HERE "large.out");
  printf("%.*s", (int)worker->length, worker->text);
  work(one_file_each);
  return 0;
}
