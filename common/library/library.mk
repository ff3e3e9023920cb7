# sgemm() as a library, the examples that use it, and its tests. Included by the Makefile.

DISPATCH := 18

# One object, in which only the names of sgemm.h are seen from outside.
.PHONY: libsgemm
libsgemm: build/libsgemm.a

build/libsgemm.o: $$(call objects_of,$(DISPATCH))
	$(call say,LINK,$@)
	@$(call need,objcopy,binutils)
	$(Q)$(CC) -r -nostdlib -o $@ $^
	$(Q)objcopy --wildcard --keep-global-symbol='sgemm*' $@

build/libsgemm.a: build/libsgemm.o
	$(call say,AR,$@)
	$(Q)rm -f $@ && ar rcs $@ $<

# Programs that use the library, each with a twin that runs on the emulator.
EXAMPLES := $(patsubst %.c,build/%,$(wildcard docs/examples/*.c))
LIBRARY_TESTS := $(patsubst %.c,build/%,$(wildcard tests/library_*.c))
USERS_EMULATED := $(EXAMPLES:%=%-emulated) $(LIBRARY_TESTS:%=%-emulated)
USERS := $(EXAMPLES) $(LIBRARY_TESTS) build/tests/gpu_calls

.PHONY: examples
examples: $(EXAMPLES) $(EXAMPLES:%=%-emulated)

$(USERS): %: %.o build/libsgemm.a
	$(call say,LINK,$@)
	$(Q)$(CC) -o $@ $^ $(filter-out -lcublas,$(LIBRARIES))

$(USERS_EMULATED): %-emulated: %.o build/libsgemm.a $(EMULATOR) $(ENVIRONMENT)
	$(call say,LINK,$@)
	$(Q)$(CC) -o $@ $^ $(EMULATED_LIBRARIES)

# On a GPU: how fast each candidate is, and what sgemm() makes of it. Goes on where it was interrupted.
CANDIDATES = $(shell sed -n 's/^    {&step\([0-9][0-9]\), {\([0-9]*\), \([0-9]*\), \([0-9]*\)}.*/\1:\2:\3:\4/p' \
	$(call source_of,$(DISPATCH)))
TUNE ?= build/tune
.PHONY: tune
tune: $(foreach step,$(DISPATCH) $(call choices_of,$(DISPATCH)),step$(step))
	@$(call need,python3,python3)
	@python3 tests/tune.py '$(TUNE)' $(CANDIDATES)

# What chooses can be tested without a device.
build/tests/unit_dispatch: $$(call objects_of,$(DISPATCH))

test: $(USERS) $(USERS_EMULATED)
gpu: $(USERS)

-include $(wildcard build/common/library/*.d build/docs/examples/*.d)
