# What emucc links with: the emulator in one archive, emulator.a, in the folder where make runs. There
# `course` is a link to the course. (The Makefile builds the steps' twins, and has nothing to do with
# this: emucc works where the course cannot be written, and with a learner's own flags. But emucc first
# copies here what the Makefile has built.)

MAKEFLAGS += --no-builtin-rules
.DELETE_ON_ERROR:

OBJECTS := $(patsubst course/common/emulator/%.c,%.o,$(wildcard course/common/emulator/*.c))
TOOLKIT := $(realpath $(shell '$(NVCC)' --dryrun -x cu -c /dev/null 2>&1 | sed -n 's/.* TOP=//p'))
INCLUDES := $(wildcard $(TOOLKIT)/include $(TOOLKIT)/targets/*-linux/include)
include course/common/emulator/flags.mk

emulator.a: $(OBJECTS)
	@rm -f $@ && ar rcs $@ $^

%.o: course/common/emulator/%.c
	@$(if $(filter 1,$(DOTS)),printf . >&3)
	@$(CC) -std=c11 -D_POSIX_C_SOURCE=200809L $(EMULATOR_FLAGS) -Icourse/common \
		$(INCLUDES:%=-isystem %) -MMD -MP -c $< -o $@

-include $(OBJECTS:.o=.d)
