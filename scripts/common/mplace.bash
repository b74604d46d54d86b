# shellcheck shell=bash
# SPDX-License-Identifier: MIT
#
# What the subcommands share: where the parts of mplace lie, what an allocator or lock name means, how an
# argument is checked, and how a complaint reads. Sourced, never run. It changes nothing but its own names and the trap for a
# command that fails.
# shellcheck disable=SC2034 # the subcommands read what is set here

mplace_program=${0##*/}
mplace_program=${mplace_program/mplace-/mplace }
# Whoever sources this file names it by its absolute path.
mplace_parts=$(cd -P -- "${BASH_SOURCE[0]%/*}/.." && pwd)

# One clear line, exit 2: the caller asked for something that cannot be.
die()
{
    printf '%s: %s\n' "$mplace_program" "$*" >&2
    exit 2
}

note()
{
    printf '%s: %s\n' "$mplace_program" "$*" >&2
}

# tell TEXT: prints it. What is printed goes through here, or through a program that checks as well: if it cannot be
# written, that is one line and exit status 2.
tell()
{
    printf '%s\n' "$1" 2>/dev/null || die "standard output cannot be written"
}

# show COMMAND [ARGUMENT]...: tells what the command, or function, prints.
show()
{
    local text

    text=$("$@") || exit
    tell "$text"
}

# Each subcommand says what it does on the third line of its file: "# mplace NAME: what it does".
list_subcommands()
{
    local file
    for file in "$mplace_parts"/mplace-*; do
        if [[ -x $file && ! -d $file ]]; then
            sed -n 's/^# mplace \([^ :]*\): \(.*\)/  \1\t\2/p;10q' "$file"
        fi
    done | expand -t 12
}

# Prints the name of a new folder for what the subcommand needs while it runs.
scratch_folder()
{
    local folder

    folder=$(mktemp -d "${TMPDIR:-/tmp}/${mplace_program// /-}.XXXXXX" 2>&1) ||
        die "TMPDIR: no folder can be made in ${TMPDIR:-/tmp}: ${folder##*: }"
    # Programs that go elsewhere write there, too.
    [[ $folder == /* ]] || folder=$PWD/$folder
    printf '%s' "$folder"
}

# report NAME ARGUMENT...: what scripts/report computes and writes, on standard output. Exit status 2 if it cannot be
# written, which is said in one line.
report()
{
    local python=/usr/bin/python3

    [[ -x $python ]] || python=$(type -P python3) || die "python3 is not installed; on Debian: apt-get install python3"
    MPLACE_PROGRAM=$mplace_program "$python" -I -B -X utf8 "$mplace_parts/report" "$@"
}

# What ends a subcommand by set -e was not expected to fail, and may have said nothing. ("set -E": in
# functions too. A subshell that ends so is a command that fails in the shell above it. 141: the reader of the output
# has gone. Of a command of several lines, such as a here-document, the first is told.)
set -E
mplace_status=0
trap 'mplace_status=$?; [[ $BASH_SUBSHELL -ne 0 || $mplace_status -eq 141 ]] ||
    note "${BASH_SOURCE[0]##*/}, line $LINENO: exit status $mplace_status of: ${BASH_COMMAND%%[[:cntrl:]]*}"' ERR

# The one place that knows the two layouts: a source tree with its build folder, and a prefix.
if [[ -n ${MPLACE_BUILD-} ]]; then
    [[ -d $MPLACE_BUILD ]] || die "MPLACE_BUILD=$MPLACE_BUILD is not a folder"
    mplace_build=$(cd -- "$MPLACE_BUILD" && pwd)
    mplace_library_folder=$mplace_build/lib
    mplace_program_folder=$mplace_build/bin
    mplace_valgrind_folder=$mplace_build/lib/mplace/valgrind
elif [[ -f $mplace_parts/../CMakePresets.json ]]; then
    mplace_build=$(cd -- "$mplace_parts/.." && pwd)/build
    mplace_library_folder=$mplace_build/lib
    mplace_program_folder=$mplace_build/bin
    mplace_valgrind_folder=$mplace_build/lib/mplace/valgrind
else
    mplace_build=
    mplace_library_folder=${mplace_parts%/*}
    mplace_program_folder=$mplace_parts
    mplace_valgrind_folder=$mplace_parts/valgrind
fi

# Machines of mplace simulate: installed among the parts, else where they are written.
mplace_machine_folder=$mplace_parts/machines
[[ -d $mplace_machine_folder ]] || mplace_machine_folder=$mplace_parts/../sim/chip/machines

mplace_malloc_names='glibc cia rand bank jemalloc mimalloc tcmalloc tbbmalloc rand+jemalloc rand+mimalloc rand+tcmalloc rand+cia'
mplace_lock_names='pthread tts ttstle'
mplace_tm_names='libitm eager lazy norec serial htm'
# The most ways of a cache that the emulator models.
mplace_modelled_ways=64

is_one_of()
{
    [[ " $2 " == *" $1 "* && $1 != *' '* && -n $1 ]]
}

# edit_distance WORD OTHER: sets edits to how many letters must be put in, left out, changed, or swapped with the
# next one to make one of the other.
edit_distance()
{
    local i j cost before=() last=() now=()

    for ((j = 0; j <= ${#2}; j++)); do
        last[j]=$j
    done
    for ((i = 1; i <= ${#1}; i++)); do
        now=("$i")
        for ((j = 1; j <= ${#2}; j++)); do
            cost=1
            [[ ${1:i-1:1} != "${2:j-1:1}" ]] || cost=0
            now[j]=$((last[j - 1] + cost))
            ((now[j] <= last[j] + 1)) || now[j]=$((last[j] + 1))
            ((now[j] <= now[j - 1] + 1)) || now[j]=$((now[j - 1] + 1))
            if ((i > 1 && j > 1 && now[j] > before[j - 2] + 1)) &&
                [[ ${1:i-1:1} == "${2:j-2:1}" && ${1:i-2:1} == "${2:j-1:1}" ]]; then
                now[j]=$((before[j - 2] + 1))
            fi
        done
        before=("${last[@]}")
        last=("${now[@]}")
    done
    edits=${last[${#2}]}
}

# did_you_mean WORD NAME...: "; did you mean 'NAME'?" of the nearest name, for the end of a complaint; nothing if
# none is near: one edit, or two in words of four letters or more that begin alike.
did_you_mean()
{
    local word=${1,,} name nearest='' fewest edits

    fewest=$((${#word} > 3 ? 3 : 2))
    for name in "${@:2}"; do
        ((${#name} - ${#word} < fewest && ${#word} - ${#name} < fewest)) || continue
        edit_distance "$word" "$name"
        if ((edits < fewest)) && [[ $edits -le 1 || ${word:0:1} == "${name:0:1}" ]]; then
            fewest=$edits
            nearest=$name
        fi
    done
    [[ -z $nearest ]] || printf "; did you mean '%s'?" "$nearest"
}

# For the options of a subcommand, of which its usage lists the others.
unknown_option()
{
    local known

    mapfile -t known < <(usage | sed -n 's/^ \{2,\}\(--[^] =,.[|]*\).*/\1/p')
    die "unknown option '$1' ($mplace_program --help)$(did_you_mean "${1%%=*}" "${known[@]}")"
}

# Names are checked by patterns of the shell, not by regular expressions: in a Turkish locale [a-z] of these has no i.

# What --version prints.
print_version()
{
    local version

    if [[ -r $mplace_parts/version ]]; then
        version=$(<"$mplace_parts/version")
    else
        version=$(sed -n 's/^project(mplace VERSION \([0-9.]*\).*/\1/p' "$mplace_parts/../CMakeLists.txt")
    fi
    tell "$mplace_program $version"
}

check_malloc_name()
{
    # shellcheck disable=SC2086 # names have no blanks
    is_one_of "$1" "$mplace_malloc_names" ||
        die "unknown allocator '$1': one of ${mplace_malloc_names// /, }, or NAME=FILE.so$(did_you_mean "$1" $mplace_malloc_names)"
}

check_lock_name()
{
    # shellcheck disable=SC2086
    is_one_of "$1" "$mplace_lock_names" ||
        die "unknown lock '$1': one of ${mplace_lock_names// /, }$(did_you_mean "$1" $mplace_lock_names)"
}

check_tm_name()
{
    # shellcheck disable=SC2086
    is_one_of "$1" "$mplace_tm_names" ||
        die "unknown --tm '$1': one of ${mplace_tm_names// /, }$(did_you_mean "$1" $mplace_tm_names)"
}

# check_own_name NAME: one that the user gives to an allocator.
check_own_name()
{
    [[ -n $1 && $1 != *[!A-Za-z0-9_+.-]* ]] || die "'$1' is no name for an allocator"
}

# read_allocator ITEM: sets allocator_name, and allocator_file to the path of the library of NAME=FILE.so, which
# takes the place of malloc as ours do; empty for the names that mplace knows.
read_allocator()
{
    allocator_name=${1%%=*}
    allocator_file=
    if [[ $1 != *=* ]]; then
        check_malloc_name "$1"
        return
    fi
    check_own_name "$allocator_name"
    [[ -f ${1#*=} && -r ${1#*=} ]] || die "the library of $allocator_name is not a readable file: '${1#*=}'"
    allocator_file=$(readlink -f -- "${1#*=}")
    if [[ $allocator_file == *[:\;[:space:]]* ]]; then
        die "the dynamic linker cannot preload a file with ':', ';' or a blank in its name: ${1#*=}"
    fi
    check_library "${1#*=}"
}

# check_library FILE: refuses one that the dynamic linker would leave out. It is loaded beside a program, and nothing of
# either runs.
check_library()
{
    local beside said

    beside=$(own_program mplace-check) || exit
    said=$(LD_TRACE_LOADED_OBJECTS=1 LD_PRELOAD=$allocator_file "$beside" 2>&1) || said="cannot be preloaded (damaged)"
    [[ ! $said =~ cannot\ be\ preloaded\ \(([^$'\n']*)\) ]] ||
        die "the library of $allocator_name cannot be preloaded: '$1' (${BASH_REMATCH[1]})"
}

# An option's argument that must be there: value_of "$@" inside a loop over the options.
value_of()
{
    [[ $# -ge 2 && -n $2 ]] || die "option $1 needs a value"
    printf '%s' "$2"
}

check_number()
{
    if [[ ! $2 =~ ^(0|[1-9][0-9]{0,14})$ ]] || (($2 < $3 || $2 > $4)); then
        die "$1 '$2' is not a whole number from $3 to $4"
    fi
}

# is_size TEXT: whether it is a size: digits, behind them K, M or G for 1024 B and its powers. Sets bytes.
is_size()
{
    [[ $1 =~ ^(0|[1-9][0-9]{0,12})[KkMmGg]?$ ]] || return
    bytes=${BASH_REMATCH[1]}
    case $1 in
    *[Kk]) ((bytes <<= 10)) ;;
    *[Mm]) ((bytes <<= 20)) ;;
    *[Gg]) ((bytes <<= 30)) ;;
    esac
}

# bytes_of OPTION SIZE LEAST GREATEST: prints the size in bytes.
bytes_of()
{
    local bytes least greatest

    is_size "$3"
    least=$bytes
    is_size "$4"
    greatest=$bytes
    is_size "$2" && ((bytes >= least && bytes <= greatest)) ||
        die "$1 '$2' is not a size from $3 to $4 bytes, for instance $4"
    printf '%s' "$bytes"
}

# check_cache OPTION GEOMETRY WAYS [any-line]: the geometry of a cache, of up to so many ways. Only allocators take
# lines of another length.
check_cache()
{
    local form='^([1-9][0-9]{0,6})x([1-9][0-9]{0,6})$' sets ways line

    [[ -z ${4-} ]] || form='^([1-9][0-9]{0,6})x([1-9][0-9]{0,6})(x([1-9][0-9]{0,6}))?$'
    [[ $2 =~ $form ]] || die "$1 '$2' is not SETSxWAYS, for instance 64x12"
    sets=${BASH_REMATCH[1]} ways=${BASH_REMATCH[2]} line=${BASH_REMATCH[4]:-64}
    if ((sets > 1048576 || (sets & (sets - 1)) != 0)); then
        die "$1 '$2': the sets are a power of two, up to 1048576"
    elif ((ways > $3)); then
        die "$1 '$2': more than $3 ways"
    elif ((line < 16 || line > 4096 || (line & (line - 1)) != 0)); then
        die "$1 '$2': the bytes of a line are a power of two from 16 to 4096"
    fi
}

# Of a subcommand that has results: what it reads, the program included. Empty names are left out.
files_read=()

# check_files FILE...: that each result can be written, no two are one, and none is among files_read under another name;
# it is not made yet. Empty names are left out.
check_files()
{
    local file path read seen=$'\n'

    for file; do
        [[ -n $file ]] || continue
        if [[ -e $file ]]; then
            [[ ! -d $file && -w $file ]] || die "$file cannot be written"
            # Of devices and pipes two names may be one.
            [[ -f $file ]] || continue
            for read in "${files_read[@]}"; do
                [[ ! $file -ef $read ]] || die "$file is what is read: a result has a file of its own"
            done
        else
            path=$(dirname -- "$(readlink -m -- "$file")")
            [[ $file != */ && -d $path && -w $path ]] || die "$file cannot be written"
        fi
        path=$(readlink -m -- "$file")
        [[ $seen != *$'\n'"$path"$'\n'* ]] || die "$file is there twice: each result has a file of its own"
        seen+=$path$'\n'
    done
}

# put_file FROM TO: copies a result to its place; one that cannot be whole is taken away.
put_file()
{
    cp -- "$1" "$2" 2>/dev/null || {
        rm -f -- "$2"
        die "$2 cannot be written"
    }
}

how_to_build()
{
    if [[ -n $mplace_build ]]; then
        echo "build it with: cmake --preset release && cmake --build --preset release"
    else
        echo "install mplace again"
    fi
}

# The file of one of our own libraries: own_library cia_malloc
own_library()
{
    local file=$mplace_library_folder/lib$1.so

    [[ -f $file ]] || die "$file is missing; $(how_to_build)"
    printf '%s' "$file"
}

# The file of the system's library: system_library PACKAGE SONAME...
system_library()
{
    local package=$1 soname folder
    shift

    for soname; do
        for folder in /usr/local/lib /usr/lib/x86_64-linux-gnu /lib/x86_64-linux-gnu /usr/lib64 \
            /lib64 /usr/lib; do
            if [[ -e $folder/$soname ]]; then
                printf '%s' "$folder/$soname"
                return
            fi
        done
    done
    die "$1 is not installed; on Debian: apt-get install $package"
}

# The libraries of an allocator, a name or NAME=FILE.so, one a line, in the order they must be preloaded.
malloc_libraries()
{
    local name=$1 allocator_name allocator_file

    if [[ $name == *=* ]]; then
        read_allocator "$name"
        printf '%s\n' "$allocator_file"
        return
    fi
    if [[ $name == rand* ]]; then
        own_library rand_malloc
        echo
        name=${name#rand}
        name=${name#+}
    fi
    case $name in
    '' | glibc) return ;;
    bank | cia) own_library "${name}_malloc" ;;
    jemalloc) system_library libjemalloc2 libjemalloc.so.2 ;;
    mimalloc) system_library 'libmimalloc2.0 (or a later libmimalloc)' libmimalloc.so.2 libmimalloc.so.3 ;;
    tcmalloc) system_library libtcmalloc-minimal4 libtcmalloc_minimal.so.4 ;;
    tbbmalloc) system_library libtbbmalloc2 libtbbmalloc_proxy.so.2 ;;
    esac
    echo
}

lock_libraries()
{
    case $1 in
    pthread) return ;;
    tts | ttstle) own_library "$1_lock" ;;
    esac
    echo
}

# Of who runs transactions.
tm_libraries()
{
    [[ $1 != libitm ]] || return 0
    own_library tm_runtime
    echo
}

# A program of our own: own_program ring
own_program()
{
    local file=$mplace_program_folder/$1

    [[ -x $file ]] || die "$file is missing; $(how_to_build)"
    printf '%s' "$file"
}

# The file of a simulated machine, by its name or as a file.
machine_file()
{
    local file=$mplace_machine_folder/$1.machine names

    if [[ $1 != */* && -f $file ]]; then
        printf '%s' "$file"
        return
    fi
    if [[ ! -f $1 ]]; then
        mapfile -t names < <(cd -- "$mplace_machine_folder" && printf '%s\n' *.machine | sed 's/\.machine$//')
        die "there is no machine '$1' (mplace machines lists them)$(did_you_mean "$1" "${names[@]}")"
    fi
    printf '%s' "$1"
}

# find_program NAME: sets program to its path as the shell finds it, or ends as the shell does: 127 if it is not there or its
# interpreter is not, 126 if it cannot be executed.
find_program()
{
    if ! program=$(type -P -- "$1") && [[ ! -e $1 || $1 != */* ]]; then
        note "no such program: $1"
        exit 127
    fi
    program=${program:-$1}
    if [[ -d $program || ! -x $program ]]; then
        note "not an executable program: $program"
        exit 126
    fi
    check_program "$program"
    case $program_kind in
    no-interpreter)
        note "$program_reason"
        exit 127
        ;;
    none)
        note "${program_reason:-not a program: $1}"
        exit 126
        ;;
    esac
}

# check_program PROGRAM: what the kernel and the dynamic linker will do with it. Sets program_kind to loadable, not-loadable,
# no-interpreter, text (without "#!", which a shell runs) or none, and program_reason to what speaks against it.
check_program()
{
    local check state=0
    local -a kinds=([0]=loadable [1]=not-loadable [3]=no-interpreter [4]=text [5]=none)

    check=$(own_program mplace-check) || exit
    program_reason=$("$check" -- "$1") || state=$?
    program_kind=${kinds[state]-}
    [[ -n $program_kind ]] || die "mplace-check failed with $state"
}

# Refuses the program of check_program or find_program if it would run without preloaded libraries, such as a static one.
check_preloadable()
{
    [[ $program_kind != not-loadable ]] || die "$program_reason"
}

# Sets preload_list (for LD_PRELOAD) and preload_path (for LD_LIBRARY_PATH, mostly empty) for
# preload_of MALLOC LOCK [TM]. The lock comes first: its constructor must not depend on a later library;
# rand comes before the allocator that it calls. ld.so splits LD_PRELOAD at blanks and colons and
# knows no quoting, so libraries in a folder with a blank are named by file name alone and found
# along LD_LIBRARY_PATH, which splits at colons and semicolons only.
preload_of()
{
    local library libraries

    preload_list=
    preload_path=
    libraries=$(lock_libraries "$2") || exit
    libraries+=$'\n'$(malloc_libraries "$1") || exit
    libraries+=$'\n'$(tm_libraries "${3:-libitm}") || exit
    while IFS= read -r library; do
        [[ -n $library ]] || continue
        if [[ $library == *[:\;]* ]]; then
            die "the dynamic linker cannot preload from a folder with ':' or ';' in its name: $library"
        fi
        if [[ $library =~ [[:space:]] ]]; then
            preload_path=$(dirname -- "$library")
            library=$(basename -- "$library")
        fi
        preload_list+=${preload_list:+:}$library
    done <<<"$libraries"
}

# RTM of this machine: usable, absent or always-abort; found by executing it, see scripts/probe.
rtm_state()
{
    local probe

    probe=$(own_program mplace-probe) || exit
    "$probe" --rtm
}

# The complete Valgrind tool folder, or one clear line.
check_emulator()
{
    [[ -x $mplace_valgrind_folder/rtmgrind-amd64-linux ]] ||
        die "--htm emulated needs $mplace_valgrind_folder/rtmgrind-amd64-linux, which is not built"
    command -v valgrind >/dev/null || die "--htm emulated needs valgrind: apt-get install valgrind"
    check_valgrind_version
}

# Sets VALGRIND_LIB. Valgrind preloads a library of that folder into the program, and ld.so splits LD_PRELOAD at blanks
# and colons: a folder with one in its name is told by a descriptor, which the program inherits.
export_valgrind_folder()
{
    local descriptor

    export VALGRIND_LIB=$mplace_valgrind_folder
    if [[ $VALGRIND_LIB == *[:[:space:]]* ]]; then
        exec {descriptor}<"$VALGRIND_LIB"
        VALGRIND_LIB=/proc/self/fd/$descriptor
    fi
}

# Our tools carry the core of the Valgrind that they were built with, and load parts of the installed
# one into the program.
check_valgrind_version()
{
    local built installed

    [[ -r $mplace_valgrind_folder/version ]] || return 0
    built=$(<"$mplace_valgrind_folder/version")
    # To say it the launcher starts a tool of its own, which is not among those of another folder.
    installed=$(env -u VALGRIND_LIB -u VALGRIND_OPTS valgrind --version 2>/dev/null) || installed=unknown
    [[ $installed == "$built" ]] ||
        die "the Valgrind tools of mplace were built with $built and work with no other; installed is $installed"
}

# The columns of a result, as the benchmarks write them.
csv_header()
{
    printf '%s' bench,malloc,lock,htm,size,nodes,threads,seed,rate,unit,sets_used,max_per_set, \
        acquisitions,slow_path,tx_started,tx_committed,abort_conflict,abort_capacity, \
        abort_explicit,abort_other,host,cpu,date,policy,wait,pinned,counters
}

# The variables of the environment that decide what a row means, by name.
setting_variables()
{
    local variable

    for variable in $(compgen -e | LC_ALL=C sort); do
        case $variable in
        MPLACE_BUILD) ;;
        MPLACE_* | CIA_* | RAND_* | BANK_* | TTS_* | TTSTLE_* | MIMALLOC_* | TCMALLOC_* | MALLOC_* | TBB_* | GLIBC_TUNABLES)
            echo "$variable"
            ;;
        esac
    done
}

# Seconds as people say them.
duration()
{
    if (($1 >= 3600)); then
        printf '%d h %02d min' $(($1 / 3600)) $(($1 % 3600 / 60))
    elif (($1 >= 60)); then
        printf '%d min %02d s' $(($1 / 60)) $(($1 % 60))
    else
        printf '%d s' "$1"
    fi
}
