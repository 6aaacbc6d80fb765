/* Shapes, coordinates and weights of given poses, written to a file for comparison. */
#include "common.h"

static void put(FILE *out, const float *values, size_t count) {
    CHECK(fwrite(values, sizeof *values, count, out) == count);
}

/* Layouts with gaps: the attributes have the same bits as in arrays of their own, the gaps stay. */
static void check_interleaved(eigenskin_character *character, const float *positions, const float *normals,
                              const float *tangents, size_t vertices) {
    static const eigenskin_layout layouts[] = {
        {3, 0, EIGENSKIN_NONE, EIGENSKIN_NONE},
        {6, 3, 0, EIGENSKIN_NONE},
        {12, 1, 5, EIGENSKIN_NONE},
        {9, 6, EIGENSKIN_NONE, EIGENSKIN_NONE},
        /* only with tangents */
        {10, 7, 4, 0},
        {17, 2, 12, 6},
        {11, 8, 1, 4},
    };
    for (size_t l = 0; l < (tangents ? 7 : 4); l++) {
        const eigenskin_layout *layout = &layouts[l];
        size_t floats = layout->stride * vertices;
        float *buffer = allocated(floats, sizeof *buffer);
        for (size_t i = 0; i < floats; i++) buffer[i] = (float)i + 0.25f;
        OK(eigenskin_evaluate_interleaved(character, buffer, floats, layout));
        for (size_t i = 0; i < floats; i++) {
            size_t vertex = i / layout->stride, at = i % layout->stride;
            float expected = (float)i + 0.25f;
            if (at >= layout->position && at < layout->position + 3)
                expected = positions[3 * vertex + at - layout->position];
            else if (layout->normal != EIGENSKIN_NONE && at >= layout->normal && at < layout->normal + 3)
                expected = normals[3 * vertex + at - layout->normal];
            else if (layout->tangent != EIGENSKIN_NONE && at >= layout->tangent && at < layout->tangent + 4)
                expected = tangents[4 * vertex + at - layout->tangent];
            CHECK(memcmp(&buffer[i], &expected, sizeof expected) == 0);
        }
        free(buffer);
    }
}

static void write_shape(eigenskin_character *character, const eigenskin_model *model, FILE *out) {
    size_t vertices = eigenskin_vertex_count(model);
    size_t components = eigenskin_component_count(model), targets = eigenskin_target_count(model);
    float *positions = allocated(3 * vertices, sizeof(float)), *normals = allocated(3 * vertices, sizeof(float));
    float *alone = allocated(3 * vertices, sizeof(float)), *tangents = NULL;
    /* One float further than malloc aligns it. */
    float *room = allocated(4 * vertices + 1, sizeof(float));
    float *coordinates = allocated(components, sizeof(float)), *weights = allocated(targets, sizeof(float));
    /* Coordinates need no shape first. */
    OK(eigenskin_coordinates(character, coordinates, components));
    OK(eigenskin_target_weights(character, weights, targets));
    OK(eigenskin_evaluate(character, positions, normals, NULL, vertices));
    OK(eigenskin_evaluate(character, alone, NULL, NULL, vertices));
    CHECK(memcmp(positions, alone, 3 * vertices * sizeof(float)) == 0);
    if (eigenskin_has_tangents(model)) {
        tangents = room + 1;
        FAILS(EIGENSKIN_NULL_POINTER, "tangents need them",
              eigenskin_evaluate(character, alone, NULL, tangents, vertices));
        OK(eigenskin_evaluate(character, alone, normals, tangents, vertices));
        CHECK(memcmp(positions, alone, 3 * vertices * sizeof(float)) == 0);
    }
    if (tangents) {
        eigenskin_layout layout = {7, 0, EIGENSKIN_NONE, 3};
        float *buffer = allocated(7 * vertices, sizeof(float));
        FAILS(EIGENSKIN_OUT_OF_RANGE, "needs normals",
              eigenskin_evaluate_interleaved(character, buffer, 7 * vertices, &layout));
        free(buffer);
    }
    check_interleaved(character, positions, normals, tangents, vertices);
    put(out, positions, 3 * vertices);
    put(out, normals, 3 * vertices);
    put(out, coordinates, components);
    put(out, weights, targets);
    if (tangents) put(out, tangents, 4 * vertices);
    free(positions);
    free(normals);
    free(alone);
    free(room);
    free(coordinates);
    free(weights);
}

/* `poses`: for each pose 16 doubles per joint, then one per control. For each pose three shapes are written:
 * joints all at once in double precision, one by one, and in single precision. */
void write_shapes(const char *model_path, eigenskin_storage storage, const char *poses_path,
                  const char *out_path) {
    eigenskin_model *model = loaded(model_path, storage);
    eigenskin_character *character = NULL;
    bytes poses = read_file(poses_path);
    FILE *out = fopen(out_path, "wb");
    size_t joints = eigenskin_joint_count(model), controls = eigenskin_control_count(model);
    size_t per_pose = 16 * joints + controls;
    const double *numbers = (const double *)(void *)poses.data;
    float *single = allocated(16 * joints, sizeof(float));
    CHECK(out != NULL && poses.size % (per_pose * sizeof(double)) == 0);
    OK(eigenskin_character_new(model, &character));
    for (size_t p = 0; p < poses.size / (per_pose * sizeof(double)); p++) {
        const double *pose = numbers + p * per_pose, *values = pose + 16 * joints;
        OK(eigenskin_set_joints_double(character, pose, joints));
        OK(eigenskin_set_controls(character, values, controls));
        write_shape(character, model, out);

        OK(eigenskin_reset(character));
        for (size_t j = joints; j-- > 0;) OK(eigenskin_set_joint_double(character, j, pose + 16 * j));
        for (size_t c = controls; c-- > 0;) OK(eigenskin_set_control(character, c, values[c]));
        write_shape(character, model, out);

        OK(eigenskin_reset(character));
        for (size_t i = 0; i < 16 * joints; i++) single[i] = (float)pose[i];
        for (size_t j = 0; j < joints; j += 2) OK(eigenskin_set_joint(character, j, single + 16 * j));
        OK(eigenskin_set_joints(character, single, joints));
        OK(eigenskin_set_controls(character, values, controls));
        write_shape(character, model, out);
    }
    CHECK(fclose(out) == 0);
    free(single);
    free(poses.data);
    eigenskin_character_free(character);
    eigenskin_model_free(model);
}
