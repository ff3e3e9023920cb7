// Reads tokens.
#include "fault.h"
#include "parsing.h"

void advance(struct parser *p)
{
    p->previous_end = p->token.text.start + p->token.text.length;
    p->token = lexer_next(&p->lexer);
}

_Noreturn void syntax_error(const struct parser *p, const char *wanted)
{
    size_t shown = 0;
    while (shown < p->token.text.length && shown < 40 && p->token.text.start[shown] >= ' ')
        shown++;
    emulator_fail("PTX line %d: %s expected, not \"%.*s\"", p->token.line, wanted, (int)shown,
                  p->token.text.start);
}

bool at_sign(const struct parser *p, char sign)
{
    return p->token.kind == TOKEN_SIGN && *p->token.text.start == sign;
}

bool accept_sign(struct parser *p, char sign)
{
    if (!at_sign(p, sign))
        return false;
    advance(p);
    return true;
}

void expect_sign(struct parser *p, char sign)
{
    char wanted[] = "'?'";
    wanted[1] = sign;
    if (!accept_sign(p, sign))
        syntax_error(p, wanted);
}

bool at_word(const struct parser *p, const char *word)
{
    return p->token.kind == TOKEN_WORD && text_is(p->token.text, word);
}

bool accept_word(struct parser *p, const char *word)
{
    if (!at_word(p, word))
        return false;
    advance(p);
    return true;
}

bool at_directive(const struct parser *p)
{
    return p->token.kind == TOKEN_WORD && *p->token.text.start == '.';
}

struct text expect_word(struct parser *p)
{
    struct text word = p->token.text;
    if (p->token.kind != TOKEN_WORD)
        syntax_error(p, "a name");
    advance(p);
    return word;
}

uint64_t expect_integer(struct parser *p)
{
    const bool negative = accept_sign(p, '-');
    const uint64_t value = p->token.value;
    if (p->token.kind != TOKEN_INTEGER)
        syntax_error(p, "a number");
    advance(p);
    return negative ? -value : value;
}

void skip_past(struct parser *p, char sign)
{
    while (p->token.kind != TOKEN_END && !at_sign(p, sign))
        advance(p);
    accept_sign(p, sign);
}
