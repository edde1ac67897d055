# plots.gp - draws what build/bench/bench has measured:
#     gnuplot -e "folder='build/bench'" tests/bench/plots.gp
#
# ratios.svg: one bar for each line of the table, and its spread.
# growth.svg: what an increment costs as the table, and as the cell, grows.

set encoding utf8
set datafile separator tab
set terminal svg size 1000,760 font "sans-serif,12" noenhanced background "#ffffff"
blue = "#5b8fc9"; orange = "#d9822b"; grey = "#777777"

rates = folder."/rates.tsv"
costs = folder."/costs.tsv"
stats rates using 2 nooutput
n = STATS_records
stats costs using 2 nooutput
m = STATS_records

set output folder."/ratios.svg"
set style fill solid noborder
set border 1
set lmargin at screen 0.47
set rmargin at screen 0.97
set xtics nomirror
set ytics nomirror scale 0
set grid xtics lc rgb "#dddddd"
set key off
high(rows) = 0.80 * rows / (n + m)
below = 0.04
set multiplot

set arrow 1 from 1, graph 0 to 1, graph 1 nohead lc rgb grey dashtype 2
set title "Rate, counter / plain: more is better." offset 0,-0.6
set tmargin at screen 0.95
set bmargin at screen 0.95 - high(n)
set yrange [n - 0.4:-0.6]
set xrange [0:*]
plot rates using (0):0:(0):2:($0 - 0.33):($0 + 0.33):ytic(1) with boxxyerror lc rgb blue, \
     rates using 2:0:3:4 with xerrorbars pt 0 lw 1.5 lc rgb "black"

set title "Cost, counter / plain, or large / small: less is better." offset 0,-0.6
set tmargin at screen below + high(m)
set bmargin at screen below
set yrange [m - 0.4:-0.6]
plot costs using (0):0:(0):2:($0 - 0.33):($0 + 0.33):ytic(1) with boxxyerror lc rgb blue, \
     costs using 2:0:3:4 with xerrorbars pt 0 lw 1.5 lc rgb "black"
unset multiplot

reset
set encoding utf8
set datafile separator tab
set terminal svg size 900,400 font "sans-serif,12" background "#ffffff"
set output folder."/growth.svg"
growth = folder."/growth.tsv"
set multiplot layout 1, 2
set border 3
set grid lc rgb "#dddddd"
set tics nomirror
set logscale x
set logscale y
set ylabel "µs per increment"
set key top left reverse Left
set format x "%.0f"
set yrange [0.3:*]
set title "Rows in the table (uniform, 1,000 per transaction)"
set xrange [7000:1500000]
plot growth index "counter" using 1:2:3:4 with yerrorlines pt 7 ps 0.6 lw 2 lc rgb blue title "counter table", \
     growth index "plain" using 1:2:3:4 with yerrorlines pt 7 ps 0.6 lw 2 lc rgb orange title "plain table"
set title "Shards in each cell (10,000 per transaction)"
set xrange [0.8:130]
plot growth index "shards-10000" using 1:2:3:4 with yerrorlines pt 7 ps 0.6 lw 2 lc rgb blue title "10,000 keys", \
     growth index "shards-100" using 1:2:3:4 with yerrorlines pt 7 ps 0.6 lw 2 lc rgb "#9b59b6" title "100 hot keys"
unset multiplot
