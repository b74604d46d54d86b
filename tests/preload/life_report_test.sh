#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Files of reports. A report goes to a file that the user owns alone, or to a new one that nobody
# else may read, whatever the umask is. What somebody planted under its name in a folder that all
# may write to is left alone: a symbolic link, a second name of another file, a file of another
# user, a pipe or a folder. Then one line says why, and the program ends as it would. Until the end
# no file is open.
#
#   life_report_test.sh LIBRARIES WORKER
set -euo pipefail

[[ $# -eq 2 ]] || {
    echo "life_report_test.sh: wants the folder of the libraries and a program" >&2
    exit 2
}
# shellcheck source-path=SCRIPTDIR source=life_common.bash
source "$(dirname -- "$0")/life_common.bash" "$1"
worker=$2

# under NAME VALUE: the worker under one library, with its report as the value says.
under()
{
    local malloc=plain lock=plain setting=${1^^}_STATS
    case $1 in
    cia | rand) malloc=$1 ;;
    *) lock=$1 ;;
    esac
    what="$setting=$2"
    run env "$setting=$2" LD_PRELOAD="$(preload_of "$malloc" "$lock")" "$worker" status 3
    [[ $status -eq 3 ]] || fail "$what: exit status $status"
    [[ $(<"$scratch/out") == "works under $malloc and $lock" ]] || fail "$what: wrote something else"
}

# refused NAME FILE: one line that names the setting.
refused()
{
    under "$1" "$2"
    [[ $(wc -l <"$scratch/err") -eq 1 ]] || fail "$what: not one line"
    grep -q -F "mplace: ${1^^}_STATS=$2" "$scratch/err" || fail "$what: the line does not name it"
}

for name in cia rand tts ttstle; do
    file=$scratch/report

    # A new file, whatever the umask, is for its owner alone; %p is the process.
    (umask 0 && under "$name" "$file.%p") || exit 1
    files=("$file".*)
    [[ ${#files[@]} -eq 1 && -s ${files[0]} ]] || fail "$name: no file, or more than one"
    [[ $(stat -c %a "${files[0]}") == 600 ]] || fail "$name: its mode is $(stat -c %a "${files[0]}")"
    rm "${files[0]}"

    # One that is there already is emptied, not added to.
    printf 'old %.0s' {1..5000} >"$file"
    under "$name" "$file"
    [[ ! -s $scratch/err && -s $file ]] || fail "$name: no report in a file that was there"
    ! grep -q old "$file" || fail "$name: the old text is there still"
    rm "$file"

    # Symbolic links, to a file and to nothing.
    echo precious >"$scratch/precious"
    ln -s "$scratch/precious" "$file"
    refused "$name" "$file"
    [[ $(<"$scratch/precious") == precious ]] || fail "$name: a symbolic link was followed"
    ln -sf "$scratch/nothing" "$file"
    refused "$name" "$file"
    [[ ! -e $scratch/nothing ]] || fail "$name: a file was made behind a symbolic link"
    rm "$file"

    # A second name.
    ln "$scratch/precious" "$file"
    refused "$name" "$file"
    [[ $(<"$scratch/precious") == precious ]] || fail "$name: another file was overwritten by its second name"
    rm "$file"

    # A pipe that nobody reads must not hold the program up, a folder is no file.
    mkfifo "$file"
    refused "$name" "$file"
    rm "$file"
    # Nor one that somebody reads, a little.
    mkfifo "$file"
    exec 9<>"$file"
    refused "$name" "$file"
    exec 9<&-
    rm "$file"
    mkdir "$file"
    refused "$name" "$file"
    rmdir "$file"

    # A file of another user, to which we may write.
    if [[ $(id -u) -eq 0 ]]; then
        echo precious >"$file"
        chmod 666 "$file"
        chown 65534 "$file"
        refused "$name" "$file"
        [[ $(<"$file") == precious ]] || fail "$name: a file of another user was overwritten"
        rm "$file"
    fi

    # Who reads what a program writes to standard error need not wait for a daemon that has closed it.
    malloc=plain lock=plain
    case $name in
    cia | rand) malloc=$name ;;
    *) lock=$name ;;
    esac
    descriptors=$(env "${name^^}_STATS=$file" LD_PRELOAD="$(preload_of "$malloc" "$lock")" ls /proc/self/fd 2>&1)
    [[ $descriptors == "$(ls /proc/self/fd)" ]] || fail "$name: has descriptors beside the program's: $descriptors"
    rm "$file"

    # No library has a name for files of its own. (What its debugging information has is where it was
    # built.)
    ! readelf -p .rodata "$(library "$name")" | grep -E '] +/(tmp|var|dev/shm|run)/' ||
        fail "$name: the library has a fixed file name"
done
