/* sys/xattr.h - what the library calls of that header of macOS, for `make check-macos`: the compiler
 * brings the headers of the C library alone. */
#ifndef MACOS_SYS_XATTR_H
#define MACOS_SYS_XATTR_H

#include <sys/types.h>

ssize_t getxattr(const char *path, const char *name, void *value, size_t size, u_int32_t position,
                 int options);
int setxattr(const char *path, const char *name, const void *value, size_t size, u_int32_t position,
             int options);

#endif
