#include "lexer.h"

#include <ctype.h>
#include <stdlib.h>

static bool is_letter(char c)
{
    return isalpha((unsigned char)c) || c == '_' || c == '$' || c == '%';
}

static bool is_word_part(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '$' || c == '%' || c == '.';
}

// Steps over blanks and comments.
static void skip_blanks(struct lexer *lexer)
{
    for (;;) {
        const char *at = lexer->at;
        if (at[0] == '/' && at[1] == '/') {
            while (*at != '\0' && *at != '\n')
                at++;
        } else if (at[0] == '/' && at[1] == '*') {
            for (at += 2; *at != '\0' && !(at[0] == '*' && at[1] == '/'); at++)
                lexer->line += *at == '\n';
            at += *at == '\0' ? 0 : 2;
        } else if (isspace((unsigned char)*at)) {
            lexer->line += *at == '\n';
            at++;
        } else {
            return;
        }
        lexer->at = at;
    }
}

// "::" joins the parts of a modifier (shared::cta, L2::128B); a single colon ends a label. A
// directive ends at the next dot: .reg.b32 are two.
static const char *end_of_word(const char *at)
{
    const bool directive = *at == '.';
    for (at++;;) {
        if (is_word_part(*at) && !(directive && *at == '.'))
            at++;
        else if (at[0] == ':' && at[1] == ':' && is_word_part(at[2]))
            at += 2;
        else
            return at;
    }
}

static const char *read_number(const char *at, struct token *token)
{
    char *end = NULL;
    if (at[0] == '0' && tolower((unsigned char)at[1]) == 'f' && isxdigit((unsigned char)at[2])) {
        token->kind = TOKEN_FLOAT32;
        token->value = strtoull(at + 2, &end, 16);
    } else if (at[0] == '0' && tolower((unsigned char)at[1]) == 'd' &&
               isxdigit((unsigned char)at[2])) {
        token->kind = TOKEN_FLOAT64;
        token->value = strtoull(at + 2, &end, 16);
    } else {
        token->kind = TOKEN_INTEGER;
        token->value = strtoull(at, &end, 0);
        if (*end == 'U')
            end++;
    }
    return end;
}

static const char *read_string(struct lexer *lexer, const char *at, struct token *token)
{
    token->kind = TOKEN_STRING;
    token->text.start = ++at;
    while (*at != '\0' && *at != '"') {
        if (*at == '\\' && at[1] != '\0')
            at++;
        lexer->line += *at == '\n';
        at++;
    }
    token->text.length = (size_t)(at - token->text.start);
    return *at == '"' ? at + 1 : at;
}

struct token lexer_next(struct lexer *lexer)
{
    skip_blanks(lexer);
    const char *start = lexer->at;
    const char *at = start;
    struct token token = {.kind = TOKEN_SIGN, .line = lexer->line, .text = {start, 1}};

    if (*at == '\0') {
        token.kind = TOKEN_END;
        token.text.length = 0;
        return token;
    }
    if (*at == '"') {
        lexer->at = read_string(lexer, at, &token);
        return token;
    }
    if (is_letter(*at) || (*at == '.' && is_letter(at[1]))) {
        token.kind = TOKEN_WORD;
        at = end_of_word(at);
    } else if (isdigit((unsigned char)*at)) {
        at = read_number(at, &token);
    } else {
        at++;
    }
    token.text.length = (size_t)(at - start);
    lexer->at = at;
    return token;
}
