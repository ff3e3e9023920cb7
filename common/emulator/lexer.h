// Splits PTX text into tokens.
#ifndef EMULATOR_LEXER_H
#define EMULATOR_LEXER_H

#include <stdint.h>

#include "text.h"

enum token_kind {
    TOKEN_END,
    TOKEN_WORD,    // an opcode with its modifiers, a register, a label, a directive
    TOKEN_INTEGER, // 7, 0x1f, 12U
    TOKEN_FLOAT32, // 0f3F800000: `value` is the bit pattern
    TOKEN_FLOAT64, // 0d3FF0000000000000
    TOKEN_STRING,  // `text` is what stands between the quotes
    TOKEN_SIGN,    // one character of punctuation
};

struct token {
    enum token_kind kind;
    int line; // 1 is the text's first
    struct text text;
    uint64_t value;
};

struct lexer {
    const char *at; // the text must end with a zero byte
    int line;
};

// The next token; TOKEN_END again and again at the end of the text. Every byte that starts no other
// token is a TOKEN_SIGN, so that any text at all can be read.
struct token lexer_next(struct lexer *lexer);

#endif
