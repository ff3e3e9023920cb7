#include "reference.h"

#include <math.h>

bool reads_no_operands(const struct product *product)
{
    return product->alpha == 0 || product->A->cols == 0;
}

static void reference_element(const struct product *product, struct position at, float *want,
                              float *magnitude)
{
    const struct matrix *A = product->A, *B = product->B, *C = product->C;
    const int64_t k = reads_no_operands(product) ? 0 : A->cols;
    double sum = 0, sum_of_magnitudes = 0, result = 0;
    int64_t p;

    for (p = 0; p < k; p++) {
        const double term =
            (double)element_value(A, at.row, p) * (double)element_value(B, p, at.col);

        sum += term;
        sum_of_magnitudes += fabs(term);
    }
    if (k > 0)
        result = (double)product->alpha * sum;
    if (product->beta != 0)
        result += (double)product->beta * (double)element_value(C, at.row, at.col);
    *want = (float)result;
    *magnitude = (float)sum_of_magnitudes;
}

void reference_product(const struct product *product, int64_t first, int64_t count, float *want,
                       float *magnitude)
{
    int64_t i;

    for (i = 0; i < count; i++) {
        const struct position at = position_of(product->C, first + i);

        if (is_element(product->C, at))
            reference_element(product, at, &want[i], &magnitude[i]);
    }
}
