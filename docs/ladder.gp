# The ladder as bars. From the project's root: gnuplot docs/ladder.gp > docs/ladder.svg
results = "docs/results/nvidia-h200/ladder.csv"
set datafile separator ","
# A step's rate at 4096, from the record without a power phase.
rate(size, step) = size == 4096 && column("k") == 4096 && strlen(strcol("power_w")) == 0 ? step : NaN

set terminal svg size 900,380 font "sans-serif,13" background rgb "#ffffff"
set title "TFLOP/s at m = n = k = 4096 on one NVIDIA H200"
set style fill solid
set boxwidth 0.7
set xrange [0.4:9.6]
set yrange [0:60]
set xtics nomirror scale 0 ("01\nnaive" 1, "02\ntiling" 2, "03\ntranspose" 3, \
    "04\n2 buffers" 4, "05\nfragments" 5, "06\nstore" 6, "07\nPTX" 7, "08\ntextures" 8, \
    "09\ncp.async" 9)
set ytics nomirror scale 0
set grid ytics lc rgb "#dddddd"
set border 1
set bmargin 3.5
set key off

stats results using (rate(column("m"), column("cublas_tflops"))) name "cublas" nooutput
set arrow 1 from 0.4,cublas_median to 9.6,cublas_median nohead lw 2 lc rgb "#76b900" front
set label 1 sprintf("cuBLAS %.1f", cublas_median) at 0.5,cublas_median + 3 tc rgb "#4c7a00"
plot results using (column("step")):(rate(column("m"), column("step_tflops"))) with boxes lc rgb "#2a6fbb", \
    "" using (column("step")):(rate(column("m"), column("step_tflops"))):(sprintf("%.1f", column("step_tflops"))) \
    with labels offset 0,-0.7 tc rgb "white"
