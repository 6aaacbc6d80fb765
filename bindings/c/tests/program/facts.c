/* What a model says about itself, written as text for comparison. */
#include "common.h"

#include <inttypes.h>

/* The bits of a number. */
static void put_double(FILE *out, double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    fprintf(out, " %016" PRIx64, bits);
}

/* An index, or -1 for EIGENSKIN_NONE. */
static void put_index(FILE *out, size_t index) {
    if (index == EIGENSKIN_NONE)
        fprintf(out, " -1");
    else
        fprintf(out, " %zu", index);
}

static void write_joint(FILE *out, const eigenskin_model *model, size_t joint) {
    const char *name;
    size_t found, parent, reference, node;
    double rest[16];
    float single[16];
    OK(eigenskin_joint_name(model, joint, &name));
    OK(eigenskin_find_joint(model, name, &found));
    OK(eigenskin_joint_parent(model, joint, &parent));
    OK(eigenskin_joint_reference(model, joint, &reference));
    OK(eigenskin_joint_node(model, joint, &node));
    OK(eigenskin_joint_rest_double(model, joint, rest));
    OK(eigenskin_joint_rest(model, joint, single));
    CHECK(found == joint);
    fprintf(out, "joint %s", name);
    put_index(out, parent);
    put_index(out, reference);
    put_index(out, node);
    for (int i = 0; i < 16; i++) {
        CHECK(single[i] == (float)rest[i]);
        put_double(out, rest[i]);
    }
    fprintf(out, "\n");
}

static void write_tangents(FILE *out, const eigenskin_model *model) {
    size_t vertices = eigenskin_vertex_count(model);
    float *tangents = allocated(4 * vertices, sizeof(float));
    FAILS(EIGENSKIN_NULL_POINTER, "tangents", eigenskin_rest_tangents(model, NULL, vertices));
    FAILS(EIGENSKIN_WRONG_SIZE, "vertex_count", eigenskin_rest_tangents(model, tangents, vertices - 1));
    OK(eigenskin_rest_tangents(model, tangents, vertices));
    fprintf(out, "tangents");
    for (size_t i = 0; i < 4 * vertices; i++) put_double(out, (double)tangents[i]);
    fprintf(out, "\n");
    free(tangents);
}

void write_facts(const char *path, const char *out_path) {
    eigenskin_model *model = loaded(path, EIGENSKIN_F32);
    size_t triangles = eigenskin_triangle_count(model);
    uint32_t *corners = allocated(3 * triangles, sizeof *corners);
    float scene[16];
    FILE *out = fopen(out_path, "w");
    CHECK(out != NULL);
    fprintf(out, "counts %zu %zu %zu %zu %zu %zu %zu %d\n", eigenskin_vertex_count(model), triangles,
            eigenskin_joint_count(model), eigenskin_control_count(model), eigenskin_component_count(model),
            eigenskin_target_count(model), eigenskin_primitive_count(model), eigenskin_has_tangents(model));
    for (size_t joint = 0; joint < eigenskin_joint_count(model); joint++) write_joint(out, model, joint);
    for (size_t control = 0; control < eigenskin_control_count(model); control++) {
        const char *name;
        size_t found;
        double rest;
        OK(eigenskin_control_name(model, control, &name));
        OK(eigenskin_find_control(model, name, &found));
        OK(eigenskin_control_rest(model, control, &rest));
        CHECK(found == control);
        fprintf(out, "control %s", name);
        put_double(out, rest);
        fprintf(out, "\n");
    }
    for (size_t i = 0; i < eigenskin_primitive_count(model); i++) {
        eigenskin_primitive p;
        OK(eigenskin_get_primitive(model, i, &p));
        fprintf(out, "primitive %zu %zu %zu %zu %zu\n", p.mesh, p.primitive, p.first_vertex, p.vertex_count,
                p.first_target);
    }
    OK(eigenskin_triangles(model, corners, triangles));
    fprintf(out, "triangles");
    for (size_t i = 0; i < 3 * triangles; i++) fprintf(out, " %" PRIu32, corners[i]);
    OK(eigenskin_scene_from_mesh(model, scene));
    fprintf(out, "\nscene");
    for (int i = 0; i < 16; i++) put_double(out, (double)scene[i]);
    fprintf(out, "\n");
    if (eigenskin_has_tangents(model)) write_tangents(out, model);
    CHECK(fclose(out) == 0);
    free(corners);
    eigenskin_model_free(model);
}
