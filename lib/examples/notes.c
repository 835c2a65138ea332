/* notes: a C program that keeps files. It names nothing of Plait's; only its link command does. */
#include <dirent.h>
#include <stdio.h>
#include <sys/stat.h>

int main(void) {
  mkdir("/notes", 0777);
  for (int i = 1; i <= 3; i++) {
    char path[32];
    snprintf(path, sizeof path, "/notes/%d.txt", i);
    FILE *file = fopen(path, "w");
    if (file == NULL) return 1;
    fprintf(file, "note %d\n", i);
    fclose(file);
  }
  DIR *directory = opendir("/notes");
  for (struct dirent *entry; (entry = readdir(directory)) != NULL;)
    if (entry->d_name[0] != '.') puts(entry->d_name);
  return closedir(directory);
}
