// The parser's parts, and what they share. reader.c has the tokens, names.c the scopes, operands.c
// the operands of instructions, declarations.c registers and variables, and parser.c all the rest.
#ifndef EMULATOR_PARSING_H
#define EMULATOR_PARSING_H

#include "lexer.h"
#include "module.h"

// Registers %r0 to %r<count - 1>, or one register where count is 0.
struct register_range {
    struct text name;
    int first, count;
    struct register_range *next;
};

struct label {
    struct text name;
    int statement;
    struct text *targets; // of .branchtargets; NULL for the place of a statement
    int count;
    struct label *next;
};

// What is declared between a pair of braces.
struct scope {
    struct scope *outer;
    struct register_range *registers;
    struct variable *variables;
    struct label *labels;
};

// A line, and a call that it has been inlined at.
struct inlining {
    struct place place;
    struct call_site site;
    struct inlining *next;
};

struct parser {
    struct lexer lexer;
    struct token token; // the one being looked at
    struct module *module;
    struct kernel *kernel; // whose parameters or body is being read; NULL outside
    struct scope *scope;
    struct place place;
    int own_file;               // where the kernel itself stands
    struct inlining *inlinings; // the latest first
    const struct call_site *inlined_at;
    const char *previous_end;
    int depth; // of nested operands and braces
};

// Tokens. `expect` functions end the program where they do not find what they want.
void advance(struct parser *p);
_Noreturn void syntax_error(const struct parser *p, const char *wanted);
bool at_sign(const struct parser *p, char sign);
bool accept_sign(struct parser *p, char sign);
void expect_sign(struct parser *p, char sign);
bool at_word(const struct parser *p, const char *word);
bool accept_word(struct parser *p, const char *word);
bool at_directive(const struct parser *p); // a word that begins with a period
struct text expect_word(struct parser *p);
uint64_t expect_integer(struct parser *p);
void skip_past(struct parser *p, char sign); // everything up to and including the sign

// Names.
struct scope *open_scope(struct parser *p);
bool find_register(const struct parser *p, struct text name, int *reg);
struct variable *find_variable(struct parser *p, struct text name);
bool find_special(struct text name, enum special *special);
void add_label(struct parser *p, struct text name, struct text *targets, int count);
void resolve_labels(struct module *module, struct kernel *kernel);

// Operands. False where one has a form that nobody knows.
bool parse_operand(struct parser *p, struct operand *operand);

// Declarations, from behind the directive that starts them.
bool space_of(struct text word, enum space *space);
void parse_variables(struct parser *p, enum space space);
void parse_registers(struct parser *p);
struct variable *parse_parameter(struct parser *p);

static inline uint64_t round_up(uint64_t value, uint64_t multiple)
{
    return multiple > 1 ? (value + multiple - 1) / multiple * multiple : value;
}

#endif
