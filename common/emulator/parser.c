#include "parser.h"

#include <ctype.h>
#include <stdlib.h>
#include <unistd.h>

#include "fault.h"
#include "lexer.h"
#include "memory.h"

// Registers %r0 to %r<count - 1>, or one register where count is 0.
struct register_range {
    struct text name;
    int first, count;
    struct register_range *next;
};

struct label {
    struct text name;
    int statement;
    struct label *next;
};

// A line of another file, and the line that it was inlined at.
struct inlining {
    struct place place, caller;
    struct inlining *next;
};

// What is declared between a pair of braces.
struct scope {
    struct scope *outer;
    struct register_range *registers;
    struct variable *variables;
    struct label *labels;
};

struct parser {
    struct lexer lexer;
    struct token token; // the one being looked at
    struct module *module;
    struct kernel *kernel;
    struct scope *scope;
    struct place place;
    int own_file;               // where the kernel itself stands
    struct inlining *inlinings; // of functions from other files, the latest first
    const char *previous_end;
};

static void advance(struct parser *p)
{
    p->previous_end = p->token.text.start + p->token.text.length;
    p->token = lexer_next(&p->lexer);
}

static _Noreturn void syntax_error(const struct parser *p, const char *wanted)
{
    emulator_fail("PTX line %d: %s expected, not \"%.*s\"", p->token.line, wanted,
                  (int)p->token.text.length, p->token.text.start);
}

static bool at_sign(const struct parser *p, char sign)
{
    return p->token.kind == TOKEN_SIGN && *p->token.text.start == sign;
}

static bool accept_sign(struct parser *p, char sign)
{
    if (!at_sign(p, sign))
        return false;
    advance(p);
    return true;
}

static void expect_sign(struct parser *p, char sign)
{
    char wanted[] = "'?'";
    wanted[1] = sign;
    if (!accept_sign(p, sign))
        syntax_error(p, wanted);
}

static bool at_word(const struct parser *p, const char *word)
{
    return p->token.kind == TOKEN_WORD && text_is(p->token.text, word);
}

static bool accept_word(struct parser *p, const char *word)
{
    if (!at_word(p, word))
        return false;
    advance(p);
    return true;
}

static struct text expect_word(struct parser *p)
{
    struct text word = p->token.text;
    if (p->token.kind != TOKEN_WORD)
        syntax_error(p, "a name");
    advance(p);
    return word;
}

static uint64_t expect_integer(struct parser *p)
{
    const bool negative = accept_sign(p, '-');
    const uint64_t value = p->token.value;
    if (p->token.kind != TOKEN_INTEGER)
        syntax_error(p, "a number");
    advance(p);
    return negative ? -value : value;
}

// Steps over everything up to and including the sign.
static void skip_past(struct parser *p, char sign)
{
    while (p->token.kind != TOKEN_END && !at_sign(p, sign))
        advance(p);
    accept_sign(p, sign);
}

// Steps over a pair of braces and what is between them.
static void skip_braces(struct parser *p)
{
    int depth = 0;
    do {
        depth += at_sign(p, '{');
        depth -= at_sign(p, '}');
        advance(p);
    } while (depth > 0 && p->token.kind != TOKEN_END);
}

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

static bool space_of(struct text word, enum space *space)
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

// Names -----------------------------------------------------------------------------------------

static struct scope *open_scope(struct parser *p)
{
    struct scope *scope = arena_get(&p->module->arena, sizeof *scope);
    scope->outer = p->scope;
    p->scope = scope;
    return scope;
}

static bool range_holds(const struct register_range *range, struct text name, int *reg)
{
    if (range->count == 0) {
        *reg = range->first;
        return text_same(range->name, name);
    }
    const size_t prefix = range->name.length;
    if (name.length <= prefix || memcmp(name.start, range->name.start, prefix) != 0)
        return false;
    int index = 0;
    for (size_t i = prefix; i < name.length; i++) {
        if (!isdigit((unsigned char)name.start[i]) || index > 100000000)
            return false;
        index = 10 * index + (name.start[i] - '0');
    }
    *reg = range->first + index;
    return index < range->count;
}

static bool find_register(const struct parser *p, struct text name, int *reg)
{
    for (const struct scope *scope = p->scope; scope != NULL; scope = scope->outer)
        for (const struct register_range *r = scope->registers; r != NULL; r = r->next)
            if (range_holds(r, name, reg))
                return true;
    return false;
}

// A shared variable belongs to a kernel from the moment that the kernel names it.
static void use_shared(struct parser *p, struct variable *variable)
{
    struct kernel *kernel = p->kernel;
    if (kernel == NULL)
        return;
    for (int i = 0; i < kernel->shared_count; i++)
        if (kernel->shared[i] == variable)
            return;
    kernel->shared =
        arena_grow(&p->module->arena, kernel->shared, (size_t)kernel->shared_count, sizeof(void *));
    kernel->shared[kernel->shared_count++] = variable;
}

static struct variable *find_variable(struct parser *p, struct text name)
{
    for (const struct scope *scope = p->scope; scope != NULL; scope = scope->outer)
        for (struct variable *v = scope->variables; v != NULL; v = v->next)
            if (text_same(v->name, name)) {
                if (v->space == SPACE_SHARED)
                    use_shared(p, v);
                return v;
            }
    return NULL;
}

static bool find_special(struct text name, enum special *special)
{
    static const char *const vectors[] = {"%tid.", "%ntid.", "%ctaid.", "%nctaid."};
    for (int i = 0; i < 4; i++) {
        const size_t length = strlen(vectors[i]);
        const char axis = name.start[name.length - 1];
        if (name.length == length + 1 && memcmp(name.start, vectors[i], length) == 0 &&
            axis >= 'x' && axis <= 'z') {
            *special = (enum special)(3 * i + axis - 'x');
            return true;
        }
    }
    *special = text_is(name, "%laneid")   ? SPECIAL_LANE
               : text_is(name, "%warpid") ? SPECIAL_WARP
                                          : SPECIAL_NONE;
    return *special != SPECIAL_NONE;
}

// Operands --------------------------------------------------------------------------------------

static bool parse_operand(struct parser *p, struct operand *operand);

static bool parse_elements(struct parser *p, struct operand *operand, char close)
{
    do {
        operand->elements = arena_grow(&p->module->arena, operand->elements, (size_t)operand->count,
                                       sizeof *operand);
        if (!parse_operand(p, &operand->elements[operand->count++]))
            return false;
    } while (accept_sign(p, ','));
    return accept_sign(p, close);
}

static bool parse_memory(struct parser *p, struct operand *operand)
{
    operand->kind = OPERAND_MEMORY;
    operand->elements = arena_get(&p->module->arena, 2 * sizeof *operand);
    operand->count = 1;
    if (!parse_operand(p, &operand->elements[0]))
        return false;
    if (at_sign(p, '+') || at_sign(p, '-')) {
        const bool negative = at_sign(p, '-');
        advance(p);
        const int64_t offset = (int64_t)expect_integer(p);
        operand->offset = negative ? -offset : offset;
    } else if (accept_sign(p, ',')) {
        operand->count = 2;
        if (!parse_operand(p, &operand->elements[1]))
            return false;
    }
    return accept_sign(p, ']');
}

static bool parse_number(struct parser *p, struct operand *operand)
{
    const bool negative = accept_sign(p, '-');
    const struct token number = p->token;
    operand->value = negative ? -number.value : number.value;
    operand->kind = number.kind == TOKEN_FLOAT32   ? OPERAND_FLOAT32
                    : number.kind == TOKEN_FLOAT64 ? OPERAND_FLOAT64
                                                   : OPERAND_INTEGER;
    if (number.kind != TOKEN_INTEGER && (negative || operand->kind == OPERAND_INTEGER))
        return false;
    advance(p);
    return true;
}

static bool parse_name(struct parser *p, struct operand *operand)
{
    operand->name = p->token.text;
    advance(p);
    operand->kind = OPERAND_NAME;
    if (text_is(operand->name, "_")) {
        operand->kind = OPERAND_SINK;
    } else if (find_special(operand->name, &operand->special)) {
        operand->kind = OPERAND_SPECIAL;
    } else if (find_register(p, operand->name, &operand->reg)) {
        operand->kind = OPERAND_REGISTER;
    } else {
        operand->variable = find_variable(p, operand->name);
        if (operand->variable != NULL)
            operand->kind = OPERAND_VARIABLE;
    }
    if (!accept_sign(p, '|'))
        return true;
    operand->second = arena_get(&p->module->arena, sizeof *operand);
    return parse_operand(p, operand->second);
}

static bool parse_operand(struct parser *p, struct operand *operand)
{
    *operand = (struct operand){.reg = -1};
    if (accept_sign(p, '{')) {
        operand->kind = OPERAND_VECTOR;
        return parse_elements(p, operand, '}');
    }
    if (accept_sign(p, '['))
        return parse_memory(p, operand);
    if (accept_sign(p, '!')) {
        const bool known = parse_operand(p, operand);
        operand->negated = true;
        return known;
    }
    if (p->token.kind == TOKEN_WORD)
        return parse_name(p, operand);
    return parse_number(p, operand);
}

// Declarations ----------------------------------------------------------------------------------

static uint64_t round_up(uint64_t value, uint64_t multiple)
{
    return multiple > 1 ? (value + multiple - 1) / multiple * multiple : value;
}

// [n] or [n][m] or []: the product, 0 for a size that is left open, 1 where there is none.
static uint64_t parse_dimensions(struct parser *p)
{
    uint64_t count = 1;
    while (accept_sign(p, '[')) {
        count *= at_sign(p, ']') ? 0 : expect_integer(p);
        expect_sign(p, ']');
    }
    return count;
}

// What .attribute says: true for (.managed).
static bool parse_attribute(struct parser *p)
{
    bool managed = false;
    expect_sign(p, '(');
    while (!accept_sign(p, ')')) {
        managed |= text_is(p->token.text, ".managed");
        advance(p);
    }
    return managed;
}

// What stands between a state space and a variable's name: .align 4 .b8, .ptr .global and so on.
static void parse_attributes(struct parser *p, struct variable *variable, uint64_t *element)
{
    *element = 0;
    while (p->token.kind == TOKEN_WORD && *p->token.text.start == '.') {
        const struct text word = expect_word(p);
        if (text_is(word, ".align"))
            variable->align = expect_integer(p);
        else if (text_is(word, ".attribute"))
            variable->managed |= parse_attribute(p);
        else if (type_bytes(word) != 0 && *element == 0)
            *element = type_bytes(word);
    }
    if (variable->align < *element)
        variable->align = *element;
}

// The initial value of a variable in global or constant memory: integers and bit patterns.
static void parse_initial(struct parser *p, struct variable *variable, uint64_t element)
{
    const bool braces = accept_sign(p, '{');
    uint64_t at = 0;
    do {
        struct operand value;
        if (!parse_operand(p, &value) || at + element > variable->bytes)
            syntax_error(p, "an initial value that fits");
        memory_write(variable->offset + at, &value.value, element);
        at += element;
    } while (braces && accept_sign(p, ','));
    if (braces)
        expect_sign(p, '}');
}

// Gives a variable its place. Shared variables get theirs at the end of the kernel.
static void place_variable(struct parser *p, struct variable *variable)
{
    if (variable->space == SPACE_LOCAL && p->kernel != NULL) {
        variable->offset = round_up(p->kernel->local_bytes, variable->align);
        p->kernel->local_bytes = variable->offset + variable->bytes;
    } else if (variable->space == SPACE_GLOBAL || variable->space == SPACE_CONST) {
        variable->offset =
            memory_allocate_variable(variable->name, variable->bytes, variable->managed);
    }
}

static void parse_variables(struct parser *p, enum space space)
{
    struct variable form = {.space = space};
    uint64_t element;
    parse_attributes(p, &form, &element);
    do {
        struct variable *variable = arena_get(&p->module->arena, sizeof *variable);
        *variable = form;
        variable->name = expect_word(p);
        variable->bytes = parse_dimensions(p) * element;
        variable->next = p->scope->variables;
        p->scope->variables = variable;
        place_variable(p, variable);
        if (accept_sign(p, '='))
            parse_initial(p, variable, element);
    } while (accept_sign(p, ','));
    expect_sign(p, ';');
}

static enum register_kind register_kind_of(struct text type)
{
    if (text_is(type, ".pred"))
        return REGISTER_PREDICATE;
    return type_bytes(type) == 8 ? REGISTER_64 : REGISTER_32;
}

static void parse_registers(struct parser *p)
{
    struct kernel *kernel = p->kernel;
    const enum register_kind kind = register_kind_of(expect_word(p));
    do {
        struct register_range *range = arena_get(&p->module->arena, sizeof *range);
        range->name = expect_word(p);
        range->first = kernel->register_count;
        if (accept_sign(p, '<')) {
            range->count = (int)expect_integer(p);
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

static struct place parse_position(struct parser *p)
{
    struct place place;
    place.file = (int)expect_integer(p);
    place.line = (int)expect_integer(p);
    expect_integer(p); // the column
    return place;
}

// What comes from a header of the toolkit, say, counts as the line of the program that called it.
static struct place outer_place(const struct parser *p, struct place place)
{
    for (const struct inlining *i = p->inlinings; i != NULL && place.file != p->own_file;
         i = i->next)
        if (i->place.file == place.file && i->place.line == place.line)
            place = i->caller;
    return place;
}

// .loc file line column [, function_name label, inlined_at file line column]
static void parse_place(struct parser *p)
{
    const struct place place = parse_position(p);
    if (p->own_file == 0)
        p->own_file = place.file;
    if (accept_sign(p, ',')) {
        while (p->token.kind != TOKEN_END && !accept_word(p, "inlined_at"))
            advance(p);
        struct inlining *inlining = arena_get(&p->module->arena, sizeof *inlining);
        *inlining = (struct inlining){place, parse_position(p), p->inlinings};
        if (place.file != p->own_file)
            p->inlinings = inlining;
    }
    p->place = outer_place(p, place);
}

// Statements ------------------------------------------------------------------------------------

static struct statement *new_statement(struct parser *p)
{
    struct kernel *kernel = p->kernel;
    kernel->statements = arena_grow(&p->module->arena, kernel->statements, (size_t)kernel->count,
                                    sizeof *kernel->statements);
    struct statement *statement = &kernel->statements[kernel->count++];
    *statement = (struct statement){
        .line = p->token.line, .place = p->place, .guard = -1, .scope = p->scope};
    return statement;
}

static bool parse_operands(struct parser *p, struct statement *statement)
{
    if (at_sign(p, ';'))
        return true;
    do {
        statement->operands = arena_grow(&p->module->arena, statement->operands,
                                         (size_t)statement->count, sizeof *statement->operands);
        if (!parse_operand(p, &statement->operands[statement->count++]))
            return false;
    } while (accept_sign(p, ','));
    return at_sign(p, ';');
}

static void parse_guard(struct parser *p, struct statement *statement)
{
    struct operand guard;
    if (!accept_sign(p, '@'))
        return;
    if (!parse_operand(p, &guard) || guard.kind != OPERAND_REGISTER ||
        p->kernel->registers[guard.reg] != REGISTER_PREDICATE)
        syntax_error(p, "a predicate register behind '@'");
    statement->guard = guard.reg;
    statement->guard_negated = guard.negated;
}

static void add_label(struct parser *p, struct text name)
{
    struct label *label = arena_get(&p->module->arena, sizeof *label);
    *label = (struct label){.name = name, .statement = p->kernel->count, .next = p->scope->labels};
    p->scope->labels = label;
}

// An instruction, or a label. Operands that nobody understands are stepped over.
static void parse_instruction(struct parser *p)
{
    const char *start = p->token.text.start;
    const int line = p->token.line;
    struct statement statement = {.guard = -1};
    parse_guard(p, &statement);
    statement.opcode = expect_word(p);
    if (statement.guard < 0 && accept_sign(p, ':')) {
        add_label(p, statement.opcode);
        return;
    }
    struct statement *kept = new_statement(p);
    kept->line = line;
    kept->guard = statement.guard;
    kept->guard_negated = statement.guard_negated;
    kept->opcode = statement.opcode;
    kept->understood = parse_operands(p, kept);
    while (p->token.kind != TOKEN_END && !at_sign(p, ';') && !at_sign(p, '}'))
        advance(p);
    kept->source = (struct text){start, (size_t)(p->previous_end - start)};
    accept_sign(p, ';');
}

// One directive inside a kernel's body, whose name has been read.
static void parse_directive(struct parser *p, struct text name)
{
    enum space space;
    if (text_is(name, ".reg"))
        parse_registers(p);
    else if (text_is(name, ".loc"))
        parse_place(p);
    else if (space_of(name, &space))
        parse_variables(p, space);
    else
        skip_past(p, ';'); // .pragma and its kin say nothing about the result
}

static void parse_body(struct parser *p)
{
    int depth = 1;
    while (depth > 0) {
        if (p->token.kind == TOKEN_END)
            syntax_error(p, "'}'");
        if (accept_sign(p, '{')) {
            open_scope(p);
            depth++;
        } else if (accept_sign(p, '}')) {
            p->scope = p->scope->outer;
            depth--;
        } else if (accept_sign(p, ';')) {
            continue;
        } else if (p->token.kind == TOKEN_WORD && *p->token.text.start == '.') {
            parse_directive(p, expect_word(p));
        } else {
            parse_instruction(p);
        }
    }
}

// Turns the name of a label into the statement that it stands before.
static void resolve_label(struct operand *operand, const struct scope *scope)
{
    for (; scope != NULL; scope = scope->outer)
        for (const struct label *label = scope->labels; label != NULL; label = label->next)
            if (text_same(label->name, operand->name)) {
                operand->kind = OPERAND_LABEL;
                operand->value = (uint64_t)label->statement;
                return;
            }
}

static void resolve_labels(struct kernel *kernel)
{
    for (int i = 0; i < kernel->count; i++) {
        struct statement *statement = &kernel->statements[i];
        for (int j = 0; j < statement->count; j++)
            if (statement->operands[j].kind == OPERAND_NAME)
                resolve_label(&statement->operands[j], statement->scope);
    }
}

static void place_shared(struct kernel *kernel)
{
    for (int i = 0; i < kernel->shared_count; i++) {
        struct variable *variable = kernel->shared[i];
        if (variable->bytes == 0) {
            kernel->dynamic = variable;
            continue;
        }
        variable->offset = round_up(kernel->shared_bytes, variable->align);
        kernel->shared_bytes = variable->offset + variable->bytes;
    }
    if (kernel->dynamic != NULL)
        kernel->dynamic->offset = round_up(kernel->shared_bytes, kernel->dynamic->align);
}

// Kernels and modules ---------------------------------------------------------------------------

static void parse_parameter(struct parser *p)
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
    variable->offset = round_up(kernel->parameter_bytes, variable->align);
    kernel->parameter_bytes = variable->offset + variable->bytes;
    variable->next = p->scope->variables;
    p->scope->variables = variable;
    kernel->parameters = arena_grow(&p->module->arena, kernel->parameters,
                                    (size_t)kernel->parameter_count, sizeof(void *));
    kernel->parameters[kernel->parameter_count++] = variable;
}

// .maxntid 256, 1, 1 and the other directives between the parameters and the body
static void parse_limits(struct parser *p)
{
    while (!at_sign(p, '{')) {
        const struct text word = expect_word(p);
        const bool threads = text_is(word, ".maxntid") || text_is(word, ".reqntid");
        int product = 1;
        while (p->token.kind == TOKEN_INTEGER) {
            product *= (int)expect_integer(p);
            accept_sign(p, ',');
        }
        if (threads)
            p->kernel->max_threads = product;
    }
}

static void parse_kernel(struct parser *p)
{
    struct module *module = p->module;
    struct kernel *kernel = arena_get(&module->arena, sizeof *kernel);
    const struct text name = expect_word(p);
    char *copy = arena_get(&module->arena, name.length + 1);
    memcpy(copy, name.start, name.length);
    kernel->name = copy;
    kernel->module = module;
    p->kernel = kernel;
    p->place = (struct place){0, 0};
    p->own_file = 0;
    open_scope(p);
    if (accept_sign(p, '(') && !accept_sign(p, ')')) {
        do
            parse_parameter(p);
        while (accept_sign(p, ','));
        expect_sign(p, ')');
    }
    if (!accept_sign(p, ';')) { // a declaration has no body
        parse_limits(p);
        expect_sign(p, '{');
        parse_body(p);
        resolve_labels(kernel);
        place_shared(kernel);
        kernel->next = module->kernels;
        module->kernels = kernel;
    }
    p->kernel = NULL;
    p->scope = module->globals;
}

// .file 1 "name" [, time, size]
static void parse_file(struct parser *p)
{
    struct source_file *file = arena_get(&p->module->arena, sizeof *file);
    file->number = (int)expect_integer(p);
    if (p->token.kind != TOKEN_STRING)
        syntax_error(p, "a file's name");
    file->name = p->token.text;
    file->next = p->module->files;
    p->module->files = file;
    advance(p);
    while (accept_sign(p, ','))
        expect_integer(p);
}

// Steps to the next thing at the top level: directives stand at the start of a line.
static void skip_directive(struct parser *p)
{
    const int line = p->token.line;
    while (p->token.kind != TOKEN_END && p->token.line == line)
        advance(p);
}

// A device function: declared or defined, it is not run yet.
static void skip_function(struct parser *p)
{
    while (p->token.kind != TOKEN_END && !at_sign(p, ';') && !at_sign(p, '{'))
        advance(p);
    if (at_sign(p, '{'))
        skip_braces(p);
    else
        accept_sign(p, ';');
}

static void parse_top(struct parser *p)
{
    enum space space;
    if (at_word(p, ".version") || at_word(p, ".target") || at_word(p, ".address_size")) {
        skip_directive(p);
        return;
    }
    const struct text word = expect_word(p);
    if (text_is(word, ".file")) {
        parse_file(p);
    } else if (text_is(word, ".section")) {
        skip_past(p, '}');
    } else if (text_is(word, ".entry")) {
        parse_kernel(p);
    } else if (text_is(word, ".func")) {
        skip_function(p);
    } else if (space_of(word, &space)) {
        parse_variables(p, space);
    } else if (!text_is(word, ".visible") && !text_is(word, ".extern") && !text_is(word, ".weak") &&
               !text_is(word, ".common")) {
        emulator_fail("PTX line %d: directive %.*s is not known", p->token.line, (int)word.length,
                      word.start);
    }
}

struct module *parse_module(const char *ptx)
{
    struct module *module = zeroed(1, sizeof *module);
    struct parser p = {.lexer = {ptx, 1}, .module = module};
    module->globals = open_scope(&p);
    advance(&p);
    while (p.token.kind != TOKEN_END)
        parse_top(&p);
    return module;
}

struct kernel *module_kernel(const struct module *module, const char *name)
{
    for (struct kernel *kernel = module->kernels; kernel != NULL; kernel = kernel->next)
        if (strcmp(kernel->name, name) == 0)
            return kernel;
    return NULL;
}

uint64_t module_variable(const struct module *module, const char *name)
{
    const struct text wanted = {name, strlen(name)};
    for (const struct variable *v = module->globals->variables; v != NULL; v = v->next)
        if (text_same(v->name, wanted) && (v->space == SPACE_GLOBAL || v->space == SPACE_CONST))
            return v->offset;
    return 0;
}

struct text module_file(const struct module *module, int number)
{
    char directory[4096];
    for (const struct source_file *file = module->files; file != NULL; file = file->next) {
        if (file->number != number)
            continue;
        struct text name = file->name;
        const size_t length =
            getcwd(directory, sizeof directory) != NULL ? strlen(directory) : name.length;
        if (length < name.length && memcmp(name.start, directory, length) == 0 &&
            name.start[length] == '/') {
            name.start += length + 1;
            name.length -= length + 1;
        }
        return name;
    }
    return (struct text){"", 0};
}
