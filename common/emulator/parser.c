#include "parser.h"

#include <unistd.h>

#include "fault.h"
#include "link.h"
#include "parsing.h"

static struct place parse_position(struct parser *p)
{
    struct place place;
    place.file = (int)expect_integer(p);
    place.line = (int)expect_integer(p);
    expect_integer(p); // the column
    return place;
}

static bool same_place(struct place a, struct place b)
{
    return a.file == b.file && a.line == b.line;
}

// The call that a line has been inlined at most recently; NULL where it has not been.
static const struct call_site *site_of(const struct parser *p, struct place place)
{
    const struct inlining *inlining = p->inlinings;
    while (inlining != NULL && !same_place(inlining->place, place))
        inlining = inlining->next;
    return inlining == NULL ? NULL : &inlining->site;
}

// Notes that a line has been inlined at a call, and makes it the latest one.
static void note_inlining(struct parser *p, struct place place, struct place call)
{
    const struct call_site site = {call, same_place(call, place) ? NULL : site_of(p, call)};
    struct inlining **link = &p->inlinings;
    while (*link != NULL &&
           !(same_place((*link)->place, place) && same_place((*link)->site.place, call) &&
             (*link)->site.outer == site.outer))
        link = &(*link)->next;
    struct inlining *inlining = *link;
    if (inlining != NULL) {
        *link = inlining->next;
    } else {
        inlining = arena_get(&p->module->arena, sizeof *inlining);
        inlining->place = place;
        inlining->site = site;
    }
    inlining->next = p->inlinings;
    p->inlinings = inlining;
}

// .loc file line column [, function_name label, inlined_at file line column]. What comes from a
// header of the toolkit, say, counts as the line of the program that called it.
static void parse_place(struct parser *p)
{
    p->place = parse_position(p);
    p->inlined_at = NULL;
    if (p->own_file == 0)
        p->own_file = p->place.file;
    if (accept_sign(p, ',')) {
        while (p->token.kind != TOKEN_END && !accept_word(p, "inlined_at"))
            advance(p);
        note_inlining(p, p->place, parse_position(p));
        p->inlined_at = site_of(p, p->place);
    }
    while (p->place.file != p->own_file && p->inlined_at != NULL) {
        p->place = p->inlined_at->place;
        p->inlined_at = p->inlined_at->outer;
    }
}

// Statements ------------------------------------------------------------------------------------

static struct statement *new_statement(struct parser *p)
{
    struct kernel *kernel = p->kernel;
    kernel->statements = arena_grow(&p->module->arena, kernel->statements, (size_t)kernel->count,
                                    sizeof *kernel->statements);
    struct statement *statement = &kernel->statements[kernel->count++];
    *statement = (struct statement){.line = p->token.line,
                                    .place = p->place,
                                    .inlined_at = p->inlined_at,
                                    .guard = -1,
                                    .scope = p->scope};
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

// .branchtargets one, two;
static void parse_targets(struct parser *p, struct text name)
{
    struct text *targets = NULL;
    int count = 0;
    do {
        targets = arena_grow(&p->module->arena, targets, (size_t)count, sizeof *targets);
        targets[count++] = expect_word(p);
    } while (accept_sign(p, ','));
    expect_sign(p, ';');
    add_label(p, name, targets, count);
}

// What follows the name of a label and its colon.
static void parse_label(struct parser *p, struct text name)
{
    if (accept_word(p, ".branchtargets"))
        parse_targets(p, name);
    else if (at_word(p, ".callprototype") || at_word(p, ".calltargets"))
        skip_past(p, ';'); // a call says itself what it passes
    else
        add_label(p, name, NULL, 0);
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
        parse_label(p, statement.opcode);
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
        } else if (at_directive(p)) {
            parse_directive(p, expect_word(p));
        } else {
            parse_instruction(p);
        }
    }
}

// Kernels, functions and modules ----------------------------------------------------------------

// .maxntid 256, 1, 1 and the other directives between the parameters and the body
static void parse_limits(struct parser *p)
{
    while (!at_sign(p, '{') && !at_sign(p, ';')) {
        const struct text word = expect_word(p);
        const bool threads = text_is(word, ".maxntid") || text_is(word, ".reqntid");
        uint64_t product = 1;
        while (p->token.kind == TOKEN_INTEGER) {
            product *= expect_integer(p) & 0xffff;
            accept_sign(p, ',');
        }
        if (threads)
            p->kernel->max_threads = product < INT32_MAX ? (int)product : INT32_MAX;
    }
}

// (.param .b32 a, .param .b64 b), or nothing
static struct variable **parse_parameters(struct parser *p, int *count)
{
    struct variable **list = NULL;
    if (!accept_sign(p, '(') || accept_sign(p, ')'))
        return NULL;
    do {
        list = arena_grow(&p->module->arena, list, (size_t)*count, sizeof(void *));
        list[(*count)++] = parse_parameter(p);
    } while (accept_sign(p, ','));
    expect_sign(p, ')');
    return list;
}

// What one with this name, declared before, becomes, or a new one.
static struct kernel *declare(struct parser *p, struct text name)
{
    struct module *module = p->module;
    struct kernel *kernel = module_function(module, name);
    if (kernel == NULL) {
        kernel = arena_get(&module->arena, sizeof *kernel);
        kernel->number = module->function_count++;
        kernel->next = module->kernels;
        module->kernels = kernel;
    } else if (kernel->defined) {
        syntax_error(p, "a name that is not taken");
    }
    return kernel;
}

// A kernel, or a function, whose results stand before its name.
static void parse_function(struct parser *p, bool entry)
{
    struct module *module = p->module;
    struct kernel parsed = {.module = module, .entry = entry};
    p->kernel = &parsed;
    p->place = (struct place){0, 0};
    p->own_file = 0;
    p->inlined_at = NULL;
    open_scope(p);
    if (!entry)
        parsed.results = parse_parameters(p, &parsed.result_count);
    const struct text name = expect_word(p);
    struct kernel *kernel = declare(p, name);
    char *copy = arena_get(&module->arena, name.length + 1);
    memcpy(copy, name.start, name.length);
    parsed.name = copy;
    parsed.number = kernel->number;
    parsed.next = kernel->next;
    *kernel = parsed;
    p->kernel = kernel;
    kernel->parameters = parse_parameters(p, &kernel->parameter_count);
    parse_limits(p);
    if (!accept_sign(p, ';')) { // a declaration has no body
        kernel->defined = true;
        expect_sign(p, '{');
        parse_body(p);
        resolve_labels(module, kernel);
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
        parse_function(p, true);
    } else if (text_is(word, ".func")) {
        parse_function(p, false);
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
    link_module(module);
    return module;
}

struct kernel *module_function(const struct module *module, struct text name)
{
    for (struct kernel *kernel = module->kernels; kernel != NULL; kernel = kernel->next)
        if (text_is(name, kernel->name))
            return kernel;
    return NULL;
}

struct kernel *module_kernel(const struct module *module, const char *name)
{
    struct kernel *kernel = module_function(module, text_of(name));
    return kernel != NULL && kernel->entry && kernel->defined ? kernel : NULL;
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
