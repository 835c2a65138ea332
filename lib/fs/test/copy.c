/*
 * copy: a program that starts with the files of an archive. It copies /in.txt, which JavaScript has written, and the
 * archive's files to /out.txt, with their names.
 */
#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "../plait_fs.h"

static const unsigned char assets[] = {
#embed "assets.tar"
};
PLAIT_PRELOAD(assets)

static int copy(const char *path, FILE *to) {
  FILE *from = fopen(path, "r");
  if (from == NULL) return 1;
  fprintf(to, "%s: ", path);
  for (int byte; (byte = fgetc(from)) != EOF;) fputc(byte, to);
  return fclose(from);
}

int main(void) {
  FILE *to = fopen("/out.txt", "w");
  if (to == NULL || copy("/in.txt", to) != 0) return 1;
  DIR *directory = opendir("/assets");
  if (directory == NULL) return 2;
  for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
    char path[300];
    struct stat stat_of;
    if (entry->d_name[0] == '.') continue;
    snprintf(path, sizeof path, "/assets/%s", entry->d_name);
    if (stat(path, &stat_of) != 0) return 3;
    if (S_ISREG(stat_of.st_mode) && copy(path, to) != 0) return 4;
  }
  closedir(directory);
  return fclose(to);
}
