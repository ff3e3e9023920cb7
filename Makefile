# SGEMM in CUDA C, one step at a time. `make` alone lists what there is to make.
#
# A program ./stepNN is steps/NN_*.cu, compiled by nvcc, and the harness in common/, compiled and
# linked by the C compiler. Objects go to build/, each with the list of the headers it used.

MAKEFLAGS += --no-builtin-rules
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help
export PYTHONDONTWRITEBYTECODE := 1

# ---------------------------------------------------------------------------- what there is

# Step 00 is no SGEMM: instead of the harness's main it has its own, with common/basics, and what
# compares, times and verifies the steps leaves it out.
BASICS_SOURCE := $(wildcard steps/00_*.cu)
BASICS := $(patsubst %.c,build/%.o,$(wildcard common/basics/*.c))
STEP_SOURCES := $(filter-out $(BASICS_SOURCE),$(sort $(wildcard steps/[0-9][0-9]_*.cu)))
STEPS := $(foreach source,$(STEP_SOURCES),$(firstword $(subst _, ,$(notdir $(source)))))
PROGRAMS := $(BASICS_SOURCE:steps/00_%.cu=step00) $(STEPS:%=step%)
HARNESS := $(patsubst %.c,build/%.o,$(filter-out common/main.c,$(wildcard common/*.c)))
UNIT_TESTS := $(patsubst %.c,build/%,$(wildcard tests/unit_*.c))
MUTANTS := $(patsubst %.c,build/%,$(wildcard tests/mutants.c))
MATRIX_LOGS := $(STEP_SOURCES:steps/%.cu=build/matrix/%.log)

# steps/07_inline_ptx.cu of 07, and its object.
source_of = $(filter steps/$1_%,$(BASICS_SOURCE) $(STEP_SOURCES))
object_of = $(patsubst %.cu,build/%.o,$(call source_of,$1))

# A step that chooses among others names each in a line of its own, {&step07, ...}: 10:07 is one. Its
# program takes their objects and the library around sgemm().
CHOICES := $(sort $(shell { grep -o '^    {&step[0-9][0-9]' $(STEP_SOURCES) /dev/null | \
	sed 's/^steps.\([0-9]*\).*step/\1:/'; } 2>/dev/null))
choices_of = $(patsubst $1:%,%,$(filter $1:%,$(CHOICES)))
LIBRARY := $(patsubst %.c,build/%.o,$(wildcard common/library/*.c))
chosen_objects_of = $(foreach step,$(choices_of),$(call object_of,$(step))) $(if $(choices_of),$(LIBRARY))
main_objects_of = $(if $(filter 00,$1),$(BASICS),build/common/main-step$1.o)
objects_of = $(object_of) $(chosen_objects_of)
want_kernel = $(if $(choices_of),$(error $@: step $1 has no kernel of its own: it starts those of \
	$(choices_of)))

##   make help         this list
##
## Programs (07 stands for any step):
##   make step07       build ./step07
##   make all          build all steps
##   make libsgemm     build build/libsgemm.a: sgemm() for your own programs (common/sgemm.h)
##   make examples     build the programs in docs/examples, which use it
##   make clean        remove everything that was built
##
## Comparing and reading:
##   make diff07       what changed from the step before (BASE=05: from step 05)
##   make diffs        changed lines of code of every step, against its budget
##   make ptx07        the kernel as PTX, beside its source lines
##   make sass07       the kernel as the machine instructions of the GPU
##   make loops        the instructions of each main loop, counted (a minute, at first)
##   make banks07      what its main loop asks of the register banks (LOOP_ARCH=86; make banks: all)
##   make tries        the mistakes and experiments of the chapters, a target each
##   make matrix       every step for every architecture: registers and spills
##
## Labs (docs/labs/teacher.md; also 07-hunt, 07-predict):
##   make lab07        your file, labs/step07.cu, with gaps to fill in (FORCE=1: begin anew)
##   make check07      judge it: correct, clean, counters, on a GPU speed
##   make hint07       the next of three hints
##   make solution07   what your file and the course's differ in
##   make handout      labs as an archive for students: LABS="03 05"; build/handout
##   make classroom    the same as a template for GitHub Classroom
##   make grade        a class: SUBMISSIONS=folder LAB=07 (SECRET=file JOBS=n OUT=folder SECONDS=n)
##   make autograder   a zip for Gradescope: LAB=07 (SECRET=file)
##
## On a GPU:
##   make profile07    hardware counters, with Nsight Compute (SIZE=4096)
##   make sanitize07   compute-sanitizer: memcheck, racecheck, initcheck, synccheck
##   make tune         what sgemm() chooses from, measured into build/tune/table.tsv (TUNE=build/tune)
##   make bench        every step and cuBLAS at SIZES="256 ... 12288", into build/bench/bench.csv
##   make sweep        steps 18, 07, 08, 09 and cuBLAS (SWEPT="18 14") at SWEEP=1024:12800:128
##                       both go on where they were interrupted; CLOCKS=locked if you have locked them
##   make gpu          verify, sanitize, profile and benchmark every step, into OUT=build/gpu
##
## From results (of yours, or where there are none of the reference GPU):
##   make plot         charts of build/bench (FROM=docs/results/nvidia-h200), into PLOTS=build/plots
##
## Checking:
##   make test         everything that this machine can run
##   make lint         formatting and static analysis, warnings are errors
##   make docs         regenerate the documents' tables, listings, figures and charts
##   make site         the documents as a website, build/site/html/index.html
##
## Variables: ARCH=86 (or 90a, or 80,90: instead of the GPUs found)  CC=clang  CXX=clang++
##   NVCC=/path/to/nvcc  CUDA_HOME=/path/to/cuda  DEBUG=1 (-G)  V=1 (show commands)  -j4 (parallel)
help:
	@sed -n 's/^## \{0,1\}//p' $(firstword $(MAKEFILE_LIST))

# ---------------------------------------------------------------------------- what cannot be made

ifneq ($(findstring ",$(CURDIR)),)
$(error there is a double quote in the path of this folder, which nvcc cannot bear: $(CURDIR))
endif

NO_GEMM := $(filter diff00 profile00 sanitize00,$(MAKECMDGOALS))
ifneq ($(NO_GEMM),)
$(error make $(NO_GEMM): step 00 multiplies no matrices; there are step00, ptx00 and sass00)
endif

# Of step7, diff10, ptx99, ...: those whose step there is not.
VERBS := step diff ptx sass profile sanitize
NO_STEP := $(firstword $(filter-out diffs $(VERBS) step00 ptx00 sass00 $(LAB_LISTINGS) \
	$(foreach verb,$(VERBS),$(STEPS:%=$(verb)%)), \
	$(filter $(VERBS:%=%%),$(MAKECMDGOALS))))
ifneq ($(NO_STEP),)
$(error make $(NO_STEP): there is no step $(strip $(foreach verb,$(VERBS), \
	$(patsubst $(verb)%,%,$(filter $(verb)%,$(NO_STEP))))): \
	00 $(STEPS))
endif

# The tests' tools are asked for before anything is built.
ifneq ($(filter test,$(MAKECMDGOALS)),)
$(if $(shell command -v prove),,$(error make test needs prove (package: perl)))
$(if $(shell command -v python3),,$(error make test needs python3 (package: python3)))
endif

# 0 is off.
override DEBUG := $(filter-out 0,$(DEBUG))
override V := $(filter-out 0,$(V))

# ---------------------------------------------------------------------------- the tools

# These goals do without a toolkit.
ifneq ($(filter-out help clean plot site diff% lab% hint% solution%,$(or $(MAKECMDGOALS),help)),)

define NO_NVCC
nvcc, the CUDA compiler, is not in CUDA_HOME, PATH, /usr/local/cuda or /opt/cuda.
  Install CUDA Toolkit 12.4 or later, with cuBLAS, in one of three ways:
    1. NVIDIA's installer or packages for your system ("CUDA Toolkit downloads" on nvidia.com)
    2. your distribution's package: nvidia-cuda-toolkit (Debian, Ubuntu), cuda (Arch)
    3. conda: conda install -c nvidia cuda-toolkit
  If it is installed elsewhere, say so: make NVCC=/path/to/nvcc
endef

CUDA_PLACES ?= /usr/local/cuda /opt/cuda
ifeq ($(strip $(NVCC)),)
NVCC := $(firstword \
	$(and $(CUDA_HOME),$(wildcard $(CUDA_HOME)/bin/nvcc)) \
	$(shell command -v nvcc 2>/dev/null) \
	$(wildcard $(CUDA_PLACES:%=%/bin/nvcc)))
endif
NVCC_VERSION := $(and $(NVCC),$(shell $(NVCC) --version 2>/dev/null | sed -n 's/.*release \([0-9.]*\).*/\1/p'))
ifeq ($(NVCC_VERSION),)
$(error $(if $(NVCC),NVCC=$(NVCC) does not run,$(NO_NVCC)))
endif

# nvcc may be a script that starts the real one, so nvcc itself has to say where the toolkit is.
TOOLKIT := $(realpath $(shell $(NVCC) --dryrun -x cu -c /dev/null 2>&1 | sed -n 's/.* TOP=//p'))
ifneq ($(words $(TOOLKIT)),1)
$(error $(NVCC) does not say where its toolkit is, or there is a space in that path)
endif
TOOLKIT_INCLUDE := $(wildcard $(TOOLKIT)/include $(TOOLKIT)/targets/*-linux/include)
TOOLKIT_LIB := $(sort $(realpath $(wildcard $(TOOLKIT)/lib64 $(TOOLKIT)/targets/*-linux/lib $(TOOLKIT)/lib)))

# The architectures: ARCH, or for each GPU in hand the best that this nvcc builds for, or 80.
comma := ,
KNOWN := $(shell $(NVCC) --list-gpu-code | sed 's/sm_//' | sort -n)
ifneq ($(strip $(ARCH)),)
ARCH_WORDS := $(subst $(comma), ,$(ARCH))
ARCHITECTURES := $(sort $(ARCH_WORDS:sm_%=%))
UNKNOWN := $(filter-out $(patsubst %,sm_%,$(KNOWN)) $(KNOWN),$(ARCH_WORDS))
UNKNOWN := $(strip $(foreach word,$(UNKNOWN),$(shell \
	$(NVCC) --dryrun -arch='sm_$(word:sm_%=%)' -x cu -c /dev/null >/dev/null 2>&1 || echo '$(word)')))
ifneq ($(if $(ARCHITECTURES),$(UNKNOWN),none),)
$(error ARCH=$(ARCH): nvcc $(NVCC_VERSION) builds for $(KNOWN)$(if $(UNKNOWN),$(comma) not for $(UNKNOWN)))
endif
else
GPUS := $(shell \
	list=$$('$(TOOLKIT)/bin/__nvcc_device_query' 2>/dev/null) || \
	list=$$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null) || list=80; \
	echo "$$list" | tr -d . | tr -cs '0-9' '\n' | sort -nu)
ARCHITECTURES := $(sort $(foreach gpu,$(or $(GPUS),80), \
	$(shell printf '%s\n' $(KNOWN) | awk '$$1 <= $(gpu) { best = $$1 } END { print best }')))
ifeq ($(ARCHITECTURES),)
$(error the GPU is sm_$(GPUS), nvcc $(NVCC_VERSION) builds for $(KNOWN): an older toolkit is needed)
endif
endif

# Flags for nvcc that build source $1: SASS and PTX for each architecture, or for the lowest one
# that the step can run on; a step that the GPU cannot run still has to start and say so. What only one
# architecture has is built for that one, with its own features (90a).
minimum_of = $(shell sed -n 's/.*\.minimum_capability = \([0-9]*\),.*/\1/p' $1)
only_of = $(shell grep -q '\.no_later = true,' $1 && echo '$(minimum_of)a')
targets_of = $(or $(only_of),$(sort $(shell for a in $(ARCHITECTURES); do \
	[ "$${a%[af]}" -lt $(or $(minimum_of),0) ] && echo $(minimum_of) || echo $$a; done)))
gencode = $(foreach a,$(targets_of),-gencode 'arch=compute_$a,code=[sm_$a,compute_$a]')

empty :=
space := $(empty) $(empty)
HOST_FLAGS := -std=c11 -D_POSIX_C_SOURCE=200809L -Wall -Wextra -Werror -Icommon \
	$(TOOLKIT_INCLUDE:%=-isystem %) $(if $(DEBUG),-O0 -g -DDEBUG_BUILD,-O2) $(CFLAGS)
# Most of nvcc's time for a small file goes to CUDA's headers, which are longer in its default, C++17.
STANDARD := -std=c++14
# For the host compiler: what only a kernel calls is unused (nvcc itself warns where it really is), a
# descriptor may leave out its last members, and C++ run-time support is off, so that the C compiler
# can link. PTX stays readable: the emulator reads it. (--compress-mode=none says the same, but not to
# every 12.x.)
XCOMPILER := -Wall -Wextra -Werror -Wno-unused-function -Wno-missing-field-initializers \
	-fno-exceptions -fno-threadsafe-statics
NVCC_FLAGS := $(if $(DEBUG),-G -DDEBUG_BUILD,-O3 -lineinfo) $(STANDARD) -no-compress -Icommon \
	-Xcompiler $(subst $(space),$(comma),$(XCOMPILER)) \
	$(if $(filter-out default undefined,$(origin CXX)),-ccbin $(CXX), \
	$(if $(filter-out default,$(origin CC)),-ccbin $(CC)))
LIBRARIES := $(foreach lib,$(TOOLKIT_LIB),-L$(lib) -Wl$(comma)-rpath$(comma)$(lib)) \
	-lcublas -lcudart_static -ldl -lrt -lpthread -lm

# A file that changes only when its text does: what is built with the text depends on it.
same = $(and $(findstring $1,$2),$(findstring $2,$1))
define stamp
build/$1: text := $2
build/$1: $(if $(call same,$(file <build/$1),$2),,FORCE)
	@mkdir -p build
	@printf '%s\n' '$$(subst ','\'',$$(text))' >$$@
endef
$(eval $(call stamp,host-flags,$(CC) $(HOST_FLAGS) $(LIBRARIES)))
$(eval $(call stamp,nvcc-flags,$(NVCC) $(NVCC_VERSION) $(NVCC_FLAGS)))
$(eval $(call stamp,architectures,$(ARCHITECTURES)))

endif

# Short lines, or with V=1 the commands. On stderr, so that a listing on stdout stays clean.
Q := $(if $(V),,@)
need = command -v $1 >/dev/null || { echo "make $@ needs $1 (package: $2)" >&2; exit 1; }
say = @$(if $(V),,printf '%-8s%s\n' '$1' '$2' >&2; )mkdir -p $(@D)

# ---------------------------------------------------------------------------- programs

.PHONY: help all clean test lint docs site diffs matrix bench sweep gpu plot FORCE
all: $(PROGRAMS)

link = $(CC) -o $@ $(filter %.o,$^) $(LIBRARIES)

.SECONDEXPANSION:
$(PROGRAMS): step%: $$(call objects_of,%) $$(call main_objects_of,%) $(HARNESS) \
		build/common/poison.o
	$(call say,LINK,$@)
	$(Q)$(link)

build/common/main-step%.o: common/main.c build/host-flags
	$(call say,CC,$@)
	$(Q)$(CC) $(HOST_FLAGS) -DSTEP=step$* -MMD -MP -c $< -o $@

build/%.o: %.c build/host-flags
	$(call say,CC,$@)
	$(Q)$(CC) $(HOST_FLAGS) -MMD -MP -c $< -o $@

build/%.o: %.cu build/nvcc-flags build/architectures
	$(call say,NVCC,$@)
	$(Q)$(NVCC) $(NVCC_FLAGS) $(call gencode,$<) -MMD -MP -MF $(@:.o=.d) -c $< -o $@

include common/emulator/emulator.mk
include common/library/library.mk
include docs/variants.mk
include common/labs/labs.mk

-include $(wildcard build/*/*.d build/common/basics/*.d build/sanitized/*/*.d build/debug/*/*.d)

# Before anything that is built in the same run.
$(if $(filter clean,$(MAKECMDGOALS)),.NOTPARALLEL:)
clean:
	rm -rf build $(wildcard step[0-9][0-9])

# ---------------------------------------------------------------------------- comparing and reading

# tests/budgets.tsv says which step each step grew out of.
base_of = $(or $(BASE),$(shell awk '$$2 == "$1" { print $$1 }' tests/budgets.tsv))
DIFFS := $(STEPS:%=diff%)
.PHONY: $(DIFFS)
$(DIFFS): diff%:
	$(if $(call base_of,$*),,$(error $@: step $* is the first of its kind; BASE=NN compares it))
	$(if $(call source_of,$(call base_of,$*)),,$(error $@: there is no step $(call base_of,$*)))
	@diff -u --color=auto --label $(call source_of,$(call base_of,$*)) --label $(call source_of,$*) \
		$(call source_of,$(call base_of,$*)) $(call source_of,$*) || [ $$? = 1 ]

diffs:
	@$(call need,python3,python3)
	@python3 tests/diffs.py

PTX := ptx00 $(STEPS:%=ptx%)
.PHONY: $(PTX)
$(PTX): ptx%: $$(call source_of,%)
	$(call want_kernel,$*)
	$(Q)mkdir -p build/ptx
	$(Q)$(NVCC) $(NVCC_FLAGS) -arch=compute_$(firstword $(call targets_of,$<)) -ptx \
		$(if $(DEBUG),,-src-in-ptx) $< -o build/ptx/$*.ptx
	@tests/ptx.sh build/ptx/$*.ptx

SASS := sass00 $(STEPS:%=sass%)
.PHONY: $(SASS)
$(SASS): sass%: $$(call object_of,%)
	$(call want_kernel,$*)
	@CUOBJDUMP='$(CUOBJDUMP)' tests/sass.sh $< '$(TOOLKIT)/bin'

# From 8.0 to 9.0 the PTX of a step is the same but for its target: one pass of the compiler serves all.
ptx_for = $(if $(filter 8% 90,$1),80,$1)
build/matrix/%.log: steps/%.cu build/nvcc-flags
	$(call say,MATRIX,$*)
	$(Q)$(NVCC) $(NVCC_FLAGS) -fatbin -Xptxas -v -MMD -MP -MF $(@:.log=.d) -MT $@ $< -o $(@:.log=.fatbin) \
		$(if $(call only_of,$<),$(call gencode,$<),$(foreach a,$(KNOWN),$(if $(shell [ $a -ge $(or $(call minimum_of,$<),0) ] && echo yes), \
		-gencode arch=compute_$(call ptx_for,$a)$(comma)code=sm_$a))) 2>$@ || { cat $@ >&2; exit 1; }

matrix: $(MATRIX_LOGS)
	@$(call need,python3,python3)
	@python3 tests/matrix.py $^

# ---------------------------------------------------------------------------- on a GPU

SIZE ?= 4096
PROFILES := $(STEPS:%=profile%)
.PHONY: $(PROFILES)
$(PROFILES): profile%: step%
	@$(call need,python3,python3)
	@NCU='$(NCU)' python3 tests/counters.py ./$< $(SIZE) '$(TOOLKIT)/bin'

SANITIZES := $(STEPS:%=sanitize%)
.PHONY: $(SANITIZES)
$(SANITIZES): sanitize%: step%
	@tests/sanitize.sh ./$< '$(TOOLKIT)/bin'

BENCH ?= build/bench
CLOCKS ?= unlocked
SIZES ?= 256 512 768 1024 1536 2048 3072 4096 5120 6144 8192 12288
bench: $(STEPS:%=step%)
	@$(call need,python3,python3)
	@python3 tests/bench.py '$(BENCH)' bench '$(SIZES)' '$(CLOCKS)' $(STEPS)

SWEEP ?= 1024:12800:128
SWEPT ?= $(DISPATCH) 07 08 09
sweep: $(SWEPT:%=step%)
	@$(call need,python3,python3)
	@python3 tests/bench.py '$(BENCH)' sweep '$(SWEEP)' '$(CLOCKS)' $(SWEPT)

OUT ?= build/gpu
gpu: $(PROGRAMS) $(VARIANT_PROGRAMS)
	@tests/gpu.sh '$(OUT)' '$(TOOLKIT)/bin' $(VARIANT_PROGRAMS)

REFERENCE := docs/results/nvidia-h200
FROM ?= $(if $(wildcard $(BENCH)/*.csv),$(BENCH),$(REFERENCE))
PLOTS ?= build/plots
plot:
	@$(call need,python3,python3)
	@$(call need,gnuplot,gnuplot-nox)
	@python3 docs/plot.py '$(FROM)' '$(PLOTS)'

# ---------------------------------------------------------------------------- checking

$(UNIT_TESTS): %: %.o $(HARNESS) build/common/poison.o
	$(call say,LINK,$@)
	$(Q)$(link)

# The harness with a stand-in for CUDA and cuBLAS, and deliberately wrong kernels.
build/tests/mutants: build/tests/mutants.o build/tests/fake_cuda.o $(HARNESS)
	$(call say,LINK,$@)
	$(Q)$(CC) -o $@ $^ -ldl -lpthread -lm

# The same, stopped at the first memory error, leak or undefined behaviour.
SANITIZE := -fsanitize=address,undefined -fno-sanitize-recover=all
build/sanitized/common/emulator/isa_%.o: SANITIZE += -O0 # thousands of loops: to optimize them takes a minute
build/sanitized/%.o: %.c build/host-flags
	$(call say,CC,$@)
	$(Q)$(CC) $(HOST_FLAGS) -g $(SANITIZE) -MMD -MP -c $< -o $@

build/tests/mutants-sanitized: $(patsubst build/%,build/sanitized/%, \
		build/tests/mutants.o build/tests/fake_cuda.o $(HARNESS))
	$(call say,LINK,$@)
	$(Q)$(CC) $(SANITIZE) -o $@ $^ -ldl -lpthread -lm

# The same as if its kernels had been built with DEBUG=1.
build/debug/%.o: %.c build/host-flags
	$(call say,CC,$@)
	$(Q)$(CC) $(HOST_FLAGS) -DDEBUG_BUILD -MMD -MP -c $< -o $@

build/tests/mutants-debug: build/tests/mutants.o build/tests/fake_cuda.o \
		build/debug/common/program.o $(filter-out %/program.o,$(HARNESS))
	$(call say,LINK,$@)
	$(Q)$(CC) -o $@ $^ -ldl -lpthread -lm

test: $(PROGRAMS) $(UNIT_TESTS) $(MUTANTS) $(MATRIX_LOGS)
	@prove --directives --timer --jobs 2 $(wildcard tests/*.t) $(UNIT_TESTS)

FORMATTED := $(wildcard common/*.[ch] common/*.cu common/basics/*.[ch] common/library/*.[ch] \
	common/labs/*.[ch] common/emulator/*.[ch] common/emulator/*.inc docs/examples/*.c tests/*.[ch] tests/emulator/*.h tests/emulator/*.cu \
	tests/emulator/programs/*.cu steps/*.cu docs/listings/*.cu)
# And the headers that they include.
TIDY := $(wildcard common/*.c common/basics/*.c common/labs/*.c common/library/*.c common/emulator/*.c \
	docs/examples/*.c tests/*.c)
# States of a function that the static analyzer looks at. Its default, 225000, finds no more here and
# takes twice as long.
TIDY_FLAGS := -Xclang -analyzer-config -Xclang max-nodes=40000
SHELLCHECK = $(shell command -v shellcheck 2>/dev/null)
SCRIPTS := .ci/run $(wildcard .devcontainer/*.sh) common/emulator/emucc $(wildcard tests/*.sh)
docs: $(VARIANT_TWINS) $(EMULATED)
	@$(call need,python3,python3)
	@$(call need,gnuplot,gnuplot-nox)
	$(Q)python3 docs/figures.py
	$(Q)python3 docs/figures_topics.py
	$(Q)CUOBJDUMP='$(CUOBJDUMP)' python3 docs/listings.py || [ $$? = 77 ]
	$(Q)python3 docs/generate.py
	$(Q)python3 docs/plot.py $(REFERENCE) docs/charts >/dev/null

# The generator of the website is installed in a folder of its own, at the first call.
ZENSICAL := build/site-venv/bin/zensical
site: $(ZENSICAL)
	$(Q)python3 docs/site.py '$(abspath $<)'

$(ZENSICAL): docs/site-requirements.txt
	@$(call need,python3,python3)
	@python3 -c 'import ensurepip, venv' 2>/dev/null || \
		{ echo "make site needs python3's venv (package: python3-venv)" >&2; exit 1; }
	$(call say,PIP,$<)
	$(Q)python3 -m venv build/site-venv
	$(Q)build/site-venv/bin/pip install -q --disable-pip-version-check -r $<
	@touch $@

lint:
	@$(call need,clang-format,clang-format)
	@$(call need,clang-tidy,clang-tidy)
	$(call say,FORMAT,$(words $(FORMATTED)) files)
	$(Q)clang-format --dry-run -Werror $(FORMATTED)
	$(call say,TIDY,$(words $(TIDY)) files)
	$(Q)printf '%s\n' $(TIDY) | xargs -n 4 -P "$$(nproc)" sh -c 'clang-tidy --quiet "$$@" -- \
		$(HOST_FLAGS) $(TIDY_FLAGS) -DSTEP=step01' tidy 2>build/tidy.txt || \
		{ grep -v 'warnings generated' build/tidy.txt >&2; exit 1; }
	$(call say,SHELL,$(if $(SHELLCHECK),$(words $(SCRIPTS)) files,shellcheck is not here: skipped))
	$(Q)$(if $(SHELLCHECK),shellcheck $(SCRIPTS))
