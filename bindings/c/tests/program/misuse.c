/* Everything that a program can do wrong and that can be noticed. */
#include "common.h"

#include <math.h>

static void bad_files(const char *model_path, const char *rig_path) {
    eigenskin_model *model;
    bytes file = read_file(model_path), rig = read_file(rig_path);
    unsigned char garbage[256];
    FAILS(EIGENSKIN_NULL_POINTER, "glb", eigenskin_model_load(NULL, 0, EIGENSKIN_F16, &model));
    CHECK(model == NULL);
    FAILS(EIGENSKIN_NULL_POINTER, "model", eigenskin_model_load(file.data, file.size, EIGENSKIN_F16, NULL));
    FAILS(EIGENSKIN_OUT_OF_RANGE, "storage 3", eigenskin_model_load(file.data, file.size, 3, &model));
    FAILS(EIGENSKIN_OUT_OF_RANGE, "storage -1", eigenskin_model_load(file.data, file.size, -1, &model));
    FAILS(EIGENSKIN_WRONG_SIZE, "glb", eigenskin_model_load(file.data, SIZE_MAX, EIGENSKIN_F16, &model));
    FAILS(EIGENSKIN_BAD_FILE, "glTF", eigenskin_model_load(file.data, 0, EIGENSKIN_F16, &model));
    for (size_t i = 0; i < sizeof garbage; i++) garbage[i] = (unsigned char)(37 * i + 11);
    model = (eigenskin_model *)&garbage;
    FAILS(EIGENSKIN_BAD_FILE, "glTF", eigenskin_model_load(garbage, sizeof garbage, EIGENSKIN_F16, &model));
    CHECK(model == NULL);
    FAILS(EIGENSKIN_NOT_A_MODEL, "a plain rig",
          eigenskin_model_load(rig.data, rig.size, EIGENSKIN_F16, &model));
    FAILS(EIGENSKIN_UNSUPPORTED, "version",
          eigenskin_model_load("{\"asset\":{\"version\":\"1.0\"}}", 27, EIGENSKIN_F16, &model));
    CHECK(model == NULL);
    free(file.data);
    free(rig.data);
}

/* Every start of a file that is not the whole file is refused. */
void truncated(const char *path, size_t step) {
    bytes file = read_file(path);
    size_t tried = 0;
    CHECK(step > 0);
    for (size_t size = 0; size < file.size; size += step, tried++) {
        eigenskin_model *model;
        /* In memory of its own, so that valgrind sees a byte too many. */
        unsigned char *start = allocated(size, 1);
        memcpy(start, file.data, size);
        FAILS(EIGENSKIN_BAD_FILE, "", eigenskin_model_load(start, size, EIGENSKIN_F16, &model));
        CHECK(model == NULL && strlen(eigenskin_last_error()) > 10);
        free(start);
    }
    CHECK(tried >= 50);
    free(file.data);
}

/* Whatever a damaged file is taken for, using it does no harm. */
static size_t use(const unsigned char *data, size_t size) {
    eigenskin_model *model;
    eigenskin_character *character;
    eigenskin_status status = eigenskin_model_load(data, size, EIGENSKIN_F16, &model);
    size_t vertices, targets;
    float *room;
    CHECK(status == EIGENSKIN_OK || status == EIGENSKIN_BAD_FILE || status == EIGENSKIN_UNSUPPORTED ||
          status == EIGENSKIN_NOT_A_MODEL);
    if (status != EIGENSKIN_OK) return 0;
    vertices = eigenskin_vertex_count(model);
    targets = eigenskin_target_count(model);
    OK(eigenskin_character_new(model, &character));
    room = allocated(3 * vertices + (targets < 100000 ? targets : 0), sizeof(float));
    OK(eigenskin_evaluate(character, room, NULL, NULL, vertices));
    if (targets < 100000) OK(eigenskin_target_weights(character, room, targets));
    free(room);
    eigenskin_character_free(character);
    eigenskin_model_free(model);
    return 1;
}

void damaged(const char *path, size_t trials) {
    bytes file = read_file(path);
    uint32_t random = 1;
    size_t readable = 0;
    for (size_t trial = 0; trial < trials; trial++) {
        size_t at[3];
        unsigned char old[3];
        for (int i = 0; i < 3; i++) {
            random = random * 1664525u + 1013904223u;
            at[i] = (random >> 8) % file.size;
            old[i] = file.data[at[i]];
            /* Digits become other digits, so that much of the JSON stays readable. */
            file.data[at[i]] = (unsigned char)(old[i] ^ (1u << (random >> 5) % 4));
        }
        readable += use(file.data, file.size);
        for (int i = 3; i-- > 0;) file.data[at[i]] = old[i];
    }
    CHECK(use(file.data, file.size) == 1);
    CHECK(readable > 0 && readable < trials);
    free(file.data);
}

static void bad_questions(const eigenskin_model *model) {
    size_t joints = eigenskin_joint_count(model), controls = eigenskin_control_count(model), index = 77;
    size_t triangles = eigenskin_triangle_count(model), vertices = eigenskin_vertex_count(model);
    float matrix[16];
    double doubles[16];
    uint32_t corner;
    const char *name = NULL;
    eigenskin_primitive primitive;
    CHECK(eigenskin_vertex_count(NULL) == 0 && eigenskin_triangle_count(NULL) == 0);
    CHECK(eigenskin_joint_count(NULL) == 0 && eigenskin_control_count(NULL) == 0);
    CHECK(eigenskin_component_count(NULL) == 0 && eigenskin_target_count(NULL) == 0);
    CHECK(eigenskin_primitive_count(NULL) == 0 && eigenskin_has_tangents(NULL) == 0);
    CHECK(strstr(eigenskin_last_error(), "model is a null pointer") != NULL);

    FAILS(EIGENSKIN_NULL_POINTER, "model", eigenskin_joint_name(NULL, 0, &name));
    FAILS(EIGENSKIN_NULL_POINTER, "name", eigenskin_joint_name(model, 0, NULL));
    FAILS(EIGENSKIN_OUT_OF_RANGE, "no joint", eigenskin_joint_name(model, joints, &name));
    CHECK(name == NULL);
    FAILS(EIGENSKIN_NULL_POINTER, "model", eigenskin_find_joint(NULL, "a", &index));
    FAILS(EIGENSKIN_NULL_POINTER, "name", eigenskin_find_joint(model, NULL, &index));
    OK(eigenskin_joint_name(model, 0, &name));
    FAILS(EIGENSKIN_NULL_POINTER, "joint", eigenskin_find_joint(model, name, NULL));
    FAILS(EIGENSKIN_OUT_OF_RANGE, "\"no such\"", eigenskin_find_joint(model, "no such", &index));
    FAILS(EIGENSKIN_NULL_POINTER, "model", eigenskin_joint_parent(NULL, 0, &index));
    FAILS(EIGENSKIN_NULL_POINTER, "parent", eigenskin_joint_parent(model, 0, NULL));
    FAILS(EIGENSKIN_OUT_OF_RANGE, "no joint", eigenskin_joint_parent(model, SIZE_MAX, &index));
    FAILS(EIGENSKIN_NULL_POINTER, "model", eigenskin_joint_reference(NULL, 0, &index));
    FAILS(EIGENSKIN_NULL_POINTER, "reference", eigenskin_joint_reference(model, 0, NULL));
    FAILS(EIGENSKIN_OUT_OF_RANGE, "no joint", eigenskin_joint_reference(model, joints, &index));
    FAILS(EIGENSKIN_NULL_POINTER, "model", eigenskin_joint_node(NULL, 0, &index));
    FAILS(EIGENSKIN_NULL_POINTER, "node", eigenskin_joint_node(model, 0, NULL));
    FAILS(EIGENSKIN_OUT_OF_RANGE, "no joint", eigenskin_joint_node(model, joints, &index));
    FAILS(EIGENSKIN_NULL_POINTER, "model", eigenskin_joint_rest(NULL, 0, matrix));
    FAILS(EIGENSKIN_NULL_POINTER, "world_from_joint", eigenskin_joint_rest(model, 0, NULL));
    FAILS(EIGENSKIN_OUT_OF_RANGE, "no joint", eigenskin_joint_rest(model, joints, matrix));
    FAILS(EIGENSKIN_NULL_POINTER, "model", eigenskin_joint_rest_double(NULL, 0, doubles));
    FAILS(EIGENSKIN_NULL_POINTER, "world_from_joint", eigenskin_joint_rest_double(model, 0, NULL));
    FAILS(EIGENSKIN_OUT_OF_RANGE, "no joint", eigenskin_joint_rest_double(model, joints, doubles));
    FAILS(EIGENSKIN_NULL_POINTER, "model", eigenskin_scene_from_mesh(NULL, matrix));
    FAILS(EIGENSKIN_NULL_POINTER, "scene_from_mesh", eigenskin_scene_from_mesh(model, NULL));
    FAILS(EIGENSKIN_NULL_POINTER, "model", eigenskin_control_name(NULL, 0, &name));
    FAILS(EIGENSKIN_NULL_POINTER, "name", eigenskin_control_name(model, 0, NULL));
    FAILS(EIGENSKIN_OUT_OF_RANGE, "no control", eigenskin_control_name(model, controls, &name));
    FAILS(EIGENSKIN_NULL_POINTER, "model", eigenskin_find_control(NULL, "a", &index));
    FAILS(EIGENSKIN_NULL_POINTER, "name", eigenskin_find_control(model, NULL, &index));
    FAILS(EIGENSKIN_OUT_OF_RANGE, "no control", eigenskin_find_control(model, "", &index));
    OK(eigenskin_control_name(model, controls - 1, &name));
    FAILS(EIGENSKIN_NULL_POINTER, "control", eigenskin_find_control(model, name, NULL));
    FAILS(EIGENSKIN_NULL_POINTER, "model", eigenskin_control_rest(NULL, 0, doubles));
    FAILS(EIGENSKIN_NULL_POINTER, "value", eigenskin_control_rest(model, 0, NULL));
    FAILS(EIGENSKIN_OUT_OF_RANGE, "no control", eigenskin_control_rest(model, controls, doubles));
    FAILS(EIGENSKIN_NULL_POINTER, "model", eigenskin_get_primitive(NULL, 0, &primitive));
    FAILS(EIGENSKIN_NULL_POINTER, "primitive", eigenskin_get_primitive(model, 0, NULL));
    FAILS(EIGENSKIN_OUT_OF_RANGE, "no primitive",
          eigenskin_get_primitive(model, eigenskin_primitive_count(model), &primitive));
    FAILS(EIGENSKIN_NULL_POINTER, "model", eigenskin_triangles(NULL, &corner, triangles));
    FAILS(EIGENSKIN_NULL_POINTER, "corners", eigenskin_triangles(model, NULL, triangles));
    FAILS(EIGENSKIN_WRONG_SIZE, "triangle_count is 0", eigenskin_triangles(model, &corner, 0));
    FAILS(EIGENSKIN_NULL_POINTER, "model", eigenskin_rest_tangents(NULL, matrix, vertices));
    FAILS(EIGENSKIN_UNSUPPORTED, "no tangents", eigenskin_rest_tangents(model, matrix, vertices));
    CHECK(index == 77);
}

/* Matrices that no joint can have; the pose stays as it was. */
static void bad_poses(const eigenskin_model *model, eigenskin_character *character) {
    size_t joints = eigenskin_joint_count(model), controls = eigenskin_control_count(model);
    size_t components = eigenskin_component_count(model);
    float *matrices = allocated(16 * joints, sizeof(float)), *last = matrices + 16 * (joints - 1), good[16];
    float *before = allocated(components, sizeof(float)), *after = allocated(components, sizeof(float));
    double *values = allocated(controls, sizeof(double)), doubles[16];
    const char *name, *control;
    OK(eigenskin_joint_name(model, joints - 1, &name));
    OK(eigenskin_control_name(model, controls - 1, &control));
    for (size_t j = 0; j < joints; j++) {
        OK(eigenskin_joint_rest(model, j, matrices + 16 * j));
        for (int i = 0; i < 3; i++) matrices[16 * j + i] += 0.3f * matrices[16 * j + 4 + i];
    }
    for (size_t c = 0; c < controls; c++) OK(eigenskin_control_rest(model, c, &values[c]));
    memcpy(good, last, sizeof good);
    OK(eigenskin_reset(character));
    OK(eigenskin_coordinates(character, before, components));
    for (int i = 0; i < 16; i++) {
        static const float bad[] = {NAN, INFINITY, -INFINITY};
        last[i] = bad[i % 3];
        FAILS(EIGENSKIN_BAD_NUMBER, name, eigenskin_set_joints(character, matrices, joints));
        FAILS(EIGENSKIN_BAD_NUMBER, "not finite", eigenskin_set_joint(character, joints - 1, last));
        memcpy(last, good, sizeof good);
    }
    memset(last + 4, 0, 3 * sizeof(float));
    FAILS(EIGENSKIN_BAD_NUMBER, "singular", eigenskin_set_joints(character, matrices, joints));
    memcpy(last + 4, good + 8, 3 * sizeof(float));
    FAILS(EIGENSKIN_BAD_NUMBER, "singular", eigenskin_set_joint(character, joints - 1, last));
    memset(last, 0, 16 * sizeof(float));
    last[15] = 1;
    FAILS(EIGENSKIN_BAD_NUMBER, name, eigenskin_set_joint(character, joints - 1, last));
    for (int i = 0; i < 16; i++) last[i] = good[4 * (i % 4) + i / 4];
    last[3] = 0.5f;
    FAILS(EIGENSKIN_BAD_NUMBER, "column by column", eigenskin_set_joint(character, joints - 1, last));
    for (int i = 0; i < 16; i++) doubles[i] = good[i];
    doubles[12] = 1e300;
    FAILS(EIGENSKIN_BAD_NUMBER, name, eigenskin_set_joint_double(character, joints - 1, doubles));
    values[controls - 1] = NAN;
    FAILS(EIGENSKIN_BAD_NUMBER, control, eigenskin_set_controls(character, values, controls));
    FAILS(EIGENSKIN_BAD_NUMBER, control, eigenskin_set_control(character, controls - 1, HUGE_VAL));
    OK(eigenskin_coordinates(character, after, components));
    CHECK(memcmp(before, after, components * sizeof(float)) == 0);

    memcpy(last, good, sizeof good);
    FAILS(EIGENSKIN_NULL_POINTER, "character", eigenskin_reset(NULL));
    FAILS(EIGENSKIN_NULL_POINTER, "character", eigenskin_set_joints(NULL, matrices, joints));
    FAILS(EIGENSKIN_NULL_POINTER, "world_from_joint", eigenskin_set_joints(character, NULL, joints));
    FAILS(EIGENSKIN_WRONG_SIZE, "joint_count", eigenskin_set_joints(character, matrices, joints - 1));
    FAILS(EIGENSKIN_WRONG_SIZE, "joint_count", eigenskin_set_joints(character, matrices, SIZE_MAX));
    FAILS(EIGENSKIN_NULL_POINTER, "character", eigenskin_set_joints_double(NULL, doubles, joints));
    FAILS(EIGENSKIN_NULL_POINTER, "world_from_joint", eigenskin_set_joints_double(character, NULL, joints));
    FAILS(EIGENSKIN_WRONG_SIZE, "joint_count", eigenskin_set_joints_double(character, doubles, 0));
    FAILS(EIGENSKIN_NULL_POINTER, "character", eigenskin_set_joint(NULL, 0, good));
    FAILS(EIGENSKIN_NULL_POINTER, "world_from_joint", eigenskin_set_joint(character, 0, NULL));
    FAILS(EIGENSKIN_OUT_OF_RANGE, "no joint", eigenskin_set_joint(character, joints, good));
    FAILS(EIGENSKIN_NULL_POINTER, "character", eigenskin_set_joint_double(NULL, 0, doubles));
    FAILS(EIGENSKIN_NULL_POINTER, "world_from_joint", eigenskin_set_joint_double(character, 0, NULL));
    FAILS(EIGENSKIN_OUT_OF_RANGE, "no joint", eigenskin_set_joint_double(character, SIZE_MAX, doubles));
    FAILS(EIGENSKIN_NULL_POINTER, "character", eigenskin_set_controls(NULL, values, controls));
    FAILS(EIGENSKIN_NULL_POINTER, "values", eigenskin_set_controls(character, NULL, controls));
    FAILS(EIGENSKIN_WRONG_SIZE, "control_count", eigenskin_set_controls(character, values, controls + 1));
    FAILS(EIGENSKIN_NULL_POINTER, "character", eigenskin_set_control(NULL, 0, 0.0));
    FAILS(EIGENSKIN_OUT_OF_RANGE, "no control", eigenskin_set_control(character, controls, 0.0));
    FAILS(EIGENSKIN_BAD_POINTER, "multiple of 4",
          eigenskin_set_joint(character, 0, (const float *)(const void *)((const char *)matrices + 1)));
    free(matrices);
    free(before);
    free(after);
    free(values);
}

static void bad_results(const eigenskin_model *model, eigenskin_character *character) {
    size_t vertices = eigenskin_vertex_count(model), components = eigenskin_component_count(model);
    size_t targets = eigenskin_target_count(model), floats = 8 * vertices;
    float *room = allocated(floats, sizeof(float)), *normals = room + 3 * vertices;
    eigenskin_layout layout = {8, 0, 3, EIGENSKIN_NONE}, wrong;
    for (size_t i = 0; i < floats; i++) room[i] = -7;
    FAILS(EIGENSKIN_NULL_POINTER, "character", eigenskin_evaluate(NULL, room, normals, NULL, vertices));
    FAILS(EIGENSKIN_NULL_POINTER, "positions", eigenskin_evaluate(character, NULL, normals, NULL, vertices));
    FAILS(EIGENSKIN_WRONG_SIZE, "vertex_count", eigenskin_evaluate(character, room, NULL, NULL, vertices + 1));
    FAILS(EIGENSKIN_WRONG_SIZE, "vertex_count", eigenskin_evaluate(character, room, NULL, NULL, 0));
    FAILS(EIGENSKIN_WRONG_SIZE, "vertex_count", eigenskin_evaluate(character, room, NULL, NULL, SIZE_MAX));
    FAILS(EIGENSKIN_BAD_POINTER, "same memory", eigenskin_evaluate(character, room, room, NULL, vertices));
    FAILS(EIGENSKIN_BAD_POINTER, "same memory",
          eigenskin_evaluate(character, room, normals - 1, NULL, vertices));
    FAILS(EIGENSKIN_BAD_POINTER, "normals",
          eigenskin_evaluate(character, room, (float *)(void *)((char *)normals + 2), NULL, vertices));
    FAILS(EIGENSKIN_UNSUPPORTED, "no tangents",
          eigenskin_evaluate(character, room, NULL, room + 3 * vertices, vertices));
    FAILS(EIGENSKIN_NULL_POINTER, "character", eigenskin_evaluate_interleaved(NULL, room, floats, &layout));
    FAILS(EIGENSKIN_NULL_POINTER, "vertices", eigenskin_evaluate_interleaved(character, NULL, floats, &layout));
    FAILS(EIGENSKIN_NULL_POINTER, "layout", eigenskin_evaluate_interleaved(character, room, floats, NULL));
    FAILS(EIGENSKIN_WRONG_SIZE, "float_count",
          eigenskin_evaluate_interleaved(character, room, floats - 1, &layout));
#define WRONG_LAYOUT(text, member, value)                                           \
    wrong = layout;                                                                 \
    wrong.member = (value);                                                         \
    FAILS(EIGENSKIN_OUT_OF_RANGE, text, eigenskin_evaluate_interleaved(character, room, floats, &wrong))
    WRONG_LAYOUT("position", stride, 0);
    WRONG_LAYOUT("normal", stride, 5);
    WRONG_LAYOUT("position", position, 6);
    WRONG_LAYOUT("position", position, EIGENSKIN_NONE);
    WRONG_LAYOUT("overlap", position, 2);
    WRONG_LAYOUT("normal", normal, SIZE_MAX - 1);
    WRONG_LAYOUT("overlap", tangent, 4);
    WRONG_LAYOUT("tangent", tangent, 6);
    wrong = layout;
    wrong.stride = SIZE_MAX;
    FAILS(EIGENSKIN_WRONG_SIZE, "float_count", eigenskin_evaluate_interleaved(character, room, floats, &wrong));
    wrong.stride = 10;
    wrong.tangent = 6;
    FAILS(EIGENSKIN_UNSUPPORTED, "no tangents",
          eigenskin_evaluate_interleaved(character, room, 10 * vertices, &wrong));
    FAILS(EIGENSKIN_NULL_POINTER, "character", eigenskin_coordinates(NULL, room, components));
    FAILS(EIGENSKIN_NULL_POINTER, "coordinates", eigenskin_coordinates(character, NULL, components));
    FAILS(EIGENSKIN_WRONG_SIZE, "component_count", eigenskin_coordinates(character, room, components + 1));
    FAILS(EIGENSKIN_NULL_POINTER, "character", eigenskin_target_weights(NULL, room, targets));
    FAILS(EIGENSKIN_NULL_POINTER, "weights", eigenskin_target_weights(character, NULL, targets));
    FAILS(EIGENSKIN_WRONG_SIZE, "target_count", eigenskin_target_weights(character, room, targets - 1));
    for (size_t i = 0; i < floats; i++) CHECK(room[i] == -7);
    OK(eigenskin_evaluate_interleaved(character, room, floats, &layout));
    CHECK(room[0] != -7 && room[6] == -7 && room[7] == -7);
    free(room);
}

void misuse(const char *model_path, const char *rig_path) {
    eigenskin_model *model;
    eigenskin_character *character = NULL;
    CHECK(strcmp(eigenskin_last_error(), "") == 0);
    CHECK(strcmp(eigenskin_status_name(EIGENSKIN_OK), "EIGENSKIN_OK") == 0);
    CHECK(strcmp(eigenskin_status_name(EIGENSKIN_PANIC), "EIGENSKIN_PANIC") == 0);
    CHECK(strstr(eigenskin_status_name(1000), "unknown") && strstr(eigenskin_status_name(-1), "unknown"));
    bad_files(model_path, rig_path);
    model = loaded(model_path, EIGENSKIN_I16);
    bad_questions(model);
    FAILS(EIGENSKIN_NULL_POINTER, "model", eigenskin_character_new(NULL, &character));
    CHECK(character == NULL);
    FAILS(EIGENSKIN_NULL_POINTER, "character", eigenskin_character_new(model, NULL));
    OK(eigenskin_character_new(model, &character));
    bad_poses(model, character);
    bad_results(model, character);
    eigenskin_character_free(character);
    eigenskin_model_free(model);
    eigenskin_character_free(NULL);
    eigenskin_model_free(NULL);
}
