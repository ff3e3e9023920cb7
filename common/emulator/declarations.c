// Registers, variables and parameters.
#include "fault.h"
#include "memory.h"
#include "parsing.h"

static const uint64_t GREATEST_SIZE = UINT64_C(1) << 40; // of a variable

enum {
    GREATEST_ALIGNMENT = 1 << 16,
    GREATEST_REGISTERS = 1 << 20, // of a kernel
    GREATEST_FRAME = 1 << 19,     // bytes of local variables, or of parameters
};

// ".f32" -> 4. 0 for anything that is no type; predicates have the size 1.
static uint64_t type_bytes(struct text word)
{
    static const struct {
        const char *name;
        uint64_t bytes;
    } types[] = {
        {".pred", 1}, {".b8", 1},  {".u8", 1},  {".s8", 1},  {".b16", 2},   {".u16", 2},
        {".s16", 2},  {".f16", 2}, {".b32", 4}, {".u32", 4}, {".s32", 4},   {".f32", 4},
        {".b64", 8},  {".u64", 8}, {".s64", 8}, {".f64", 8}, {".f16x2", 4},
    };
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (text_is(word, types[i].name))
            return types[i].bytes;
    return 0;
}

bool space_of(struct text word, enum space *space)
{
    static const struct {
        const char *name;
        enum space space;
    } spaces[] = {{".global", SPACE_GLOBAL},
                  {".shared", SPACE_SHARED},
                  {".local", SPACE_LOCAL},
                  {".const", SPACE_CONST},
                  {".param", SPACE_PARAM}};
    for (size_t i = 0; i < sizeof spaces / sizeof *spaces; i++)
        if (text_is(word, spaces[i].name)) {
            *space = spaces[i].space;
            return true;
        }
    return false;
}

// [n] or [n][m] or []: the product, 0 for a size that is left open, 1 where there is none.
static uint64_t parse_dimensions(struct parser *p)
{
    uint64_t count = 1;
    while (accept_sign(p, '[')) {
        const uint64_t size = at_sign(p, ']') ? 0 : expect_integer(p);
        if (size > GREATEST_SIZE || count * size > GREATEST_SIZE)
            syntax_error(p, "a smaller array");
        count *= size;
        expect_sign(p, ']');
    }
    return count;
}

// True for (.managed).
static bool parse_attribute(struct parser *p)
{
    bool managed = false;
    expect_sign(p, '(');
    while (!accept_sign(p, ')') && p->token.kind != TOKEN_END) {
        managed |= at_word(p, ".managed");
        advance(p);
    }
    return managed;
}

// What stands between a state space and a variable's name: .align 4 .b8, .ptr .global,
// .attribute(.managed) and so on.
static void parse_attributes(struct parser *p, struct variable *variable, uint64_t *element)
{
    *element = 0;
    while (at_directive(p)) {
        const struct text word = expect_word(p);
        if (text_is(word, ".align"))
            variable->align = expect_integer(p);
        else if (text_is(word, ".attribute"))
            variable->managed |= parse_attribute(p);
        else if (type_bytes(word) != 0 && *element == 0)
            *element = type_bytes(word);
    }
    if (variable->align > GREATEST_ALIGNMENT)
        syntax_error(p, "a smaller alignment");
    if (variable->align < *element)
        variable->align = *element;
}

// Initial values --------------------------------------------------------------------------------

// name, name+4, generic(name), generic(name)+4
static struct pointer parse_pointer(struct parser *p)
{
    struct pointer pointer = {.name = expect_word(p)};
    if (text_is(pointer.name, "generic") && accept_sign(p, '(')) {
        pointer.name = expect_word(p);
        expect_sign(p, ')');
    }
    if (accept_sign(p, '+'))
        pointer.offset = (int64_t)expect_integer(p);
    return pointer;
}

static void add_pointer(struct parser *p, struct pointer pointer, uint64_t at, uint64_t bytes)
{
    struct pointer *kept = arena_get(&p->module->arena, sizeof *kept);
    *kept = pointer;
    kept->at = at;
    kept->bytes = bytes;
    kept->next = p->module->pointers;
    p->module->pointers = kept;
}

// A number, an address, or one byte of an address: 0xff00(name) is its second.
static void parse_value(struct parser *p, uint64_t at, uint64_t bytes)
{
    struct operand value;
    if (p->token.kind == TOKEN_WORD) {
        add_pointer(p, parse_pointer(p), at, bytes);
        return;
    }
    if (!parse_operand(p, &value) || value.kind < OPERAND_INTEGER || value.kind > OPERAND_FLOAT64)
        syntax_error(p, "an initial value");
    if (accept_sign(p, '(')) {
        struct pointer pointer = parse_pointer(p);
        pointer.shift = value.value == 0 ? 0 : __builtin_ctzll(value.value);
        add_pointer(p, pointer, at, bytes);
        expect_sign(p, ')');
        return;
    }
    memory_write(at, &value.value, bytes);
}

// Values, which may be in braces inside braces. `at` is how many bytes have had theirs.
static void parse_initial(struct parser *p, const struct variable *variable, uint64_t element,
                          uint64_t *at)
{
    const bool braces = accept_sign(p, '{');
    if (p->depth++ > 16)
        syntax_error(p, "fewer braces");
    do {
        if (at_sign(p, '{')) {
            parse_initial(p, variable, element, at);
            continue;
        }
        if (element == 0 || *at + element > variable->bytes)
            syntax_error(p, "an initial value that fits");
        parse_value(p, variable->offset + *at, element);
        *at += element;
    } while (braces && accept_sign(p, ','));
    p->depth--;
    if (braces)
        expect_sign(p, '}');
}

// Variables -------------------------------------------------------------------------------------

static uint64_t place_after(uint64_t *bytes, const struct variable *variable)
{
    const uint64_t offset = round_up(*bytes, variable->align);
    *bytes = offset + variable->bytes;
    return offset;
}

// Gives a variable its place. Shared variables get theirs when all that kernels call is known.
static void place_variable(struct parser *p, struct variable *variable)
{
    if (variable->space == SPACE_GLOBAL || variable->space == SPACE_CONST) {
        variable->offset =
            memory_allocate_variable(variable->name, variable->bytes, variable->managed);
        return;
    }
    if (p->kernel == NULL)
        return;
    if (variable->space == SPACE_LOCAL)
        variable->offset = place_after(&p->kernel->local_bytes, variable);
    if (variable->space == SPACE_PARAM) {
        variable->in_frame = true;
        variable->offset = place_after(&p->kernel->frame_bytes, variable);
    }
    if (p->kernel->local_bytes > GREATEST_FRAME || p->kernel->frame_bytes > GREATEST_FRAME)
        syntax_error(p, "a smaller variable");
}

static void add_variable(struct parser *p, struct variable *variable)
{
    variable->next = p->scope->variables;
    p->scope->variables = variable;
}

void parse_variables(struct parser *p, enum space space)
{
    struct variable form = {.space = space};
    uint64_t element;
    parse_attributes(p, &form, &element);
    do {
        struct variable *variable = arena_get(&p->module->arena, sizeof *variable);
        *variable = form;
        variable->name = expect_word(p);
        variable->bytes = parse_dimensions(p) * element;
        add_variable(p, variable);
        place_variable(p, variable);
        uint64_t at = 0;
        if (accept_sign(p, '=')) {
            if (space != SPACE_GLOBAL && space != SPACE_CONST)
                syntax_error(p, "an initial value only in global or constant memory");
            parse_initial(p, variable, element, &at);
        }
    } while (accept_sign(p, ','));
    expect_sign(p, ';');
}

// A parameter or a result. Those of a kernel lie one after the other in what the launch passes,
// those of a function in the frame of the call.
struct variable *parse_parameter(struct parser *p)
{
    struct kernel *kernel = p->kernel;
    struct variable *variable = arena_get(&p->module->arena, sizeof *variable);
    uint64_t element;
    variable->space = SPACE_PARAM;
    if (!accept_word(p, ".param"))
        syntax_error(p, ".param");
    parse_attributes(p, variable, &element);
    variable->name = expect_word(p);
    variable->bytes = parse_dimensions(p) * element;
    if (kernel->entry)
        variable->offset = place_after(&kernel->parameter_bytes, variable);
    else
        place_variable(p, variable);
    if (kernel->parameter_bytes > GREATEST_FRAME)
        syntax_error(p, "a smaller parameter");
    add_variable(p, variable);
    return variable;
}

// Registers -------------------------------------------------------------------------------------

static enum register_kind register_kind_of(struct text type)
{
    if (text_is(type, ".pred"))
        return REGISTER_PREDICATE;
    return type_bytes(type) == 8 ? REGISTER_64 : REGISTER_32;
}

void parse_registers(struct parser *p)
{
    struct kernel *kernel = p->kernel;
    const enum register_kind kind = register_kind_of(expect_word(p));
    do {
        struct register_range *range = arena_get(&p->module->arena, sizeof *range);
        range->name = expect_word(p);
        range->first = kernel->register_count;
        if (accept_sign(p, '<')) {
            const uint64_t count = expect_integer(p);
            if (count > GREATEST_REGISTERS - (uint64_t)kernel->register_count)
                syntax_error(p, "fewer registers");
            range->count = (int)count;
            expect_sign(p, '>');
        }
        range->next = p->scope->registers;
        p->scope->registers = range;
        for (int i = 0; i < (range->count > 0 ? range->count : 1); i++) {
            kernel->registers =
                arena_grow(&p->module->arena, kernel->registers, (size_t)kernel->register_count,
                           sizeof *kernel->registers);
            kernel->registers[kernel->register_count++] = kind;
        }
    } while (accept_sign(p, ','));
    expect_sign(p, ';');
}
