#!/bin/sh
# sass.sh OBJECT FOLDER: prints the machine code of the kernels in an object, without the encoding.
# cuobjdump and nvdisasm are looked for beside $CUOBJDUMP, in FOLDER and in PATH.
set -eu

object=$1
PATH=${CUOBJDUMP:+$(dirname "$CUOBJDUMP"):}$2:$PATH
for tool in cuobjdump nvdisasm; do
    command -v "$tool" >/dev/null || {
        echo "sass: $tool is missing. It is a part of the CUDA Toolkit that some packages leave out:" \
            "cuda-cuobjdump and cuda-nvdisasm (NVIDIA's packages, conda), nvidia-cuda-cuobjdump" \
            "and nvidia-cuda-nvdisasm (pip). CUOBJDUMP=/path/to/cuobjdump says where it is." >&2
        exit 77
    }
done

"${CUOBJDUMP:-cuobjdump}" --dump-sass "$object" |
    sed -n -e '/^[[:space:]]*\/\* 0x[0-9a-f]* \*\/$/d' \
        -e 's/[[:space:]]*\/\* 0x[0-9a-f]* \*\/$//' \
        -e '/^[[:space:]]*\(Function\|\/\*[0-9a-f]*\*\/\|code for\|\.L_\)/p'
