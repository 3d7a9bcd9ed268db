/* Checks of the test programs: a failed one ends the program with its place. */
#ifndef CHECK_H
#define CHECK_H

#include <chronoxide.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition)                                                                                   \
    do {                                                                                                   \
        if (!(condition)) {                                                                                \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                                \
            exit(1);                                                                                       \
        }                                                                                                  \
    } while (0)

/* Checks the status of a call, and that its error has this status and a message with this text. */
#define FAILS(expected, text, call)                                                                        \
    do {                                                                                                   \
        cx_error error = {-1, "no message"};                                                               \
        cx_status status = (call);                                                                         \
        if (status != (expected) || error.status != (expected) || !strstr(error.message, (text))) {        \
            fprintf(stderr, "%s:%d: %s: %d %d %s\n", __FILE__, __LINE__, #call, (int)status,               \
                    (int)error.status, error.message);                                                     \
            exit(1);                                                                                       \
        }                                                                                                  \
    } while (0)

/* Checks that a call succeeds, and leaves the error alone. */
#define SUCCEEDS(call)                                                                                     \
    do {                                                                                                   \
        cx_error error = {-1, "no message"};                                                               \
        cx_status status = (call);                                                                         \
        if (status != CX_OK || error.status != -1) {                                                       \
            fprintf(stderr, "%s:%d: %s: %d %s\n", __FILE__, __LINE__, #call, (int)status,               \
                    error.message);                                                                        \
            exit(1);                                                                                       \
        }                                                                                                  \
    } while (0)

static inline int is_text(const char *data, size_t len, const char *text) {
    return len == strlen(text) && memcmp(data, text, len) == 0;
}

/* Returns a label whose strings live as long as the arguments. */
static inline cx_label label(const char *name, const char *value) {
    cx_label made = {name, strlen(name), value, strlen(value)};
    return made;
}

static inline cx_selector *selector(const char *text) {
    cx_selector *made;
    SUCCEEDS(cx_selector_parse(text, strlen(text), &made, &error));
    return made;
}

#endif
