/* Two characters of one model in two threads; the model is freed while they still play. */
#include "common.h"

#include <pthread.h>

enum { FRAMES = 20 };

typedef struct job {
    eigenskin_character *character;
    size_t vertices, joint;
    const float *poses; /* FRAMES matrices of one joint */
    float *shapes;      /* FRAMES shapes, positions and normals */
    int step;           /* 1: forwards, -1: backwards */
} job;

static void *play(void *argument) {
    job *work = argument;
    size_t floats = 3 * work->vertices;
    for (int i = 0; i < FRAMES; i++) {
        int frame = work->step > 0 ? i : FRAMES - 1 - i;
        float *shape = work->shapes + (size_t)frame * 2 * floats;
        OK(eigenskin_set_joint(work->character, work->joint, work->poses + 16 * frame));
        OK(eigenskin_evaluate(work->character, shape, shape + floats, NULL, work->vertices));
        /* Messages belong to threads. */
        FAILS(EIGENSKIN_WRONG_SIZE, work->step > 0 ? "is 1," : "is 2,",
              eigenskin_evaluate(work->character, shape, NULL, NULL, work->step > 0 ? 1 : 2));
    }
    eigenskin_character_free(work->character);
    return NULL;
}

void two_threads(const char *path) {
    eigenskin_model *model = loaded(path, EIGENSKIN_F16);
    size_t joints = eigenskin_joint_count(model), vertices = eigenskin_vertex_count(model);
    size_t floats = 6 * vertices * FRAMES;
    float *poses = allocated(16 * FRAMES, sizeof(float)), rest[16];
    job jobs[2];
    pthread_t threads[2];
    CHECK(joints > 1);
    OK(eigenskin_joint_rest(model, joints - 1, rest));
    for (int frame = 0; frame < FRAMES; frame++) {
        for (int i = 0; i < 16; i++) poses[16 * frame + i] = rest[i];
        for (int i = 0; i < 3; i++) poses[16 * frame + i] += 0.05f * (float)frame * rest[4 + i];
    }
    for (int i = 0; i < 2; i++) {
        jobs[i].vertices = vertices;
        jobs[i].joint = joints - 1;
        jobs[i].poses = poses;
        jobs[i].step = i == 0 ? 1 : -1;
        jobs[i].shapes = allocated(floats, sizeof(float));
        OK(eigenskin_character_new(model, &jobs[i].character));
    }
    for (int i = 0; i < 2; i++) CHECK(pthread_create(&threads[i], NULL, play, &jobs[i]) == 0);
    eigenskin_model_free(model);
    for (int i = 0; i < 2; i++) CHECK(pthread_join(threads[i], NULL) == 0);
    CHECK(memcmp(jobs[0].shapes, jobs[1].shapes, floats * sizeof(float)) == 0);
    CHECK(memcmp(jobs[0].shapes, jobs[0].shapes + 6 * vertices, 3 * vertices * sizeof(float)) != 0);
    free(jobs[0].shapes);
    free(jobs[1].shapes);
    free(poses);
}
