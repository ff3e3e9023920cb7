// Scopes, and what the names in them stand for.
#include <ctype.h>

#include "parsing.h"

struct scope *open_scope(struct parser *p)
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

bool find_register(const struct parser *p, struct text name, int *reg)
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
    for (int i = 0; i < kernel->named_count; i++)
        if (kernel->named[i] == variable)
            return;
    kernel->named =
        arena_grow(&p->module->arena, kernel->named, (size_t)kernel->named_count, sizeof(void *));
    kernel->named[kernel->named_count++] = variable;
}

struct variable *find_variable(struct parser *p, struct text name)
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

bool find_special(struct text name, enum special *special)
{
    static const struct {
        const char *name;
        enum special special;
    } vectors[] = {{"%tid.", SPECIAL_TID},
                   {"%ntid.", SPECIAL_NTID},
                   {"%ctaid.", SPECIAL_CTAID},
                   {"%nctaid.", SPECIAL_NCTAID}},
      others[] = {{"%laneid", SPECIAL_LANE},
                  {"%warpid", SPECIAL_WARP},
                  {"%nwarpid", SPECIAL_WARPS},
                  {"%smid", SPECIAL_SM},
                  {"%nsmid", SPECIAL_SMS},
                  {"%lanemask_eq", SPECIAL_LANES_EQ},
                  {"%lanemask_le", SPECIAL_LANES_LE},
                  {"%lanemask_lt", SPECIAL_LANES_LT},
                  {"%lanemask_ge", SPECIAL_LANES_GE},
                  {"%lanemask_gt", SPECIAL_LANES_GT},
                  {"%dynamic_smem_size", SPECIAL_DYNAMIC_BYTES},
                  {"%total_smem_size", SPECIAL_TOTAL_BYTES},
                  {"%gridid", SPECIAL_GRID},
                  {"%envreg1", SPECIAL_GRID_BARRIER_HIGH},
                  {"%envreg2", SPECIAL_GRID_BARRIER_LOW},
                  {"%cluster_ctarank", SPECIAL_ZERO},
                  {"%cluster_nctarank", SPECIAL_ONE},
                  {"%clock", SPECIAL_CLOCK},
                  {"%clock_hi", SPECIAL_CLOCK_HIGH},
                  {"%clock64", SPECIAL_CLOCK_64},
                  {"%globaltimer", SPECIAL_TIMER},
                  {"%globaltimer_lo", SPECIAL_TIMER_LOW},
                  {"%globaltimer_hi", SPECIAL_TIMER_HIGH}};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (text_is(name, others[i].name)) {
            *special = others[i].special;
            return true;
        }
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        const int axis = name.start[name.length - 1] - 'x';
        if (text_starts(name, vectors[i].name) && name.length == strlen(vectors[i].name) + 1 &&
            axis >= 0 && axis < 3) {
            *special = vectors[i].special + (unsigned)axis;
            return true;
        }
    }
    return false;
}

void add_label(struct parser *p, struct text name, struct text *targets, int count)
{
    struct label *label = arena_get(&p->module->arena, sizeof *label);
    *label = (struct label){.name = name,
                            .statement = p->kernel->count,
                            .targets = targets,
                            .count = count,
                            .next = p->scope->labels};
    p->scope->labels = label;
}

static const struct label *find_label(const struct scope *scope, struct text name)
{
    for (; scope != NULL; scope = scope->outer)
        for (const struct label *label = scope->labels; label != NULL; label = label->next)
            if (text_same(label->name, name))
                return label;
    return NULL;
}

// Turns the name of a label into the statement that it stands before, that of a list into labels.
static void resolve(struct module *module, struct operand *operand, const struct scope *scope)
{
    const struct label *label = find_label(scope, operand->name);
    if (label == NULL)
        return;
    operand->kind = OPERAND_LABEL;
    operand->value = (uint64_t)label->statement;
    if (label->targets == NULL)
        return;
    operand->kind = OPERAND_TARGETS;
    operand->count = label->count;
    operand->elements = arena_get(&module->arena, (size_t)label->count * sizeof *operand);
    for (int i = 0; i < label->count; i++) {
        const struct label *target = find_label(scope, label->targets[i]);
        if (target == NULL || target->targets != NULL) {
            operand->kind = OPERAND_NAME;
            return;
        }
        operand->elements[i].kind = OPERAND_LABEL;
        operand->elements[i].value = (uint64_t)target->statement;
    }
}

void resolve_labels(struct module *module, struct kernel *kernel)
{
    for (int i = 0; i < kernel->count; i++) {
        struct statement *statement = &kernel->statements[i];
        for (int j = 0; j < statement->count; j++)
            if (statement->operands[j].kind == OPERAND_NAME)
                resolve(module, &statement->operands[j], statement->scope);
    }
}
