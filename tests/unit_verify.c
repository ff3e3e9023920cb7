// The judge: right results pass, and each way of being wrong is found and told.
#include "verify.h"

#include <float.h>

#include "tap.h"

enum {
    M = 19,
    N = 21,
    K = 40,
    LDC = 24,
    GUARD = 16,
    WORDS = GUARD + (M - 1) * LDC + N + GUARD,
    TILE = 8,
    FIRST = GUARD, // the word of C[0][0]
    LAST = FIRST + (M - 1) * LDC + N - 1,
};

// A product on the host: C's allocation after a right launch, and what is wanted there.
struct example {
    struct matrix A, B, C;
    struct product product;
    float got[WORDS], want[WORDS], magnitude[WORDS];
};

static float round_to_tf32(float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof bits);
    bits = (bits + 0x1000U) & ~0x1fffU; // ten bits of mantissa
    memcpy(&value, &bits, sizeof value);
    return value;
}

static float keep(float value)
{
    return value;
}

// Fills example->got as a kernel does that rounds its operands with `operand` and adds in float32.
static void multiply(struct example *e, float (*operand)(float))
{
    int i, j, p;

    matrix_image(&e->C, 0, WORDS, e->got);
    for (i = 0; i < M; i++) {
        for (j = 0; j < N; j++) {
            float *c = &e->got[FIRST + i * LDC + j];
            float sum = 0;

            for (p = 0; p < K; p++)
                sum += operand(element_value(&e->A, i, p)) * operand(element_value(&e->B, p, j));
            *c = e->product.beta == 0 ? e->product.alpha * sum
                                      : e->product.alpha * sum + e->product.beta * *c;
        }
    }
}

static struct matrix describe(char name, int rows, int cols, int ld, enum content content)
{
    struct matrix matrix = {.name = name,
                            .rows = rows,
                            .cols = cols,
                            .ld = ld,
                            .guard = GUARD,
                            .content = content,
                            .bound = 31,
                            .seed = 5};

    return matrix;
}

static void make_example(struct example *e, enum content content, float alpha, float beta)
{
    e->A = describe('A', M, K, K, content);
    e->B = describe('B', K, N, N, content);
    e->C = describe('C', M, N, LDC, beta == 0 ? CONTENT_NOTHING : content);
    e->product = (struct product){.A = &e->A, .B = &e->B, .C = &e->C, .alpha = alpha, .beta = beta};
    reference_product(&e->product, 0, WORDS, e->want, e->magnitude);
    multiply(e, keep);
}

// Compares in chunks, as the harness does.
static struct verdict judge(const struct example *e, enum pass pass)
{
    struct verdict verdict = start_verdict(pass, TILE, TILE, N);
    int first, count;

    for (first = 0; first < WORDS; first += count) {
        count = WORDS - first < 50 ? WORDS - first : 50;
        compare_product(&verdict, &e->product, first, count, e->got + first, e->want + first,
                        e->magnitude + first);
    }
    return verdict;
}

static bool passes(const struct example *e, enum pass pass)
{
    struct verdict verdict = judge(e, pass);
    const bool right = all_right(&verdict);

    end_verdict(&verdict);
    return right;
}

static void check_plans(void)
{
    static const float factors[] = {1, -1, 0, 0.5F, -1.5F, 2, 7.5F, 15, 0.0625F, 0.3F, 17, 1e30F};
    static const int64_t ks[] = {0, 1, 100, 4096, 16384, 65536, 1000000};
    size_t a, b, k, plans = 0, right = 0;

    for (a = 0; a < sizeof factors / sizeof factors[0]; a++) {
        for (b = 0; b < sizeof factors / sizeof factors[0]; b++) {
            for (k = 0; k < sizeof ks / sizeof ks[0]; k++) {
                const struct exact_plan plan = plan_exact_pass(ks[k], factors[a], factors[b]);

                plans++;
                right += plan.bound >= 1 && plan.bound <= 31 && plan.bound % 2 == 1 &&
                         (plan.alpha == 0) == (factors[a] == 0) &&
                         (plan.beta == 0) == (factors[b] == 0) &&
                         signbit(plan.alpha) == signbit(factors[a]) &&
                         signbit(plan.beta) == signbit(factors[b]);
            }
        }
    }
    is_integer((int64_t)right, (int64_t)plans, "plans: bounds are odd, signs and zeros are kept");
    is_integer(plan_exact_pass(4096, 1, 0).bound, 31, "bound at k = 4096");
    is_integer(plan_exact_pass(65536, 1, 0).bound, 15, "bound at k = 65536");
    is_integer(plan_exact_pass(1 << 24, 1, 0).bound, 1, "bound at k = 2^24");
    is_integer(plan_exact_pass(1 << 30, 1, 0).bound, 1, "bound at k = 2^30");
    is_integer(plan_exact_pass(1 << 20, 4, 0).bound, 3, "a power of two costs nothing");
    is_integer(plan_exact_pass(1 << 20, 1, 0.25F).bound, 1, "a fraction costs its bits");
    ok(plan_exact_pass(9, 0.3F, -0.7F).alpha == 1.5F &&
           plan_exact_pass(9, 0.3F, -0.7F).beta == -0.5F,
       "factors with many digits are replaced");
    ok(plan_exact_pass(9, -7.5F, 0.0625F).alpha == -7.5F &&
           plan_exact_pass(9, -7.5F, 0.0625F).beta == 0.0625F,
       "factors with few digits are kept");
}

static void check_values(void)
{
    ok(values_agree(1, 1, 0) && values_agree(-0.0F, 0, 0), "equal numbers, and zeros, agree");
    ok(!values_agree(nextafterf(1, 2), 1, 0), "one bit is a difference");
    ok(values_agree(1.5F, 1, 0.5) && !values_agree(1.5F, 1, 0.4999), "the tolerance itself agrees");
    ok(!values_agree(NAN, 1, INFINITY) && !values_agree(1, NAN, INFINITY) &&
           values_agree(NAN, NAN, 0),
       "NaN agrees with NaN alone");
    ok(lost_infinity(NAN, -INFINITY) && !lost_infinity(NAN, 1) && !lost_infinity(1, INFINITY) &&
           !lost_infinity(INFINITY, NAN),
       "a NaN may stand for an infinity, and for nothing else");
    ok(values_agree(INFINITY, INFINITY, 0) && !values_agree(-INFINITY, INFINITY, INFINITY) &&
           !values_agree(INFINITY, 1, 1e30) && !values_agree(FLT_MAX, INFINITY, INFINITY),
       "an infinity agrees with itself alone");
    is_number(rounding_tolerance(-2, 3, 4, -5), 8 * 0x1p-24 * (2 * 3 + 4 * 5), "tolerance");
    is_number(rounding_tolerance(1, 1, 0, NAN), 8 * 0x1p-24, "beta = 0: C does not count");
    is_number(rounding_tolerance(0, 1, 0, 0), 4 * 0x1p-149, "below the normal range");
}

static void check_right_results(void)
{
    static const float factors[][2] = {{1, 0}, {1.5F, 0.5F}, {-1, 2}, {0, 0}, {0, 3}};
    struct example e;
    size_t i;

    for (i = 0; i < sizeof factors / sizeof factors[0]; i++) {
        const float alpha = factors[i][0], beta = factors[i][1];

        make_example(&e, CONTENT_ODD, alpha, beta);
        ok(passes(&e, PASS_EXACT), "exact: alpha %g, beta %g", (double)alpha, (double)beta);
        make_example(&e, CONTENT_UNIFORM, alpha, beta);
        ok(passes(&e, PASS_ROUNDING), "rounding: alpha %g, beta %g", (double)alpha, (double)beta);
        if (alpha == 0)
            continue; // multiply() reads A and B always
        make_example(&e, CONTENT_SPECIAL, alpha, beta);
        ok(passes(&e, PASS_SPECIAL), "special values: alpha %g, beta %g", (double)alpha,
           (double)beta);
        ok(!passes(&e, PASS_ROUNDING), "but NaN passes nowhere else");
    }
}

static void check_wrong_elements(void)
{
    struct example e;
    struct verdict v;
    int i;

    make_example(&e, CONTENT_ODD, 1, 0);
    e.got[LAST] += 1;
    v = judge(&e, PASS_EXACT);
    ok(v.wrong == 1 && v.first.row == M - 1 && v.first.col == N - 1 && v.got == v.want + 1 &&
           !v.unwritten,
       "one wrong element, and where");
    ok(v.wrong_tiles == 1 && v.tiles[0].row == 2 && v.tiles[0].col == 2, "its tile");
    end_verdict(&v);

    e.got[LAST] = canary(&e.C, LAST);
    v = judge(&e, PASS_EXACT);
    ok(v.wrong == 1 && v.unwritten, "an element that was not written");
    end_verdict(&v);

    for (i = 0; i < N; i++)
        e.got[FIRST + 9 * LDC + i] = NAN;
    v = judge(&e, PASS_EXACT);
    ok(v.wrong == N + 1 && v.first.row == 9 && v.first.col == 0, "a row of NaN");
    is_integer(v.wrong_tiles, 4, "each tile counts once");
    end_verdict(&v);

    make_example(&e, CONTENT_UNIFORM, 1, 0);
    multiply(&e, round_to_tf32);
    v = judge(&e, PASS_ROUNDING);
    ok(v.wrong > M * N / 2, "TF32: %d of %d elements are wrong", (int)v.wrong, M * N);
    end_verdict(&v);
}

static void check_lost_products(void)
{
    struct example e;
    int p, seen = 0;

    for (p = 0; p < K; p++) {
        make_example(&e, CONTENT_ODD, 1, 0);
        e.got[LAST] -= element_value(&e.A, M - 1, p) * element_value(&e.B, p, N - 1);
        seen += !passes(&e, PASS_EXACT);
    }
    is_integer(seen, K, "each single product that is missing is seen");
}

static void check_outside(void)
{
    static const struct {
        int word, row, col;
        const char *name;
    } places[] = {
        {0, -1, LDC - GUARD, "the first word before C"},
        {FIRST - 1, -1, LDC - 1, "the last word before C"},
        {FIRST + N, 0, N, "the padding of the first row"},
        {FIRST + 3 * LDC - 1, 2, LDC - 1, "the last word of a row's padding"},
        {LAST + 1, M - 1, N, "the first word behind C"},
        {WORDS - 1, M, N + GUARD - 1 - LDC, "the last word behind C"},
    };
    struct example e;
    float before[WORDS], after[WORDS];
    struct verdict v;
    size_t i;

    for (i = 0; i < sizeof places / sizeof places[0]; i++) {
        make_example(&e, CONTENT_UNIFORM, 1, 1);
        e.got[places[i].word] = NAN; // not the NaN that was there
        v = judge(&e, PASS_ROUNDING);
        ok(v.wrong == 0 && v.outside == 1 && v.outside_matrix == 'C' &&
               v.outside_first.row == places[i].row && v.outside_first.col == places[i].col,
           "written: %s", places[i].name);
        end_verdict(&v);
    }
    matrix_image(&e.C, 0, WORDS, before);
    memcpy(after, before, sizeof after);
    v = start_verdict(PASS_EXACT, TILE, TILE, N);
    compare_untouched(&v, &e.C, 0, WORDS, after, before);
    ok(all_right(&v), "an input that was not written");
    after[LAST] = 0;
    compare_untouched(&v, &e.C, 0, WORDS, after, before);
    ok(v.outside == 1 && v.outside_first.row == M - 1, "an input that was written");
    end_verdict(&v);
}

int main(void)
{
    check_plans();
    check_values();
    check_right_results();
    check_wrong_elements();
    check_lost_products();
    check_outside();
    return finish();
}
