# The unit test of malloc: targets for the top Makefile to include, after native.mk. Plain: the test process allocates with it, C
# library included. A sanitizer has a malloc of its own, so there the family goes by other names.

MALLOC_FAMILY := malloc calloc realloc reallocarray free aligned_alloc posix_memalign memalign valloc pvalloc malloc_usable_size

malloc_flags_plain := -fno-builtin
malloc_flags_asan := $(malloc_flags_plain) $(foreach name,$(MALLOC_FAMILY),-D$(name)=plait_test_$(name))
malloc_flags_tsan := $(malloc_flags_asan)

define malloc_rules
$(BUILD)/native/$(1)/malloc/%.o: lib/heap/%.c core/test/native.mk lib/heap/test/malloc.mk
	@mkdir -p $$(dir $$@)
	@$$(CC) $$(PLAIT_NATIVE_FLAGS) $$(native_flags_$(1)) $$(malloc_flags_$(1)) $$(DEPENDENCIES) -c $$< -o $$@

$(BUILD)/native/$(1)/test_malloc: $(BUILD)/native/$(1)/malloc/malloc.o $(BUILD)/native/$(1)/malloc/test/test_malloc.o
	@$$(CC) $$(PLAIT_NATIVE_FLAGS) $$(native_flags_$(1)) $$^ -o $$@

.PHONY: malloc-$(1)
malloc-$(1): $(BUILD)/native/$(1)/test_malloc
	@$$(call native_run,$$<,$(2))
endef
$(eval $(call malloc_rules,plain,))
$(eval $(call malloc_rules,asan,PLAIT_SCALE=20))
$(eval $(call malloc_rules,tsan,PLAIT_SCALE=20))
