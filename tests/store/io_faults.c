/* Injects I/O errors into the calls with which SQLite writes and reads a database.
 *
 * A process that has it in LD_PRELOAD arms it with fault_arm(). From then on calls on files whose
 * name has the given text are counted, and the one with that number fails.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

enum call { WRITE = 1, SYNC = 2, TRUNCATE = 4, READ = 8 };

static char part[256];
static int calls, number, error, lasting, seen;

/* `code` is an errno, or 0 for a write that ends in the middle. */
void fault_arm(const char *name, int which, int at, int code, int stays) {
    snprintf(part, sizeof part, "%s", name);
    calls = which, number = at, error = code, lasting = stays, seen = 0;
}

int fault_disarm(void) {
    int count = seen;
    calls = 0;
    return count;
}

static int fires(int file, enum call call) {
    char link[64], path[4096];
    if (!(calls & call)) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = 0;
    if (!strstr(path, part)) return 0;
    seen++;
    return seen == number || (lasting && seen > number);
}

#define REAL(name) __typeof__(&name) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

#define WRITES(name, offset_type)                                                          \
    ssize_t name(int file, const void *data, size_t size, offset_type offset) {            \
        REAL(name);                                                                        \
        if (fires(file, WRITE)) {                                                          \
            if (!error && size > 1) return real(file, data, size / 2, offset);             \
            errno = error ? error : ENOSPC;                                                \
            return -1;                                                                     \
        }                                                                                  \
        return real(file, data, size, offset);                                             \
    }
WRITES(pwrite, off_t)
WRITES(pwrite64, off64_t)

ssize_t write(int file, const void *data, size_t size) {
    REAL(write);
    if (fires(file, WRITE)) {
        if (!error && size > 1) return real(file, data, size / 2);
        errno = error ? error : ENOSPC;
        return -1;
    }
    return real(file, data, size);
}

#define READS(name, offset_type)                                                           \
    ssize_t name(int file, void *data, size_t size, offset_type offset) {                  \
        REAL(name);                                                                        \
        if (fires(file, READ)) {                                                           \
            errno = EIO;                                                                   \
            return -1;                                                                     \
        }                                                                                  \
        return real(file, data, size, offset);                                             \
    }
READS(pread, off_t)
READS(pread64, off64_t)

#define SYNCS(name)                                                                        \
    int name(int file) {                                                                   \
        REAL(name);                                                                        \
        if (fires(file, SYNC)) {                                                           \
            errno = EIO;                                                                   \
            return -1;                                                                     \
        }                                                                                  \
        return real(file);                                                                 \
    }
SYNCS(fsync)
SYNCS(fdatasync)

#define TRUNCATES(name, offset_type)                                                       \
    int name(int file, offset_type size) {                                                 \
        REAL(name);                                                                        \
        if (fires(file, TRUNCATE)) {                                                       \
            errno = error ? error : EIO;                                                   \
            return -1;                                                                     \
        }                                                                                  \
        return real(file, size);                                                           \
    }
TRUNCATES(ftruncate, off_t)
TRUNCATES(ftruncate64, off64_t)
