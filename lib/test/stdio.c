/* stdio: the C library's streams over files. */
#include "transcript.h"
#include <ctype.h>

static void show_line(FILE *file) {
  char line[64];
  if (fgets(line, sizeof line, file) == NULL) {
    printf("  no line, eof %d, error %d\n", feof(file) != 0, ferror(file) != 0);
    return;
  }
  printf("  ");
  bytes(line, strlen(line));
  printf(" at %ld\n", ftell(file));
}

static void modes(void) {
  static const char *const all[] = {"r", "w", "a", "r+", "w+", "a+", "rb", "wx", "w+x", "rb+", "ab", "z"};
  static const char *const names[] = {"none", "file", "dir", "dangling", "to-file"};
  for (int m = 0; m < COUNT(all); m++) {
    for (int n = 0; n < COUNT(names); n++) {
      populate();
      errno = 0;
      FILE *file = fopen(names[n], all[m]);
      printf("fopen %s \"%s\": %s", names[n], all[m], file == NULL ? errno_name(errno) : "ok");
      if (file == NULL) {
        printf("\n");
        continue;
      }
      /* Until then C libraries differ in where a stream that appends is, and one of a directory. */
      if (n != 2) fseek(file, 0, strchr(all[m], 'a') ? SEEK_END : SEEK_CUR), printf(" at %ld", ftell(file));
      int c = fgetc(file);
      printf(", reads %d, error %d", c, ferror(file) != 0);
      clearerr(file);
      fseek(file, 0, SEEK_CUR);
      printf(", puts %d", fputs("text", file) >= 0);
      printf(", flush %d", fflush(file));
      if (n != 2) printf(", at %ld", ftell(file));
      printf(", close %d\n", fclose(file));
      if (n != 2) show(names[n]);
    }
  }
}

static void seeks(void) {
  printf("-- fseek, ungetc, setvbuf\n");
  static const int kinds[] = {_IOFBF, _IOLBF, _IONBF};
  for (int k = 0; k < COUNT(kinds); k++) {
    for (size_t size = 1; size < 5000; size *= 16) {
      static char buffer[5000];
      fresh();
      FILE *file = fopen("f", "w+");
      setvbuf(file, buffer, kinds[k], size);
      for (int i = 0; i < 300; i++) fprintf(file, "line %d\n", i);
      printf("kind %d, buffer %zu: at %ld\n", k, size, ftell(file));
      rewind(file);
      show_line(file);
      fseek(file, 100, SEEK_SET);
      show_line(file);
      fseek(file, -9, SEEK_END);
      show_line(file);
      show_line(file);
      printf("  seek before the start: %d\n", fseek(file, -10000, SEEK_CUR));
      fseek(file, 50, SEEK_SET);
      int c = fgetc(file);
      ungetc('U', file);
      printf("  %d then", c);
      c = fgetc(file);
      printf(" %d, at %ld\n", c, ftell(file));
      ungetc('V', file);
      fseek(file, 0, SEEK_CUR);
      fputs("WRITTEN", file);
      fseek(file, 40, SEEK_SET);
      show_line(file);
      show_line(file);
      fpos_t place;
      fgetpos(file, &place);
      show_line(file);
      fsetpos(file, &place);
      show_line(file);
      fseek(file, 3000, SEEK_SET);
      fputs("far", file);
      fclose(file);
      struct stat stat;
      lstat("f", &stat);
      printf("  %lld bytes\n", (long long)stat.st_size);
    }
  }
}

static void numbers(void) {
  printf("-- fprintf and fscanf\n");
  FILE *file = fopen("numbers", "w");
  for (int i = 0; i < 2000; i++) fprintf(file, "%d %x %.3f %s|", i, i * 7, i / 8.0, i % 2 ? "odd" : "even");
  fclose(file);
  file = fopen("numbers", "r");
  int right = 0, a;
  unsigned b;
  double c;
  char word[8];
  while (fscanf(file, "%d %x %lf %7[a-z]|", &a, &b, &c, word) == 4) right += b == (unsigned)a * 7 && c == a / 8.0;
  printf("%d right, eof %d\n", right, feof(file) != 0);
  fclose(file);
  char *line = NULL;
  size_t room = 0;
  file = fopen("numbers", "r");
  long long length = 0, pieces = 0;
  for (ssize_t got; (got = getdelim(&line, &room, '|', file)) > 0; pieces++) length += got;
  printf("%lld pieces of %lld bytes\n", pieces, length);
  fclose(file);
  free(line);
}

static void blocks(void) {
  printf("-- fread and fwrite\n");
  static uint32_t block[10000];
  FILE *file = fopen("blocks", "w+");
  for (int i = 0; i < COUNT(block); i++) block[i] = (uint32_t)i * 2654435761u;
  SAY(fwrite(block, sizeof *block, COUNT(block), file));
  SAY(fwrite(block, 3, 7, file));
  rewind(file);
  memset(block, 0, sizeof block);
  SAY(fread(block, 1, 4001, file));
  SAY(fread((char *)block + 4001, 1, sizeof block - 4001, file));
  printf("%u\n", hash(block, sizeof block - 4001));
  SAY(fread(block, 1, 30, file));
  SAY(feof(file) != 0);
  SAY(fclose(file));
  file = fopen("blocks", "r");
  SAY(fputc('x', file) == EOF);
  SAY(ferror(file) != 0);
  clearerr(file);
  SAY(fclose(file));
}

static void others(void) {
  printf("-- freopen, fdopen, remove, rename, tmpfile\n");
  fresh();
  make("a", "in a\n");
  make("b", "in b\n");
  FILE *file = fopen("a", "r");
  show_line(file);
  file = freopen("b", "r", file);
  show_line(file);
  SAY(freopen("none", "r", file) == NULL);
  int fd = open("c", O_RDWR | O_CREAT, 0666);
  file = fdopen(fd, "w");
  fprintf(file, "through %s", "fdopen");
  SAY(fileno(file) == fd);
  SAY(fclose(file));
  SAY(close(fd));
  show("c");
  SAY(remove("c"));
  SAY(remove("c"));
  mkdir("d", 0777);
  SAY(remove("d"));
  SAY(rename("a", "b"));
  show("b");
  FILE *x = fopen("same", "a"), *y = fopen("same", "a");
  for (int i = 0; i < 3; i++) {
    fprintf(x, "x%d ", i), fflush(x);
    fprintf(y, "y%d ", i), fflush(y);
  }
  fclose(x), fclose(y);
  show("same");
#if !WASI
  file = tmpfile();
  SAY(file != NULL);
  if (file != NULL) {
    fputs("temporary\n", file);
    rewind(file);
    show_line(file);
    fclose(file);
  }
  char name[] = "made-XXXXXX";
  fd = mkstemp(name);
  SAY(fd >= 0);
  SAY(strcmp(name, "made-XXXXXX") != 0);
  SAY(write(fd, "x", 1));
  SAY(close(fd));
  SAY(unlink(name));
  char folder[] = "dir-XXXXXX";
  SAY(mkdtemp(folder) == folder);
  SAY(rmdir(folder));
#endif
  char text[32] = "memory";
  file = fmemopen(text, sizeof text, "r+");
  SAY(fgetc(file));
  fclose(file);
  show_tree();
}

int main(void) {
  modes();
  seeks();
  numbers();
  blocks();
  others();
  return 0;
}
