/* What the parts of the test program share. */
#ifndef COMMON_H
#define COMMON_H

#include <eigenskin.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Ends the program with the place and the last message, if `condition` does not hold. */
#define CHECK(condition)                                                                              \
    do {                                                                                              \
        if (!(condition)) {                                                                           \
            fprintf(stderr, "%s:%d: %s (%s)\n", __FILE__, __LINE__, #condition, eigenskin_last_error()); \
            exit(1);                                                                                  \
        }                                                                                             \
    } while (0)
#define OK(call) CHECK((call) == EIGENSKIN_OK)
/* The call fails with this code, and the message has this text in it. */
#define FAILS(status, text, call)                                  \
    do {                                                           \
        CHECK((call) == (status));                                 \
        CHECK(strstr(eigenskin_last_error(), (text)) != NULL);     \
    } while (0)

typedef struct bytes {
    unsigned char *data;
    size_t size;
} bytes;

bytes read_file(const char *path);
void *allocated(size_t count, size_t size);
eigenskin_model *loaded(const char *path, eigenskin_storage storage);

void write_shapes(const char *model, eigenskin_storage storage, const char *poses, const char *out);
void write_facts(const char *model, const char *out);
void misuse(const char *model, const char *rig);
void truncated(const char *model, size_t step);
void damaged(const char *model, size_t trials);
void two_threads(const char *model);

#endif
