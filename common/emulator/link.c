#include "link.h"

#include <stdlib.h>

#include "fault.h"
#include "memory.h"
#include "parsing.h"

static void *append(struct module *module, void *list, int *count, size_t size)
{
    return arena_grow(&module->arena, list, (size_t)(*count)++, size);
}

// Names of functions ----------------------------------------------------------------------------

static void add_callee(struct module *module, struct kernel *kernel, struct kernel *callee)
{
    for (int i = 0; i < kernel->callee_count; i++)
        if (kernel->callees[i] == callee)
            return;
    kernel->callees = append(module, kernel->callees, &kernel->callee_count, sizeof(void *));
    kernel->callees[kernel->callee_count - 1] = callee;
}

static void find_functions(struct module *module, struct kernel *kernel)
{
    for (int i = 0; i < kernel->count; i++) {
        struct statement *statement = &kernel->statements[i];
        const bool call =
            text_is(statement->opcode, "call") || text_is(statement->opcode, "call.uni");
        for (int j = 0; j < statement->count; j++) {
            struct operand *operand = &statement->operands[j];
            if (operand->kind == OPERAND_NAME)
                operand->function = module_function(module, operand->name);
            if (operand->function != NULL) {
                operand->kind = OPERAND_FUNCTION;
                add_callee(module, kernel, operand->function);
            }
            if (call && operand->kind == OPERAND_REGISTER)
                kernel->calls_pointers = true;
        }
    }
}

// Initial values --------------------------------------------------------------------------------

static const struct variable *find_global(const struct module *module, struct text name)
{
    const struct variable *variable = module->globals->variables;
    while (variable != NULL && !text_same(variable->name, name))
        variable = variable->next;
    return variable;
}

static void write_pointer(const struct module *module, const struct pointer *pointer)
{
    const struct kernel *function = module_function(module, pointer->name);
    const struct variable *variable = find_global(module, pointer->name);
    if (function == NULL &&
        (variable == NULL || (variable->space != SPACE_GLOBAL && variable->space != SPACE_CONST)))
        emulator_fail("PTX: %.*s, of an initial value, is not known", (int)pointer->name.length,
                      pointer->name.start);
    const uint64_t address =
        (function != NULL ? FUNCTION_WINDOW + 16 * function->number : variable->offset) +
        (uint64_t)pointer->offset;
    const uint64_t value = address >> pointer->shift;
    memory_write(pointer->at, &value, pointer->bytes);
}

// What kernels need -----------------------------------------------------------------------------

static void place_shared(struct module *module, struct kernel *kernel, struct variable *variable)
{
    for (int i = 0; i < kernel->shared_count; i++)
        if (kernel->shared[i].variable == variable)
            return;
    kernel->shared = append(module, kernel->shared, &kernel->shared_count, sizeof *kernel->shared);
    kernel->shared[kernel->shared_count - 1] = (struct placement){.variable = variable};
}

// Static variables first, in the order in which they are named; then those whose size the launch
// gives, which all begin at the same place.
static void place_all_shared(struct kernel *kernel)
{
    for (int i = 0; i < kernel->shared_count; i++) {
        struct placement *place = &kernel->shared[i];
        if (place->variable->bytes == 0)
            continue;
        place->offset = round_up(kernel->shared_bytes, place->variable->align);
        kernel->shared_bytes = place->offset + place->variable->bytes;
    }
    uint64_t end = kernel->shared_bytes;
    for (int i = 0; i < kernel->shared_count; i++)
        if (kernel->shared[i].variable->bytes == 0)
            end = round_up(end, kernel->shared[i].variable->align);
    for (int i = 0; i < kernel->shared_count; i++)
        if (kernel->shared[i].variable->bytes == 0) {
            kernel->dynamic = &kernel->shared[i];
            kernel->dynamic->offset = end;
        }
}

static void reach(struct module *module, struct kernel *kernel, struct kernel *function)
{
    for (int i = 0; i < kernel->function_count; i++)
        if (kernel->functions[i] == function)
            return;
    kernel->functions = append(module, kernel->functions, &kernel->function_count, sizeof(void *));
    kernel->functions[kernel->function_count - 1] = function;
}

// Every function that the kernel can call, and the functions that those can call. Who calls a
// function by its address may call any of the module.
static void find_reachable(struct module *module, struct kernel *kernel)
{
    reach(module, kernel, kernel);
    for (int i = 0; i < kernel->function_count; i++) {
        struct kernel *function = kernel->functions[i];
        for (int j = 0; j < function->callee_count; j++)
            if (function->callees[j]->defined)
                reach(module, kernel, function->callees[j]);
        kernel->calls_pointers |= function->calls_pointers;
        for (struct kernel *f = module->kernels; f != NULL && function->calls_pointers; f = f->next)
            if (f->defined && !f->entry)
                reach(module, kernel, f);
        for (int j = 0; j < function->named_count; j++)
            place_shared(module, kernel, function->named[j]);
    }
}

void link_module(struct module *module)
{
    for (struct kernel *kernel = module->kernels; kernel != NULL; kernel = kernel->next)
        find_functions(module, kernel);
    for (struct kernel *kernel = module->kernels; kernel != NULL; kernel = kernel->next)
        if (kernel->entry) {
            find_reachable(module, kernel);
            place_all_shared(kernel);
        }
    for (const struct pointer *pointer = module->pointers; pointer != NULL; pointer = pointer->next)
        write_pointer(module, pointer);
}
