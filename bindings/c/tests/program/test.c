/* The interface as a C program sees it. Called by tests/program.rs, which compares what is written. */
#include "common.h"

bytes read_file(const char *path) {
    bytes file;
    FILE *stream = fopen(path, "rb");
    CHECK(stream != NULL);
    CHECK(fseek(stream, 0, SEEK_END) == 0);
    file.size = (size_t)ftell(stream);
    rewind(stream);
    file.data = allocated(file.size, 1);
    CHECK(fread(file.data, 1, file.size, stream) == file.size);
    fclose(stream);
    return file;
}

/* Not cleared, so that valgrind sees what is never written. */
void *allocated(size_t count, size_t size) {
    void *memory = malloc(count * size > 0 ? count * size : 1);
    CHECK(memory != NULL);
    return memory;
}

eigenskin_model *loaded(const char *path, eigenskin_storage storage) {
    eigenskin_model *model = NULL;
    bytes file = read_file(path);
    OK(eigenskin_model_load(file.data, file.size, storage, &model));
    /* The model does not need the bytes any more. */
    memset(file.data, 0xff, file.size);
    free(file.data);
    return model;
}

int main(int argc, char **argv) {
    CHECK(eigenskin_version() == EIGENSKIN_VERSION);
    if (argc == 6 && strcmp(argv[1], "shapes") == 0) {
        write_shapes(argv[2], atoi(argv[3]), argv[4], argv[5]);
    } else if (argc == 4 && strcmp(argv[1], "facts") == 0) {
        write_facts(argv[2], argv[3]);
    } else if (argc == 4 && strcmp(argv[1], "misuse") == 0) {
        misuse(argv[2], argv[3]);
    } else if (argc == 4 && strcmp(argv[1], "truncated") == 0) {
        truncated(argv[2], (size_t)atoi(argv[3]));
    } else if (argc == 4 && strcmp(argv[1], "damaged") == 0) {
        damaged(argv[2], (size_t)atoi(argv[3]));
    } else if (argc == 3 && strcmp(argv[1], "threads") == 0) {
        two_threads(argv[2]);
    } else {
        fprintf(stderr, "usage: test shapes MODEL STORAGE POSES OUT | facts MODEL OUT | misuse MODEL RIG | truncated MODEL STEP"
                        " | damaged MODEL TRIALS"
                        " | threads MODEL\n");
        return 2;
    }
    return 0;
}
