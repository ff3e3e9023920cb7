// A host stand-in for the CUDA runtime and cuBLAS, so that the harness can be tested without a GPU.
//
// It models what the harness relies on: memory that the host may not touch, events that are read
// only after the host has waited for them, errors that stick. Everything runs at once, in order.
//
// Time is virtual: a launch advances a clock by a time that the test chooses. Events read it, and
// so does clock_gettime(), which is replaced for the whole program: what the harness does for so
// many seconds ends after as many launches in every run.
//
// Environment, all optional:
//   FAKE_DEVICES      number of devices (1)
//   FAKE_CAPABILITY   compute capability times ten (90)
//   FAKE_MEMORY       bytes of device memory (4 GiB)
//   FAKE_GRID_X       largest grid.x (2^31 - 1)
//   FAKE_FAIL         NAME:N:CODE, call number N (from 1) of function NAME returns CODE
//   FAKE_STEP_MS      virtual time of a step's launch (1 ms, plus 2mnk operations at 40 TFLOP/s)
//   FAKE_CUBLAS_MS    the same for cuBLAS (1 ms, and 50 TFLOP/s)
//   FAKE_GROWTH_MS    added to a step's launch for every launch of it so far (0)
//   FAKE_JITTER       relative spread of both times, 0.01 for +-1 % (0); the same in every run
//   FAKE_SLEEP_MS     real time that a step's launch takes (0)
//   FAKE_SIGNAL       N:SIGNAL, launch number N (from 1) of the step sends the program this signal
//   FAKE_TRACE        file that receives one line for every call, launch and leak
#ifndef FAKE_CUDA_H
#define FAKE_CUDA_H

#include "step.h"

// Runs `kernel` on the host, where it alone may touch device memory, and advances the clock.
// The equivalent of kernel<<<>>>(*problem) followed by cudaGetLastError().
cudaError_t fake_launch(void (*kernel)(const struct sgemm *), const struct sgemm *problem);

// Called by a kernel: it has touched an illegal address. Reported by the next call that waits, and
// by every call after that, as the CUDA runtime does.
void fake_fault(void);

// The number of events recorded so far: 0 as long as nothing has been timed.
int fake_events_recorded(void);

#endif
