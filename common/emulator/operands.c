// Operands of instructions.
#include "parsing.h"

enum {
    GREATEST_DEPTH = 32, // of operands in operands
};

static bool parse_elements(struct parser *p, struct operand *operand, char close)
{
    if (accept_sign(p, close))
        return true;
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
    } else if (text_is(operand->name, "WARP_SZ")) {
        operand->kind = OPERAND_INTEGER;
        operand->value = 32; // a warp's lanes
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

static bool parse_nested(struct parser *p, struct operand *operand)
{
    if (accept_sign(p, '{')) {
        operand->kind = OPERAND_VECTOR;
        return parse_elements(p, operand, '}');
    }
    if (accept_sign(p, '(')) {
        operand->kind = OPERAND_LIST;
        return parse_elements(p, operand, ')');
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

bool parse_operand(struct parser *p, struct operand *operand)
{
    *operand = (struct operand){.reg = -1};
    if (p->depth == GREATEST_DEPTH)
        return false;
    p->depth++;
    const bool known = parse_nested(p, operand);
    p->depth--;
    return known;
}
