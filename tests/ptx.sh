#!/bin/sh
# Prints the kernels of a PTX file, without what is there for debuggers only.
set -eu

# nvcc puts a source line into the listing as "//path:25 text"; "// 25: text" is easier to read.
# Braces are counted, as inline assembly may bring its own.
awk '
    /^\/\/.*\.[a-z]+:[0-9]+ / {
        sub(/^\/\/.*\.[a-z]+:/, "")
        sub(/ /, ": ")
        comment = "// " $0
        next
    }
    /^(\.visible )?\.entry / { kernel = 1 }
    !kernel || /^[ \t]*$/ || /^[ \t]*\.loc[ \t]/ { next }
    comment != "" {
        print "\n" comment
        comment = ""
    }
    {
        print
        depth += gsub(/{/, "{") - gsub(/}/, "}")
    }
    /^}/ && depth == 0 { kernel = 0 }
' "$1"
