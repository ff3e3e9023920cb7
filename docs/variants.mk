# Variants of the steps: mistakes, which the emulator catches, and experiments, which a GPU times.
# docs/variants/02-one-barrier.diff changes step 02. Included by the Makefile.

VARIANTS := $(patsubst docs/variants/%.diff,%,$(wildcard docs/variants/*.diff))
EXPERIMENTS := $(patsubst docs/variants/%.diff,%,$(shell grep -l '^. experiment:' $(wildcard docs/variants/*.diff) /dev/null))
VARIANT_TWINS := $(VARIANTS:%=build/variants/%-emulated)
VARIANT_PROGRAMS := $(EXPERIMENTS:%=build/variants/%)

step_of = $(firstword $(subst -, ,$(notdir $(basename $1))))

build/variants/%.cu: docs/variants/%.diff docs/variants.py $$(call source_of,$$(call step_of,$$*))
	$(Q)$(call need,python3,python3)
	$(Q)mkdir -p $(@D) && python3 docs/variants.py source $* >$@

build/variants/%.o: build/variants/%.cu build/nvcc-flags build/architectures
	$(call say,NVCC,$@)
	$(Q)$(NVCC) $(NVCC_FLAGS) $(call gencode,$<) -MMD -MP -MF $(@:.o=.d) -c $< -o $@

# PTX is all that the emulator needs.
build/variants/%-emulated.o: build/variants/%.cu build/nvcc-flags
	$(call say,NVCC,$@)
	$(Q)$(NVCC) $(NVCC_FLAGS) -gencode arch=compute_80,code=compute_80 -MMD -MP -MF $(@:.o=.d) -c $< -o $@

.SECONDARY: $(VARIANTS:%=build/variants/%.cu) $(EXPERIMENTS:%=build/variants/%.o) \
	$(VARIANT_TWINS:%=%.o)

main_step_of = step$(call step_of,$1)
main_of_variant = $(call main_objects_of,$(step_of)) $(call chosen_objects_of,$(step_of))
$(VARIANT_TWINS): build/variants/%-emulated: build/variants/%-emulated.o $$(call main_of_variant,$$*) $(HARNESS) \
		build/common/poison.o $(EMULATOR)
	$(call say,LINK,$@)
	$(Q)$(CC) -o $@ $(filter %.o,$^) $(EMULATED_LIBRARIES)

$(VARIANT_PROGRAMS): build/variants/%: build/variants/%.o $$(call main_of_variant,$$*) $(HARNESS) \
		build/common/poison.o
	$(call say,LINK,$@)
	$(Q)$(link)

TRIES := $(VARIANTS:%=try%)
.PHONY: variants tries $(TRIES)
$(TRIES): try%: build/variants/%-emulated
	@python3 docs/variants.py try $*

# On a GPU, beside its step: make time09-narrow.
TIMES := $(EXPERIMENTS:%=time%)
.PHONY: $(TIMES)
$(TIMES): time%: build/variants/% $$(call main_step_of,$$*)
	./$(call main_step_of,$*)
	build/variants/$*

tries:
	@$(call need,python3,python3)
	@python3 docs/variants.py list

variants: $(VARIANT_TWINS)

test: $(VARIANT_TWINS)

# ---------------------------------------------------------------------------- main loops

number_of = $(firstword $(subst _, ,$(notdir $1)))

# Machine code for the reference GPU, whatever GPU is here. A step that chooses has none of its own.
LOOP_ARCH ?= 90
LOOPS := $(foreach source,$(shell grep -l __global__ $(STEP_SOURCES) /dev/null),$(call number_of,$(source))) \
	$(filter-out $(foreach pair,$(CHOICES),$(firstword $(subst :, ,$(pair)))-%),$(EXPERIMENTS))
$(eval $(call stamp,loop-architecture,$(LOOP_ARCH)))
build/loops/%.cubin: $$(or $$(call source_of,$$*),build/variants/$$*.cu) build/nvcc-flags \
		build/loop-architecture
	$(call say,NVCC,$@)
	$(Q)$(NVCC) $(NVCC_FLAGS) $(foreach a,$(or $(call only_of,$<),$(LOOP_ARCH)),-gencode arch=compute_$a,code=sm_$a) -MMD -MP -MF $(@:.cubin=.d) -cubin $< -o $@

.PHONY: loops
loops: $(LOOPS:%=build/loops/%.cubin)
	@$(call need,python3,python3)
	@CUOBJDUMP='$(CUOBJDUMP)' python3 tests/loop_mix.py '$(TOOLKIT)/bin' build/loops.csv $^

BANKS := $(LOOPS:%=banks%)
.PHONY: banks $(BANKS)
banks: $(LOOPS:%=build/loops/%.cubin)
$(BANKS): banks%: build/loops/%.cubin
banks $(BANKS):
	@$(call need,python3,python3)
	@CUOBJDUMP='$(CUOBJDUMP)' python3 tests/banks.py '$(TOOLKIT)/bin' build/banks.csv $^

# Of try02-nothing and its like.
try% time%:
	@echo "make $@: there is no such change (make tries lists them)" >&2; exit 2

banks%:
	@echo "make $@: there is no step or experiment of that name with a kernel of its own (make loops lists them)" >&2; exit 2

-include $(wildcard build/variants/*.d build/loops/*.d)
