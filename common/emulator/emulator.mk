# The emulator, and for each program its twin in build/ that runs on it: the same objects, linked with
# the emulator's in place of the CUDA runtime and cuBLAS. Included by the Makefile.

# Programs of emucc's have their settings from the environment, all others have them from options.
ENVIRONMENT := build/common/emulator/environment.o
EMULATOR := $(filter-out $(ENVIRONMENT),$(patsubst %.c,build/%.o,$(wildcard common/emulator/*.c)))
EMULATED := $(PROGRAMS:%=build/%-emulated)
EMULATED_LIBRARIES := -ldl -lpthread -lm

include common/emulator/flags.mk

# An object is there only when it is complete: emucc takes it.
build/common/emulator/%.o: common/emulator/%.c build/host-flags
	$(call say,CC,$@)
	$(Q)$(CC) $(HOST_FLAGS) $(EMULATOR_FLAGS) -MMD -MP -MF $(@:.o=.d) -MT $@ -c $< -o $@.part
	$(Q)mv $@.part $@

$(EMULATED): build/step%-emulated: $$(call objects_of,%) $$(call main_objects_of,%) $(HARNESS) \
		build/common/poison.o $(EMULATOR)
	$(call say,LINK,$@)
	$(Q)$(CC) -o $@ $(filter %.o,$^) $(EMULATED_LIBRARIES)

# A program starts its twin where there is no GPU.
$(PROGRAMS): step%: | build/step%-emulated

-include $(wildcard build/common/emulator/*.d)

# ---------------------------------------------------------------------------- tests of the emulator

# Programs of kernels that are wrong in one way each, and of their right twins: PTX is all they need, and
# for cooperative groups nvcc's own standard.
EMULATOR_CASES := $(patsubst %.cu,build/%,$(wildcard tests/emulator/*.cu))

CASE_TARGET := compute_80
build/tests/emulator/bulk.o build/tests/emulator/wgmma.o: CASE_TARGET := compute_90a
build/tests/emulator/%.o: tests/emulator/%.cu build/nvcc-flags
	$(call say,NVCC,$@)
	$(Q)$(NVCC) $(filter-out $(STANDARD),$(NVCC_FLAGS)) -gencode arch=$(CASE_TARGET),code=$(CASE_TARGET) -MMD -MP -MF $(@:.o=.d) -c $< -o $@

$(EMULATOR_CASES): %: %.o build/common/poison.o $(EMULATOR)
	$(call say,LINK,$@)
	$(Q)$(CC) -o $@ $(filter %.o,$^) $(EMULATED_LIBRARIES)

# The patterns of lanes that have been counted on the reference GPU.
build/tests/access_patterns-emulated: build/tests/access_patterns.o $(EMULATOR)
	$(call say,LINK,$@)
	$(Q)$(CC) -o $@ $(filter %.o,$^) $(EMULATED_LIBRARIES)

# Kernels in PTX for tests that know what each instruction must give.
build/tests/ptx_runner: build/tests/ptx_runner.o $(EMULATOR)
	$(call say,LINK,$@)
	$(Q)$(CC) -o $@ $^ $(EMULATED_LIBRARIES)

# What the emulator takes the hardware to do; and its occupancy arithmetic, beside the toolkit's.
build/tests/emulator_facts: build/tests/emulator_facts.o $(EMULATOR)
	$(call say,LINK,$@)
	$(Q)$(CC) -o $@ $(filter %.o,$^) $(EMULATED_LIBRARIES)

# Programs as a learner writes them, built as he builds them.
EMULATOR_PROGRAMS := $(patsubst %.cu,build/%,$(wildcard tests/emulator/programs/*.cu))
build/tests/emulator/programs/wgmma: EMUCC_FLAGS := -arch=sm_90a
$(EMULATOR_PROGRAMS): build/%: %.cu $(wildcard common/emulator/* tests/emulator/programs/*.h) | $(EMULATOR)
	$(call say,EMUCC,$@)
	$(Q)NVCC='$(NVCC)' CC='$(CC)' common/emulator/emucc $(EMUCC_FLAGS) $< -o $@

# Reads, decodes and runs damaged PTX; stopped at the first memory error or undefined behaviour.
build/tests/emulator_fuzz: $(patsubst build/%,build/sanitized/%,build/tests/emulator_fuzz.o $(EMULATOR))
	$(call say,LINK,$@)
	$(Q)$(CC) $(SANITIZE) -o $@ $^ $(EMULATED_LIBRARIES)

test: build/tests/emulator_fuzz
test: $(EMULATED) $(EMULATOR_CASES) $(EMULATOR_PROGRAMS) build/tests/ptx_runner \
	build/tests/access_patterns-emulated build/tests/emulator_facts

-include $(wildcard build/tests/emulator/*.d build/sanitized/common/emulator/*.d)

# Mutants of the steps, which tests/emulator_mutations.t writes: those of step 07's kernels together to
# build/mutations/kernel/07.cu, from which it makes the program of each; those of the host code behind the
# kernels together to build/mutations/host/07.cu, as descriptors step07_scalar_1 and the like, which
# HOST_MUTANTS names; those of a step without kernels each to build/mutations/choice/10-alignment-1.cu.
MUTATED_KERNELS := $(patsubst %.cu,%,$(wildcard build/mutations/kernel/*.cu))
MUTATED_HOSTS := $(HOST_MUTANTS:%=build/mutations/host/%)
MUTATED_CHOICES := $(patsubst %.cu,%,$(wildcard build/mutations/choice/*.cu))
.PHONY: mutations
mutations: $(MUTATED_KERNELS) $(MUTATED_HOSTS) $(MUTATED_CHOICES)

mutation_target = $(foreach a,$(or $(call only_of,$(call source_of,$(call step_of,$1))),80),-gencode arch=compute_$a,code=compute_$a)

# The mutated kernels take the place of the step's own in the step's object. Without lines their PTX can be
# taken apart; a descriptor in a namespace is for nobody.
$(MUTATED_KERNELS:%=%.fatbin): %.fatbin: %.cu build/nvcc-flags
	$(Q)$(NVCC) $(filter-out -lineinfo,$(NVCC_FLAGS)) -diag-suppress=177 $(call mutation_target,$<) -fatbin $< -o $@

$(MUTATED_KERNELS:%=%.o): %.o: %.fatbin $$(call object_of,$$(notdir $$*))
	$(Q)objcopy --update-section .nv_fatbin=$< $(word 2,$^) $@

# What a deletion leaves without use is nothing to warn of.
UNUSED := -Xcompiler -Wno-unused-parameter

# Where host code is mutated, the kernels are the step's own: what is compiled beside it, in haste, is
# replaced.
build/mutations/host/%.o: build/mutations/host/%.cu $$(call object_of,$$*) build/nvcc-flags
	$(Q)$(NVCC) $(NVCC_FLAGS) -Xcicc -O0 $(UNUSED) $(call mutation_target,$<) -c $< -o $@
	$(Q)objcopy --dump-section .nv_fatbin=$@.fatbin $(word 2,$^) /dev/null
	$(Q)objcopy --update-section .nv_fatbin=$@.fatbin $@

build/mutations/choice/%.o: build/mutations/choice/%.cu build/nvcc-flags
	$(Q)$(NVCC) $(NVCC_FLAGS) $(UNUSED) $(call mutation_target,$<) -c $< -o $@

main_of = build/common/main-step$(step_of).o $(call chosen_objects_of,$(step_of))
$(MUTATED_KERNELS) $(MUTATED_CHOICES): %: %.o $$(call main_of,%) $(HARNESS) build/common/poison.o $(EMULATOR)
	$(Q)$(CC) -o $@ $(filter %.o,$^) $(EMULATED_LIBRARIES)

$(MUTATED_HOSTS): build/mutations/host/%: build/mutations/host/$$(call step_of,$$*).o $$(call main_of,$$*) \
		$(HARNESS) build/common/poison.o $(EMULATOR)
	$(Q)$(CC) -Wl,--defsym=step$(call step_of,$*)=step$(subst -,_,$*) -o $@ $(filter %.o,$^) $(EMULATED_LIBRARIES)

# Warp instructions a second on one core: printed, not judged.
.PHONY: speed
speed: build/tests/emulator_speed
	@$<

build/tests/emulator_speed: build/tests/emulator_speed.o $(call object_of,07) $(EMULATOR)
	$(call say,LINK,$@)
	$(Q)$(CC) -o $@ $(filter %.o,$^) $(EMULATED_LIBRARIES)
