# The ladder as bars: medians over processes. From the root: gnuplot docs/ladder.gp > docs/ladder.svg
results = "docs/results/nvidia-h200/ladder.csv"
set datafile separator ","
# A value where the record is at m = n = k = 4096, without a power phase; and of this step.
every_step(value) = column("m") == 4096 && column("k") == 4096 && \
    strlen(strcol("power_w")) == 0 ? value : NaN
of(step, value) = column("step") == step ? every_step(value) : NaN

set terminal svg size 900,380 font "sans-serif,13" background rgb "#ffffff"
set title "TFLOP/s at m = n = k = 4096 on one NVIDIA H200 (higher is better)"
set style fill solid
set boxwidth 0.7
set xrange [0.4:9.6]
set yrange [0:60]
set xtics nomirror scale 0 ("01\nnaive" 1, "02\ntiling" 2, "03\ntranspose" 3, "04\n2 buffers" 4, \
    "05\nfragments" 5, "06\nstore" 6, "07\nPTX" 7, "08\ntextures" 8, "09\ncp.async" 9)
set ylabel "TFLOP/s"
set ytics nomirror scale 0
set grid ytics lc rgb "#dddddd"
set border 1
set bmargin 3.5
set key off

array rate[9]
do for [step = 1:9] {
    stats results using (of(step, column("step_tflops"))) name "step" nooutput
    rate[step] = step_median
}
stats results using (every_step(column("cublas_tflops"))) name "cublas" nooutput
set arrow 1 from 0.4,cublas_median to 9.6,cublas_median nohead lw 2 lc rgb "#76b900" front
set label 1 sprintf("cuBLAS %.1f", cublas_median) at 0.5,cublas_median + 3 tc rgb "#4c7a00"
plot sample [1:9:1] "+" using 1:(rate[int($1)]) with boxes lc rgb "#2a6fbb", \
    [1:9:1] "+" using 1:(rate[int($1)]):(sprintf("%.1f", rate[int($1)])) \
    with labels offset 0,-0.7 tc rgb "white"
