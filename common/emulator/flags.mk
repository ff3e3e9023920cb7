# Whatever else the C compiler is told: lanes are vectors, and an fma is one only where the PTX has one.
EMULATOR_FLAGS := -O3 -ffp-contract=off -fno-math-errno
