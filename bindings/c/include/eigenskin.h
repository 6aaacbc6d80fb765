/*
 * eigenskin: characters whose skin was learnt from examples.
 *
 * A model is loaded once from the bytes of a GLB that `eigenskin fit` wrote. Characters are posed by
 * giving the transforms of their joints, and then tell where their vertices are:
 *
 *     eigenskin_model_load -> eigenskin_character_new -> eigenskin_set_joints -> eigenskin_evaluate
 *
 * How to build and link the library: docs/use/c.md. A complete program: bindings/c/examples/skin.c.
 *
 * Threads: models never change and may be used by any number of threads at once. A character may be used
 * by any thread, but by one at a time. Functions keep no pointer that they are given.
 *
 * Errors: functions return EIGENSKIN_OK or say what was wrong, and then change nothing but the message of
 * eigenskin_last_error. Null pointers, wrong lengths, indices that do not exist and damaged files are
 * such errors. What cannot be checked is undefined, as everywhere in C: arrays that are shorter than they
 * are said to be, and models or characters that were freed.
 *
 * Numbers: matrices have 16 numbers, column by column as in glTF, so that the translation is in the
 * elements 12, 13 and 14. Lengths are in the unit of the file.
 */
#ifndef EIGENSKIN_H
#define EIGENSKIN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this header. Versions with the same major number, or the same minor number while the
 * major one is 0, have the same functions or more. */
#define EIGENSKIN_VERSION_MAJOR 0
#define EIGENSKIN_VERSION_MINOR 1
#define EIGENSKIN_VERSION_PATCH 0
#define EIGENSKIN_VERSION \
    ((uint32_t)EIGENSKIN_VERSION_MAJOR << 16 | (uint32_t)EIGENSKIN_VERSION_MINOR << 8 | \
     (uint32_t)EIGENSKIN_VERSION_PATCH)

/* Where an index would stand and there is none. */
#define EIGENSKIN_NONE SIZE_MAX

/* The version of the library, to be compared with EIGENSKIN_VERSION. */
uint32_t eigenskin_version(void);

/* ---- Errors ---------------------------------------------------------------------------------------- */

/* What came of a call. */
typedef int32_t eigenskin_status;
enum {
    EIGENSKIN_OK = 0,
    EIGENSKIN_NULL_POINTER = 1, /* a pointer that is needed is null */
    EIGENSKIN_BAD_POINTER = 2,  /* an address that its type cannot have, or two results in the same memory */
    EIGENSKIN_WRONG_SIZE = 3,   /* an array of another length than the model needs */
    EIGENSKIN_OUT_OF_RANGE = 4, /* a joint, control, primitive, storage or layout that does not exist */
    EIGENSKIN_BAD_NUMBER = 5,   /* a number that is not finite, or a matrix that cannot be used */
    EIGENSKIN_BAD_FILE = 6,     /* a damaged file, or no glTF at all */
    EIGENSKIN_NOT_A_MODEL = 7,  /* a glTF file without a model */
    EIGENSKIN_UNSUPPORTED = 8,  /* something that this version or this model cannot do */
    EIGENSKIN_PANIC = 9         /* a bug in eigenskin; the process goes on */
};

/* What was wrong in the last call of this thread that did not return EIGENSKIN_OK, in English (UTF-8);
 * "" if there was none. Valid until the next such call of this thread. */
const char *eigenskin_last_error(void);

/* The name of a code, such as "EIGENSKIN_BAD_FILE". Never null, always valid. */
const char *eigenskin_status_name(eigenskin_status status);

/* ---- Models ---------------------------------------------------------------------------------------- */

typedef struct eigenskin_model eigenskin_model;

/* How displacements are stored in memory. */
typedef int32_t eigenskin_storage;
enum {
    EIGENSKIN_F16 = 0, /* 6 bytes each, to 5e-4 of each displacement: the usual choice */
    EIGENSKIN_I16 = 1, /* 6 bytes each, to 2e-5 of a component's largest displacement */
    EIGENSKIN_F32 = 2  /* 12 bytes each, exact */
};

/* Reads a model from the `size` bytes of a GLB (or of a .gltf with its buffers inside) and prepares it for
 * fast evaluation. The bytes are not needed afterwards. `*model` is null on error.
 * EIGENSKIN_BAD_FILE: damaged or no glTF. EIGENSKIN_NOT_A_MODEL: a rig or example set.
 * EIGENSKIN_UNSUPPORTED: written by a newer version, needs glTF extensions that change geometry, or sits
 * on deformers that are no skinning. */
eigenskin_status eigenskin_model_load(const void *glb, size_t size, eigenskin_storage storage,
                                      eigenskin_model **model);

/* Gives a model back. Its characters may live on. Null is allowed. */
void eigenskin_model_free(eigenskin_model *model);

/* Counts; 0 for a null pointer. */
size_t eigenskin_vertex_count(const eigenskin_model *model);
size_t eigenskin_triangle_count(const eigenskin_model *model);
size_t eigenskin_joint_count(const eigenskin_model *model);
size_t eigenskin_control_count(const eigenskin_model *model);
/* Primitives (parts of meshes) of the file that the model moves. */
size_t eigenskin_primitive_count(const eigenskin_model *model);
/* Coordinates (alpha) of all corrections together. */
size_t eigenskin_component_count(const eigenskin_model *model);
/* Morph targets that the model has in each of its meshes in the file. */
size_t eigenskin_target_count(const eigenskin_model *model);
/* 1 if the file has tangents, else 0. */
int32_t eigenskin_has_tangents(const eigenskin_model *model);

/* The name of a joint (UTF-8), valid as long as the model. */
eigenskin_status eigenskin_joint_name(const eigenskin_model *model, size_t joint, const char **name);

/* The joint of a name; EIGENSKIN_OUT_OF_RANGE if there is none. */
eigenskin_status eigenskin_find_joint(const eigenskin_model *model, const char *name, size_t *joint);

/* The joint above a joint, or EIGENSKIN_NONE. */
eigenskin_status eigenskin_joint_parent(const eigenskin_model *model, size_t joint, size_t *parent);

/* The joint that a joint's motion is measured against: its parent, unless the model says otherwise (flat
 * rigs); EIGENSKIN_NONE for the first root. */
eigenskin_status eigenskin_joint_reference(const eigenskin_model *model, size_t joint, size_t *reference);

/* The index of a joint's node in the glTF file. */
eigenskin_status eigenskin_joint_node(const eigenskin_model *model, size_t joint, size_t *node);

/* Where a joint is at rest: the inverse of its inverse bind matrix, 16 numbers, in the space of the
 * file's positions. */
eigenskin_status eigenskin_joint_rest(const eigenskin_model *model, size_t joint, float *world_from_joint);
eigenskin_status eigenskin_joint_rest_double(const eigenskin_model *model, size_t joint,
                                             double *world_from_joint);

/* Where the node transforms of the file put the rest shape, 16 numbers: global(root) * inverse bind(root).
 * Shapes that are evaluated in the space of the file's positions are shown through it. */
eigenskin_status eigenskin_scene_from_mesh(const eigenskin_model *model, float *scene_from_mesh);

/* The name of a control (UTF-8), valid as long as the model. */
eigenskin_status eigenskin_control_name(const eigenskin_model *model, size_t control, const char **name);

/* The control of a name; EIGENSKIN_OUT_OF_RANGE if there is none. */
eigenskin_status eigenskin_find_control(const eigenskin_model *model, const char *name, size_t *control);

/* The value of a control at rest. */
eigenskin_status eigenskin_control_rest(const eigenskin_model *model, size_t control, double *value);

/* A primitive of the file: its vertices, in the file's order, are the model's vertices
 * first_vertex ... first_vertex + vertex_count - 1. Primitives that share their vertices share a range. */
typedef struct eigenskin_primitive {
    size_t mesh;         /* index of the mesh in the file */
    size_t primitive;    /* index of the primitive in the mesh */
    size_t first_vertex; /* in the model */
    size_t vertex_count;
    size_t first_target; /* the mesh's own morph targets come first, then the model's from here on */
} eigenskin_primitive;

/* The primitive with that index below eigenskin_primitive_count. */
eigenskin_status eigenskin_get_primitive(const eigenskin_model *model, size_t index,
                                         eigenskin_primitive *primitive);

/* The corners of all triangles, three indices of model vertices each. `triangle_count` must be
 * eigenskin_triangle_count. */
eigenskin_status eigenskin_triangles(const eigenskin_model *model, uint32_t *corners, size_t triangle_count);

/* Tangents at rest, four numbers per vertex: a unit vector, and the handedness 1 or -1.
 * EIGENSKIN_UNSUPPORTED if the file has none. */
eigenskin_status eigenskin_rest_tangents(const eigenskin_model *model, float *tangents, size_t vertex_count);

/* ---- Characters ------------------------------------------------------------------------------------ */

typedef struct eigenskin_character eigenskin_character;

/* A character of a model, at rest. It keeps what it needs of the model, which may be freed before it.
 * `*character` is null on error. */
eigenskin_status eigenskin_character_new(const eigenskin_model *model, eigenskin_character **character);

/* Gives a character back. Null is allowed. */
void eigenskin_character_free(eigenskin_character *character);

/* All joints and controls as at rest. */
eigenskin_status eigenskin_reset(eigenskin_character *character);

/* Where all joints are: 16 numbers per joint, in the order of the model. Any space will do, as long as it
 * is the same for all joints: the shape comes out in that space. Give the global transforms of the joints'
 * nodes to get vertices in the scene.
 * EIGENSKIN_BAD_NUMBER, naming the joint: numbers that are not finite, a last row that is not 0 0 0 1 (such
 * as of a matrix that is given row by row), or a matrix that flattens space. Then no joint has moved. */
eigenskin_status eigenskin_set_joints(eigenskin_character *character, const float *world_from_joint,
                                      size_t joint_count);
eigenskin_status eigenskin_set_joints_double(eigenskin_character *character, const double *world_from_joint,
                                             size_t joint_count);

/* Where one joint is, 16 numbers. The others stay, also those below it. */
eigenskin_status eigenskin_set_joint(eigenskin_character *character, size_t joint,
                                     const float *world_from_joint);
eigenskin_status eigenskin_set_joint_double(eigenskin_character *character, size_t joint,
                                            const double *world_from_joint);

/* The values of all controls, or of one. */
eigenskin_status eigenskin_set_controls(eigenskin_character *character, const double *values,
                                        size_t control_count);
eigenskin_status eigenskin_set_control(eigenskin_character *character, size_t control, double value);

/* ---- Evaluation ------------------------------------------------------------------------------------ */

/* The posed shape: three numbers per vertex for positions and unit normals, four for tangents (a unit
 * vector perpendicular to the normal, and the handedness 1 or -1). `normals` and `tangents` may be null, but
 * tangents need normals; positions alone are faster. `vertex_count` must be eigenskin_vertex_count.
 * EIGENSKIN_UNSUPPORTED: tangents are asked for and the file has none. */
eigenskin_status eigenskin_evaluate(eigenskin_character *character, float *positions, float *normals,
                                    float *tangents, size_t vertex_count);

/* How vertices stand in a buffer, in floats. */
typedef struct eigenskin_layout {
    size_t stride;   /* from one vertex to the next */
    size_t position; /* where its 3 floats begin in a vertex */
    size_t normal;   /* where its 3 floats begin, or EIGENSKIN_NONE */
    size_t tangent;  /* where its 4 floats begin, or EIGENSKIN_NONE; only with normals */
} eigenskin_layout;

/* The same into a buffer of `float_count` = stride * eigenskin_vertex_count floats, such as a vertex buffer
 * that is mapped into memory. What lies between the attributes is neither read nor written. */
eigenskin_status eigenskin_evaluate_interleaved(eigenskin_character *character, float *vertices,
                                                size_t float_count, const eigenskin_layout *layout);

/* The coordinates (alpha) of all components for the pose, without the shape: for engines that add the
 * displacements themselves. `component_count` must be eigenskin_component_count. */
eigenskin_status eigenskin_coordinates(eigenskin_character *character, float *coordinates,
                                       size_t component_count);

/* The weights of the model's morph targets for the pose: for engines that play morph targets and skinning
 * of the file on the GPU. In each mesh they belong to the targets from first_target on.
 * `target_count` must be eigenskin_target_count. Corrections after skinning have no targets. */
eigenskin_status eigenskin_target_weights(eigenskin_character *character, float *weights,
                                          size_t target_count);

#ifdef __cplusplus
}
#endif

#endif
