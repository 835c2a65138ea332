/*
 * plait_fs: files in the memory of the program that links libplait_fs. The program uses its C library's functions: open,
 * fopen, readdir and so on. It needs this header only to start with files, or to unpack some.
 */
#ifndef PLAIT_FS_LIBRARY_H
#define PLAIT_FS_LIBRARY_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct plait_preload {
  const void *bytes;
  size_t length;
};

/*
 * The program starts with the files of a tar archive, which is an array in its memory:
 *
 *     static const unsigned char assets[] = {
 *     #embed "assets.tar"
 *     };
 *     PLAIT_PRELOAD(assets)
 *
 * It is unpacked at the first call that concerns files. If it is damaged, the program prints what is wrong, at which
 * byte, and traps.
 */
#define PLAIT_PRELOAD(array)                       \
  extern const struct plait_preload plait_preload; \
  const struct plait_preload plait_preload = {array, sizeof(array)};

/*
 * Unpacks a tar archive into the root directory: ustar, with the extensions of pax and GNU for long names. Files that
 * exist are replaced; a name may start with a slash or not. Any thread. Returns 0 or a negative errno:
 * -22 (EINVAL) if the archive is damaged: then nothing is unpacked, and plait_fs_check_tar() says what is wrong;
 * another one if, for example, memory runs out: then what came before is unpacked, and no other file is changed.
 */
int plait_fs_unpack(const void *tar, size_t length);

struct plait_fs_fault {
  const char *what; /* a constant, in English; NULL if nothing is wrong */
  size_t at;        /* the byte of the archive */
};

/*
 * Checks an archive, and unpacks nothing. 0, or -22 (EINVAL) if it is damaged, cut off, or has a path with `..` in it;
 * then `fault` says where. Any thread.
 */
int plait_fs_check_tar(const void *tar, size_t length, struct plait_fs_fault *fault);

#ifdef __cplusplus
}
#endif

#endif
