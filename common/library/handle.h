// What is behind sgemm(): the handle, and the candidates that steps 10 and 18 choose from.
#ifndef HANDLE_H
#define HANDLE_H

#include <stdbool.h>

#include "sgemm.h"
#include "step.h"

#ifdef __cplusplus
extern "C" {
#endif

// How fast a kernel is on one multiprocessor (SM) of a GPU, for arithmetic on 2 operations a
// product.
struct speed {
    int64_t alone;    // MFLOP/s of an SM that has one of its blocks
    int64_t full;     // MFLOP/s of an SM that has as many as fit
    int64_t overhead; // what a tile takes before and after its loop, in terms of the loop
    int64_t part;     // what adding up a part of a tile takes, in terms; 0: tiles are not cut
};

// A kernel that sgemm() may choose: that which a step has for matrices of these alignments.
struct candidate {
    const struct step *step;
    int alignment[3]; // of A, B and C in bytes: 4, 16 or 512; 4: any will do
    struct speed speed;
};

enum {
    MOST_CANDIDATES = 16,
    MESSAGE_SIZE = STEP_TEXT,
};

// The built-in candidates, with their speeds on the reference GPU, and how many there are.
extern const struct candidate candidates[];
extern const int candidate_count;

// The quickest of `count` candidates, by estimate, for this problem on a GPU of this compute
// capability (times ten) and this many SMs. One of them must run everywhere, at any alignment.
const struct candidate *choose(const struct candidate *from, int count, const struct sgemm *problem,
                               int capability, int sms);

// Bytes, 4 to 512, that a matrix with rows of `cols` elements, `ld` apart, is aligned to.
int alignment_of(const float *matrix, int64_t cols, int64_t ld);

// A problem that a candidate has prepared, to be found again when it returns.
struct workspace {
    const struct step *step;
    struct sgemm problem;
};

struct sgemm_handle {
    cudaStream_t stream;
    int device, capability, sms;
    struct candidate candidates[MOST_CANDIDATES];
    int candidate_count;
    struct workspace workspaces[SGEMM_WORKSPACES];
    int workspace_count;
    char message[MESSAGE_SIZE];
};

// Leaves the message in the handle and returns the status.
__attribute__((format(printf, 3, 4))) enum sgemm_status
report(struct sgemm_handle *handle, enum sgemm_status status, const char *format, ...);

// Whether sgemm() can take the problem.
enum sgemm_status check_problem(struct sgemm_handle *handle, const struct sgemm *problem);

// Starts the step on the handle's stream, with a workspace where it wants one.
enum sgemm_status run(struct sgemm_handle *handle, const struct step *step, struct sgemm problem);

#ifdef __cplusplus
}
#endif

#endif
