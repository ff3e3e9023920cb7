#include "reference.h"

#include <math.h>

bool reads_no_operands(const struct product *product)
{
    return product->alpha == 0 || product->A->cols == 0;
}

void reference_product(const struct product *product, int64_t first, int64_t count, float *want,
                       float *magnitude)
{
    const struct matrix *A = product->A, *B = product->B, *C = product->C;
    const int64_t k = reads_no_operands(product) ? 0 : A->cols;
    struct position at = position_of(C, first);
    int64_t i, p;

    for (i = 0; i < count; i++, next_position(C, &at)) {
        double sum = 0, sum_of_magnitudes = 0, result;

        if (!is_element(C, at))
            continue;
        for (p = 0; p < k; p++) {
            const double term =
                (double)element_value(A, at.row, p) * (double)element_value(B, p, at.col);

            sum += term;
            sum_of_magnitudes += fabs(term);
        }
        result = k > 0 ? (double)product->alpha * sum : 0;
        if (product->beta != 0)
            result += (double)product->beta * (double)element_value(C, at.row, at.col);
        want[i] = (float)result;
        magnitude[i] = (float)sum_of_magnitudes;
    }
}
