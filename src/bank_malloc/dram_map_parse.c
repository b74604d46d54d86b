/*
 * SPDX-License-Identifier: MIT
 *
 * Reading map files; see dram_map.h for their form.
 */
#include "bank_malloc/dram_map.h"
#include "bank_malloc/gf2.h"
#include "base/text/decimal.h"

#include <string.h>

/* A text that is cut at its end rather than grown; always ends in a 0 byte if it has any room. */
struct line_text {
    char *at, *end; /* end: where the 0 byte stands at the latest */
};

static void put_text(struct line_text *line, const char *text, size_t length)
{
    size_t room = (size_t)(line->end - line->at);
    size_t taken = length < room ? length : room;

    memcpy(line->at, text, taken);
    line->at += taken;
    *line->at = '\0';
}

static void put_string(struct line_text *line, const char *text)
{
    put_text(line, text, strlen(text));
}

static void put_number(struct line_text *line, uint64_t number)
{
    char digits[DECIMAL_DIGITS];
    char *end = digits + sizeof digits;
    char *first = decimal_before(end, number);

    put_text(line, first, (size_t)(end - first));
}

struct word {
    const char *text;
    size_t length;
};

struct parser {
    struct dram_map *map;
    const char *name;
    const char *at, *end;   /* what is not read yet */
    uint64_t line;          /* from 1 */
    struct gf2_basis basis; /* of all functions so far */
    bool in_controllers;
    char *problem;
    size_t problem_length;
};

/* Writes "NAME:LINE: 'WORD' what"; a word of length 0 is left out. Returns false for the caller. */
static bool refuse(const struct parser *parser, struct word word, const char *what)
{
    enum { WORD_MOST = 32 };
    struct line_text line;

    if (parser->problem_length == 0)
        return false;
    line = (struct line_text){parser->problem, parser->problem + parser->problem_length - 1};
    put_string(&line, parser->name);
    put_string(&line, ":");
    put_number(&line, parser->line);
    put_string(&line, ": ");
    if (word.length != 0) {
        put_string(&line, "'");
        for (size_t i = 0; i < word.length && i < WORD_MOST; i++) {
            bool printable = word.text[i] > ' ' && word.text[i] <= '~';

            put_text(&line, printable ? word.text + i : "?", 1);
        }
        put_string(&line, word.length > WORD_MOST ? "...' " : "' ");
    }
    put_string(&line, what);
    return false;
}

static bool is_blank(char character)
{
    return character == ' ' || character == '\t' || character == '\r' || character == ',';
}

/* The next word of this line; of length 0 at its end. */
static struct word next_word(struct parser *parser)
{
    const char *start;

    while (parser->at < parser->end && is_blank(*parser->at))
        parser->at++;
    start = parser->at;
    if (start < parser->end && *start == '#') {
        while (parser->at < parser->end && *parser->at != '\n')
            parser->at++;
        return (struct word){start, 0};
    }
    while (parser->at < parser->end && !is_blank(*parser->at) && *parser->at != '\n' &&
           *parser->at != '#')
        parser->at++;
    return (struct word){start, (size_t)(parser->at - start)};
}

static bool is_word(struct word word, const char *text)
{
    return word.length == strlen(text) && memcmp(word.text, text, word.length) == 0;
}

/* DRAM_ADDRESS_BITS: the word is no bit's number. */
static unsigned bit_of(struct word word)
{
    unsigned bit = 0;

    for (size_t i = 0; i < word.length; i++) {
        if (word.text[i] < '0' || word.text[i] > '9')
            return DRAM_ADDRESS_BITS;
        bit = bit * 10 + (unsigned)(word.text[i] - '0');
        if (bit >= DRAM_ADDRESS_BITS)
            return DRAM_ADDRESS_BITS;
    }
    return bit;
}

static bool parse_controllers(struct parser *parser)
{
    struct word word = next_word(parser);
    bool nodes = is_word(word, "nodes");

    if (parser->in_controllers)
        return refuse(parser, word, "a second line 'controllers', only one is allowed");
    parser->in_controllers = true;
    parser->map->nodes = nodes;
    if (nodes)
        word = next_word(parser);
    if (word.length != 0)
        return refuse(parser, word,
                      "cannot stand here, allowed are 'controllers' alone and "
                      "'controllers nodes'");
    return true;
}

static bool add_function(struct parser *parser, uint64_t function)
{
    const struct word none = {NULL, 0};
    struct dram_map *map = parser->map;
    uint32_t *count = parser->in_controllers ? &map->controllers : &map->banks;
    uint64_t *functions = parser->in_controllers ? map->controller : map->bank;

    if (parser->in_controllers && map->nodes)
        return refuse(parser, none,
                      "a function behind 'controllers nodes', where the nodes are "
                      "the controllers and none is allowed");
    if (*count == DRAM_FUNCTIONS_MOST)
        return refuse(parser, none,
                      parser->in_controllers
                          ? "too many functions of the controller, at most 16 are "
                            "allowed"
                          : "too many functions of the bank, at most 16 are allowed");
    if (!gf2_add(&parser->basis, function))
        return refuse(parser, none,
                      "this function is the XOR of functions above and tells no "
                      "banks apart, only independent ones are allowed");
    functions[(*count)++] = function;
    return true;
}

/* From the line's first word, which is there, to its end. */
static bool parse_function(struct parser *parser, struct word word)
{
    uint64_t function = 0;

    for (; word.length != 0; word = next_word(parser)) {
        unsigned bit = bit_of(word);

        if (bit == DRAM_ADDRESS_BITS)
            return refuse(parser, word,
                          "is no bit of an address, allowed are 0 to 63 with blanks "
                          "or commas between, a line 'controllers', and comments "
                          "behind '#'");
        if ((function >> bit & 1) != 0)
            return refuse(parser, word, "stands twice in this function, each bit is allowed once");
        function |= UINT64_C(1) << bit;
    }
    return add_function(parser, function);
}

static bool parse_line(struct parser *parser)
{
    struct word word = next_word(parser);

    if (word.length == 0)
        return true;
    return is_word(word, "controllers") ? parse_controllers(parser) : parse_function(parser, word);
}

static void copy_name(char name[DRAM_MAP_NAME_SIZE], const char *from)
{
    struct line_text text = {name, name + DRAM_MAP_NAME_SIZE - 1};

    put_string(&text, from);
}

bool dram_map_parse(struct dram_map *map, const char *name, const char *text, size_t length,
                    char *problem, size_t problem_length)
{
    struct parser parser = {
        .map = map,
        .name = name,
        .at = text,
        .end = text + length,
        .line = 1,
        .problem = problem,
        .problem_length = problem_length,
    };

    *map = (struct dram_map){.banks = 0};
    copy_name(map->name, name);
    for (;; parser.line++) {
        if (!parse_line(&parser))
            return false;
        if (parser.at == parser.end)
            break;
        parser.at++; /* the newline */
    }
    if (parser.in_controllers && !map->nodes && map->controllers == 0)
        return refuse(&parser, (struct word){NULL, 0},
                      "no function behind 'controllers', allowed are functions or "
                      "'controllers nodes'");
    if (map->banks == 0 && map->controllers == 0 && !map->nodes)
        return refuse(&parser, (struct word){NULL, 0},
                      "no function in this map, at least one line of bits is needed");
    return true;
}
