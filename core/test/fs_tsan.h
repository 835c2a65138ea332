/*
 * fs_tsan: what ThreadSanitizer is told about core/fs, in tests of several threads. One translation unit of a program
 * includes it.
 *
 * Readers may read memory that was freed and filled again; the seqlock makes them discard what they read.
 * ThreadSanitizer knows nothing of seqlocks, so filling a new block is suppressed. All changes of published memory are
 * made word by word (plait_put), and are checked.
 */
#ifndef PLAIT_TEST_FS_TSAN_H
#define PLAIT_TEST_FS_TSAN_H

const char *__tsan_default_suppressions(void);
const char *__tsan_default_suppressions(void) { return "race:plait_zero\nrace:plait_copy\n"; }

/* The longest history, so that reports name the writing function: without a name nothing is suppressed. */
const char *__tsan_default_options(void);
const char *__tsan_default_options(void) { return "history_size=7"; }

#endif
