"""The command lines that every step has to be right for."""

import os

import steps

ALPHAS = ("0", "1", "-1.5", "0.3")
BETAS = ("0", "1", "0.5", "-0.7")


def shapes():
    """One a row of shapes.tsv."""
    options = ("-m", "-n", "-k", "--lda", "--ldb", "--ldc", "--alpha", "--beta")
    for line in steps.text(os.path.join(steps.ROOT, "tests", "shapes.tsv")).splitlines():
        if line and not line.startswith("#"):
            yield [word for pair in zip(options, line.split("\t")) for word in pair]


def scalars():
    """One for each alpha and beta, from aligned and from unaligned pointers."""
    for alpha in ALPHAS:
        for beta in BETAS:
            for offset in ("0,0,0", "3,2,1"):
                yield ["-m", "129", "-n", "257", "-k", "17", "--alpha", alpha, "--beta", beta,
                       "--offset", offset]
