/* Bends the last joint of a model by 45 degrees and writes the shape: skin MODEL.glb OUT.obj */
#include <eigenskin.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static void check(eigenskin_status status) {
    if (status == EIGENSKIN_OK) return;
    fprintf(stderr, "%s: %s\n", eigenskin_status_name(status), eigenskin_last_error());
    exit(1);
}

int main(int argc, char **argv) {
    FILE *file = argc == 3 ? fopen(argv[1], "rb") : NULL;
    if (!file) return fprintf(stderr, "usage: skin MODEL.glb OUT.obj\n"), 2;
    fseek(file, 0, SEEK_END);
    size_t size = (size_t)ftell(file);
    void *glb = malloc(size);
    rewind(file);
    size = glb ? fread(glb, 1, size, file) : 0;
    fclose(file);

    eigenskin_model *model;
    eigenskin_character *character;
    check(eigenskin_model_load(glb, size, EIGENSKIN_F16, &model));
    free(glb); /* the model does not need it any more */
    check(eigenskin_character_new(model, &character));

    size_t joints = eigenskin_joint_count(model), vertices = eigenskin_vertex_count(model);
    if (joints > 0) {
        float rest[16], bent[16];
        float c = cosf(0.785f), s = sinf(0.785f);
        check(eigenskin_joint_rest(model, joints - 1, rest));
        for (int i = 0; i < 16; i++) bent[i] = rest[i];
        for (int i = 0; i < 4; i++) { /* about the joint's own x axis */
            bent[4 + i] = c * rest[4 + i] + s * rest[8 + i];
            bent[8 + i] = c * rest[8 + i] - s * rest[4 + i];
        }
        check(eigenskin_set_joint(character, joints - 1, bent)); /* the others stay at rest */
    }

    float *positions = malloc(3 * vertices * sizeof *positions);
    FILE *out = fopen(argv[2], "w");
    if (!positions || !out) return fprintf(stderr, "cannot write %s\n", argv[2]), 1;
    check(eigenskin_evaluate(character, positions, NULL, NULL, vertices));
    for (size_t v = 0; v < vertices; v++)
        fprintf(out, "v %g %g %g\n", positions[3 * v], positions[3 * v + 1], positions[3 * v + 2]);
    fclose(out);
    free(positions);
    eigenskin_character_free(character);
    eigenskin_model_free(model);
    return 0;
}
