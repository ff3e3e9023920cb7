# Labs: a learner's file is cut from a step, and judged. Included by the Makefile. The tools say what
# there is and what was wrong.

LAB_FOLDER ?= labs
LAB_TWINS := $(patsubst %.cu,build/%-emulated,$(wildcard $(LAB_FOLDER)/step*.cu))
LAB_PROGRAMS := $(LAB_TWINS:%-emulated=%)
LAB_VERBS := lab check hint solution
LAB_GOALS := $(sort $(filter $(foreach digit,0 1 2 3 4 5 6 7 8 9,$(LAB_VERBS:%=%$(digit)%)),$(MAKECMDGOALS)))

ifneq ($(filter $(LAB_VERBS),$(MAKECMDGOALS)),)
$(error make $(firstword $(filter $(LAB_VERBS),$(MAKECMDGOALS))): say which lab, and leave no space: \
	$(addsuffix 07,$(firstword $(filter $(LAB_VERBS),$(MAKECMDGOALS)))))
endif

# A variable as one word for the shell, whatever is in it. What is judged is built by a make below this one,
# which has its jobs; make -n does not judge.
quoted = '$(subst ','\'',$($1))'
option = $(if $($1),--$2=$(quoted))
dry_run = $(findstring n,$(filter-out -%,$(firstword $(MAKEFLAGS))))
judging = $(if $(dry_run),,+)@MAKE='$(MAKE)' python3

.PHONY: $(LAB_GOALS)
$(filter lab%,$(LAB_GOALS)): lab%:
	@$(call need,python3,python3)
	@python3 common/labs/lab.py start '$*' $(call option,LAB_FOLDER,folder) $(if $(filter-out 0,$(FORCE)),--force)

$(filter hint%,$(LAB_GOALS)): hint%:
	@$(call need,python3,python3)
	@python3 common/labs/lab.py hint '$*' $(call option,LAB_FOLDER,folder)

$(filter solution%,$(LAB_GOALS)): solution%:
	@$(call need,python3,python3)
	@python3 common/labs/lab.py solution '$*' $(call option,LAB_FOLDER,folder)

$(filter check%,$(LAB_GOALS)): check%:
	@$(call need,python3,python3)
	$(judging) common/labs/check.py '$*' $(call option,LAB_FOLDER,folder)

# What students get: NAME=file instead of a name made of the labs.
.PHONY: handout classroom
handout classroom:
	@$(call need,python3,python3)
	$(judging) common/labs/handout.py $(if $(filter classroom,$@),--classroom) $(call option,NAME,name) \
		-- $(foreach lab,$(LABS),$(call quoted,lab))

# 07 of build/labs/step07 and of build/labs/step07-hunt.
lab_step = $(firstword $(subst -, ,$(patsubst step%,%,$(notdir $1))))

# For an emulator PTX is enough: LAB_PTX=1 leaves machine code out. Variables and parameters that a cut has
# left without use are nothing to warn of. A learner may use what nvcc's own standard has; LAB_STANDARD names
# another.
lab_flags = $(filter-out $(STANDARD),$(NVCC_FLAGS)) $(LAB_STANDARD) $(LAB_NVCC_FLAGS)
LAB_NVCC_FLAGS := -diag-suppress=177,550,940 -Xcompiler -Wno-unused-parameter$(comma)-Wno-unused-variable
lab_gencode = $(if $(LAB_PTX),-gencode arch=compute_80$(comma)code=compute_80,$(call gencode,$1))
build/$(LAB_FOLDER)/%.o: $(LAB_FOLDER)/%.cu build/nvcc-flags build/architectures
	$(call say,NVCC,$@)
	$(Q)$(NVCC) $(lab_flags) $(call lab_gencode,$<) -c $< -o $@

# The emulator's settings come from the environment, too: one of them turns its checks off.
lab_main = $(call main_objects_of,$(call lab_step,$1))
$(LAB_TWINS): %-emulated: %.o $$(call lab_main,$$*) $(HARNESS) \
		build/common/poison.o $(EMULATOR) $(ENVIRONMENT)
	$(call say,LINK,$@)
	$(Q)$(CC) -o $@ $(filter %.o,$^) $(EMULATED_LIBRARIES)

$(LAB_PROGRAMS): %: %.o $$(call lab_main,$$*) $(HARNESS) build/common/poison.o
	$(call say,LINK,$@)
	$(Q)$(link)

.SECONDARY: $(LAB_TWINS:%-emulated=%.o)

# ---------------------------------------------------------------------------- judging submissions

# The judge has the device, and a guest the host code of a submission (common/labs/wire.h).
JUDGE := build/common/labs/judge.o build/common/labs/wire.o $(HARNESS) build/common/poison.o

build/judge-emulated: $(JUDGE) $(EMULATOR) $(ENVIRONMENT)
	$(call say,LINK,$@)
	$(Q)$(CC) -o $@ $^ $(EMULATED_LIBRARIES)

build/judge: $(JUDGE)
	$(call say,LINK,$@)
	$(Q)$(link)

build/common/labs/guest-step%.o: common/labs/guest.c build/host-flags
	$(call say,CC,$@)
	$(Q)$(CC) $(HOST_FLAGS) -DSTEP=step$* -MMD -MP -c $< -o $@

-include $(wildcard build/common/labs/*.d)

# make grade SUBMISSIONS=folder LAB=07. Machine code is of use to a GPU alone.
GPU_HERE := $(wildcard /dev/nvidiactl /dev/dxg)
GRADED_FOR := $(if $(GPU_HERE),$(call gencode,/dev/null),-gencode arch=compute_80$(comma)code=compute_80)
out_option = $(if $(filter command,$(origin OUT)),$(call option,OUT,out))
GRADE_OPTIONS = $(call option,SECRET,secret) $(out_option) $(call option,JOBS,jobs) $(call option,SECONDS,seconds) \
	$(if $(GPU_HERE),--gpu)

# A handout has no judge.
with_judge = $(if $(wildcard common/labs/grade.py),,$(error make $@: the judge is not here, but in the course itself))

.PHONY: grade
grade: export COMPILE = $(NVCC) $(lab_flags) $(GRADED_FOR)
grade: export LINK = $(CC)
grade:
	$(with_judge)
	$(if $(and $(SUBMISSIONS),$(LAB)),,$(error make grade: say which folder and which lab: SUBMISSIONS=folder LAB=07))
	@$(call need,python3,python3)
	@$(call need,nm,binutils)
	$(judging) common/labs/grade.py $(call option,LAB,lab) $(GRADE_OPTIONS) -- $(call quoted,SUBMISSIONS)

# What a grading run needs, for every step; and an autograder for Gradescope.
.PHONY: grade-tools autograder
grade-tools: build/judge-emulated build/common/labs/wire.o $(STEPS:%=build/common/labs/guest-step%.o)

autograder:
	$(with_judge)
	$(if $(LAB),,$(error make autograder: say which lab: LAB=07))
	@$(call need,python3,python3)
	@python3 common/labs/gradescope.py zip $(call option,SECRET,secret) $(out_option) -- $(call quoted,LAB)
