#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# What the scripts promise apart from run, sweep and plot.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=scripts_common.bash
source "$(dirname -- "$0")/scripts_common.bash"

every_script_passes_shellcheck()
{
    local scripts

    command -v shellcheck >/dev/null || skip "shellcheck is not installed"
    mapfile -t scripts <<<"$(find "$source_folder/scripts" "$source_folder/.ci" "$source_folder/tests/scripts" \
        -type f -exec grep -lE '^#!/usr/bin/env bash' {} +)"
    expect "scripts found" yes "$([[ ${#scripts[@]} -ge 12 ]] && echo yes)"
    shellcheck -x "${scripts[@]}" >&2 || fail "shellcheck complains"
}

help_lists_every_subcommand_and_each_has_help()
{
    local name

    run "$mplace" help
    expect "exit status" 0 "$status"
    for name in run sweep compare plot claims cpu smoke; do
        grep -q "^  $name  *[a-z]" "$scratch/out" || fail "help does not list $name"
        run "$mplace" $name --help
        expect "exit status of $name --help" 0 "$status"
        grep -q "^usage: mplace $name" "$scratch/out" || fail "$name --help shows no usage"
        run "$mplace" help $name
        grep -q "^usage: mplace $name" "$scratch/out" || fail "help $name shows no usage"
        run "$mplace" help
    done
}

help_whose_reader_has_gone_ends_without_a_word()
{
    local reader writer arguments

    mkfifo pipe
    exec {reader}<>pipe
    exec {writer}>pipe
    exec {reader}>&-
    for arguments in --help "run --help" "compare --help"; do
        # shellcheck disable=SC2086 # words
        "$mplace" $arguments 1>&"$writer" 2>err || true
        expect "standard error of $arguments" "" "$(cat err)"
    done
}

what_cannot_be_printed_is_one_line_and_exit_2()
{
    local arguments

    for arguments in --version --help "help run" "run --help" "compare --version" cpu "cpu --keys" "cpu --json" machines; do
        # shellcheck disable=SC2086 # words
        run bash -c '"$@" >/dev/full' - "$mplace" $arguments
        expect_refusal "standard output cannot be written"
    done
}

an_unknown_subcommand_is_one_line_and_exit_2()
{
    run "$mplace" frobnicate
    expect_refusal "no subcommand 'frobnicate'"
    run "$mplace" ../mplace-run
    expect_refusal "no subcommand '../mplace-run'"
    run "$mplace" common.bash
    expect_refusal "no subcommand"
    run "$mplace" cpu --fast
    expect_refusal "unknown option '--fast'"
}

# The subcommands that mplace help lists.
subcommands()
{
    "$mplace" help | sed -n 's/^  \([a-z]*\) .*/\1/p'
}

mplace_and_each_subcommand_tell_their_version()
{
    local version name

    version=$(sed -n 's/^project(mplace VERSION \([0-9.]*\) .*/\1/p' "$source_folder/CMakeLists.txt")
    expect "mplace" "mplace $version" "$("$mplace" --version)"
    for name in $(subcommands); do
        run "$mplace" "$name" --version
        expect "exit status of $name" 0 "$status"
        expect "$name" "mplace $name $version" "$(cat "$scratch/out")"
    done
    cmake --install "$build_folder" --prefix "$scratch/prefix" >/dev/null
    unset MPLACE_BUILD
    expect "an installed one" "mplace run $version" "$("$scratch/prefix/bin/mplace" run --version)"
}

profile_takes_a_value_behind_an_equals_sign()
{
    run "$mplace" profile --value=inuse_spice none.pb.gz
    expect_refusal "did you mean 'inuse_space'?"
    run "$mplace" profile none.pb.gz --value=alloc_space
    expect_refusal "none.pb.gz: No such file or directory"
}

a_mistyped_name_is_answered_with_the_nearest_one()
{
    local nearest

    while read -r nearest arguments; do
        read -r -a words <<<"$arguments"
        run "$mplace" "${words[@]}"
        if [[ $nearest == none ]]; then
            expect "exit status" 2 "$status"
            ! grep -q 'did you mean' "$scratch/err" || fail "$arguments: $(cat "$scratch/err")"
        else
            expect_refusal "did you mean '$nearest'?"
        fi
    done <<'END'
compare comapre
sweep Sweeps
run rnu
help hlep
none frobnicate
none ab
jemalloc run --malloc jemaloc -- true
cia run --malloc CIA -- true
none run --malloc dlmalloc -- true
rand+tcmalloc run --malloc rand+tcmaloc -- true
ttstle run --lock ttslte -- true
tts sweep ring --lock ts --out new.csv
none run --lock mcs -- true
--malloc run --malloc-=cia -- true
--sizes sweep ring --size 64 --out new.csv
avltree sweep avl-tree --out new.csv
larson compare --malloc glibc,cia --workload larsson
none compare --malloc glibc,cia --workload nothing
sqlite3 compare --malloc glibc,cia --programs sqlite
END
}

# ended STATUS COMMAND...: mplace must end so; noted as seen.
ended()
{
    run "$mplace" "${@:2}"
    expect "exit status of ${*:2}" "$1" "$status"
    seen+=" $1"
}

the_exit_status_means_the_same_in_every_subcommand()
{
    local name seen=

    for name in $(subcommands); do
        ended 0 "$name" --help
        ended 2 "$name" --no-such-option
    done
    touch nothing
    mkdir folder
    printf '#!/no/such/interpreter\n' >script
    printf '\0\1\2' >junk
    chmod +x script junk
    for name in run "compare --malloc glibc,cia" doctor trace simulate; do
        [[ $name != doctor || -x $build_folder/lib/mplace/valgrind/setgrind-amd64-linux ]] || continue
        [[ $name != trace && $name != simulate || -x $build_folder/lib/mplace/valgrind/memtrace-amd64-linux ]] || continue
        # shellcheck disable=SC2086 # words
        {
            ended 127 $name -- no-such-program
            ended 127 $name -- ./no-such-program
            ended 127 $name -- ./script
            ended 126 $name -- ./junk
            ended 126 $name -- ./nothing
            ended 126 $name -- ./folder
        }
    done
    ended 1 compare --malloc glibc,cia --rounds 1 -- false
    if ! transactions_commit; then
        private_build
        ended 77 smoke
        ended 77 calibrate --out new.csv
    else
        seen+=" 77"
    fi
    expect "statuses of the manual page" "$(sed -n '/^.Sh EXIT STATUS/,/^.El/s/^.It //p' "$source_folder/docs/man/mplace.1" | grep -v n | xargs)" \
        "$(tr ' ' '\n' <<<"$seen" | grep . | sort -nu | xargs)"
}

a_temporary_folder_that_is_not_there_is_one_line_and_exit_2()
{
    local command

    for command in "run --malloc cia --stats -- true" "compare --malloc glibc,cia -- true" "plot a.csv --out page" \
        "sweep ring --quick --out new.csv" "calibrate --out new.csv" smoke "doctor -- true" "trace -- true" \
        "simulate -- true"; do
        case $command in
        doctor* | trace* | simulate*)
            [[ -x $build_folder/lib/mplace/valgrind/memtrace-amd64-linux ]] || continue
            ;;
        sweep*) command -v parallel >/dev/null || continue ;;
        esac
        # shellcheck disable=SC2086 # words
        run env TMPDIR="$scratch/no folder" "$mplace" $command
        expect_refusal "mplace ${command%% *}: TMPDIR: no folder can be made in $scratch/no folder: No such file"
    done
}

valgrind_is_never_asked_for_files_of_a_debugger()
{
    local command

    # They stay when it is killed. A valgrind that tells how it was called stands for it.
    need_memtrace
    need_simulator
    command -v parallel >/dev/null || skip "GNU parallel is not installed"
    mkdir bin
    cat >bin/valgrind <<END
#!/bin/sh
[ "\$1" != --version ] || exec cat "$build_folder/lib/mplace/valgrind/version"
echo "\$*" >>"$scratch/calls"
exit 1
END
    chmod +x bin/valgrind
    for command in "run --htm emulated -- true" "trace -- true" "simulate -- true" "doctor -- true" \
        "doctor --sharing -- true" "doctor --sections -- true" "calibrate --htm emulated --out new.csv" \
        "sweep ring --htm emulated --quick --sizes 64 --malloc glibc --lock ttstle --out new.csv"; do
        : >calls
        # shellcheck disable=SC2086 # words
        PATH=$scratch/bin:$PATH run "$mplace" $command
        [[ -s calls ]] || fail "$command does not call valgrind"
        expect "calls of $command without --vgdb=no" "" "$(grep -v -e ' --vgdb=no ' calls || true)"
    done
}

# offered WORD...: what "mplace complete" offers for the last word, without the remarks.
offered()
{
    "$mplace" complete "$@" | cut -f1 | paste -sd' '
}

completion_knows_what_each_place_takes()
{
    local reader

    expect "a subcommand" "simulate smoke stats sweep" "$(offered s)"
    expect "its options" "--malloc" "$(offered run --mal)"
    expect "its values" "tts ttstle" "$(offered run --lock tt)"
    expect "algorithms" "libitm lazy" "$(offered run --tm l)"
    expect "workloads" ":nospace larson,sh6 larson,sh8" "$(offered compare --workload larson,sh)"
    expect "workloads of memory over time" ":nospace peak-and-free" "$(offered compare --workload peak)"
    expect "a value behind an equals sign" "--lock=tts --lock=ttstle" "$(offered run --lock=t)"
    expect "a list behind one" ":nospace --malloc=cia,jemalloc" "$(offered sweep ring --malloc=cia,j)"
    expect "a file" ":files" "$(offered sweep ring --out a)"
    expect "a benchmark" "avltree" "$(offered sweep a)"
    expect "another's command" ":command 2" "$(offered run l)"
    expect "another's command behind options" ":command 4" "$(offered run --malloc cia l)"
    expect "another's command behind two dashes" ":command 3" "$(offered compare -- ls -)"
    expect "nothing for what is no subcommand" "" "$(offered frobnicate '')"
    private_build
    reader=$scratch/build/bin/mplace-stats-reader
    rm "$reader"
    printf '#!/bin/sh\necho "   4711  redis-server     libcia_malloc"\necho "     12  postgres         libtts_lock"\n' >"$reader"
    chmod +x "$reader"
    expect "processes" $'4711\tredis-server 12\tpostgres' "$("$mplace" complete stats '' | paste -sd' ')"
    expect "a process" 4711 "$(offered stats --watch 4)"
}

# answered WORD...: what the completion of bash replies for the last word, split as bash splits.
answered()
{
    # shellcheck disable=SC2016 # the other shell's variables
    bash -c 'source "$1"
        compopt() { echo "$*"; }
        COMP_WORDS=("${@:2}")
        COMP_CWORD=$(($# - 2))
        _mplace
        echo "${COMPREPLY[*]}"' bash "$source_folder/scripts/completion/mplace.bash" "$mplace" "$@" | xargs
}

completion_works_in_bash()
{
    expect "a subcommand" "simulate smoke stats sweep" "$(answered s)"
    expect "a value" jemalloc "$(answered run --malloc j)"
    expect "a value behind an equals sign" jemalloc "$(answered run --malloc = j)"
    expect "nothing behind it yet" "auto emulated native none" "$(answered run --htm =)"
    expect "a list" "-o nospace larson,sh6 larson,sh8" "$(answered compare --workload = larson,sh)"
    expect "a file" "-o default" "$(answered plot --out = fig)"
    expect "another's command" mkfifo "$(answered run --malloc = cia --lock tts mkfif | cut -d' ' -f1)"
    expect "its arguments" "-o default" "$(answered run --malloc = cia -- ls --color = a)"
}

completion_works_in_zsh()
{
    type -P zsh >/dev/null || skip "zsh is not installed"
    # The functions of the completion system that the file calls tell how they were called.
    cat >ask.zsh <<'END'
compadd() { print -r -- ${@[-1]}: ${(P)@[-1]} }
_files() { print files $PREFIX }
compset() { PREFIX=${PREFIX#${~3}} }
_normal() { print normal $CURRENT $words }
ask() { words=("$@"); CURRENT=$#; PREFIX=$words[-1]; source $source }
source=$1
ask $2 s
ask $2 compare --workload larson,sh
ask $2 plot ''
ask $2 plot --out=fi=g
ask $2 run -- ls -l
END
    expect "answers" "values: simulate smoke stats sweep;values: larson,sh6 larson,sh8;files;files fi=g;normal 2 ls -l" \
        "$(zsh -f ask.zsh "$source_folder/scripts/completion/mplace.zsh" "$mplace" | paste -sd';')"
}

completion_works_in_fish()
{
    type -P fish >/dev/null || skip "fish is not installed"
    mkdir -p home bin
    ln -s "$mplace" bin/mplace
    : >'a page.html'
    expect "answers" "simulate smoke stats sweep;larson,sh6 larson,sh8;--html=a page.html;printenv;--color" \
        "$(HOME=$scratch/home PATH=$scratch/bin:$PATH fish --no-config -c "source '$source_folder/scripts/completion/mplace.fish'
            complete -C 'mplace s' | cut -f1 | paste -sd' '
            complete -C 'mplace compare --workload larson,sh' | cut -f1 | paste -sd' '
            complete -C 'mplace doctor --html=a' | cut -f1 | paste -sd' '
            complete -C 'mplace run --malloc cia printen' | cut -f1 | paste -sd' '
            complete -c ls -l color
            complete -C 'mplace run --malloc=cia -- ls --colo' | cut -f1 | paste -sd' '" | paste -sd';')"
}

subcommands_names_and_settings_with_an_i_are_known_in_a_turkish_locale()
{
    local turkish=(env LOCPATH="$scratch/locale" LC_ALL=tr_TR.UTF-8) names name

    [[ -f /usr/share/i18n/locales/tr_TR ]] || skip "no tr_TR to make a locale of"
    mkdir locale
    run localedef -i tr_TR -f UTF-8 "$scratch/locale/tr_TR.UTF-8"
    expect "an i that is none of a-z" none "$("${turkish[@]}" grep -q '[a-z]' <<<i || echo none)"
    names=$("$mplace" help | awk '/^  [a-z]/ {print $1}')
    expect "subcommands of help" "$names" "$("${turkish[@]}" "$mplace" help | awk '/^  [a-z]/ {print $1}')"
    for name in $names; do
        run "${turkish[@]}" "$mplace" "$name" --version
        expect "exit status of $name" 0 "$status"
    done
    run "${turkish[@]}" "$mplace" compare --malloc glibc,tighten=cia:CIA_HARDEN=1 --rounds 1 -- true
    expect "exit status of compare" 0 "$status"
    run "${turkish[@]}" "$mplace" complete sim
    expect "what is offered" simulate "$(cut -f 1 out)"
}

it_works_through_a_link_and_from_any_folder()
{
    mkdir "$scratch/some bin"
    ln -s "$mplace" "$scratch/some bin/mplace"
    cd /
    run "$scratch/some bin/mplace" cpu --keys
    expect "exit status" 0 "$status"
    cd "$scratch"
    PATH="$scratch/some bin:$PATH" run mplace run -- true
    expect "exit status" 0 "$status"
}

an_installed_mplace_finds_its_parts()
{
    cmake --install "$build_folder" --prefix "$scratch/a prefix" >/dev/null
    unset MPLACE_BUILD
    run "$scratch/a prefix/bin/mplace" cpu --keys
    expect "exit status of cpu" 0 "$status"
    run "$scratch/a prefix/bin/mplace" sweep ring --traversals 100 --malloc glibc --lock pthread --sizes 64 --runs 1 --out a.csv
    expect "exit status of sweep" 0 "$status"
    run "$scratch/a prefix/bin/mplace" sweep avltree --operations 100 --malloc cia --lock tts --sizes 64 --runs 1 --out b.csv
    expect "exit status of sweep avltree" 0 "$status"
    run "$scratch/a prefix/bin/mplace" plot a.csv b.csv --out page
    expect "exit status of plot" 0 "$status"
    run "$scratch/a prefix/bin/mplace" claims a.csv b.csv
    expect "exit status of claims" 0 "$status"
    run "$scratch/a prefix/bin/mplace" compare --malloc cia,glibc --workload larson --threads 1 --rounds 1 --shorten 3000
    expect "exit status of compare" 0 "$status"
    run "$scratch/a prefix/bin/mplace" compare --malloc cia,glibc --rounds 1 -- true
    expect "exit status of compare -- true" 0 "$status"
    run "$scratch/a prefix/bin/mplace" dram --simulate tilepro64
    expect "exit status of dram" 0 "$status"
    if [[ -x $build_folder/lib/mplace/valgrind/setgrind-amd64-linux ]]; then
        run "$scratch/a prefix/bin/mplace" doctor -- true
        expect "exit status of doctor" 0 "$status"
    fi
}

installed_tools_of_traces_find_their_parts()
{
    local line program="$build_folder/tests/powercut_program"

    need_simulator
    need_memtrace
    cmake --install "$build_folder" --prefix "$scratch/inst" >/dev/null
    unset MPLACE_BUILD
    for line in "trace --values --out bank.mptrace -- $program bank file" "trace --dump bank.mptrace" \
        "simulate bank.mptrace" "powercut --images 5 bank.mptrace -- $program check-bank" \
        "doctor --sharing -- true" machines; do
        # shellcheck disable=SC2086 # words
        run timeout 60 "$scratch/inst/bin/mplace" $line
        expect "exit status of $line" 0 "$status"
    done
}

no_installed_file_is_written_over_by_another()
{
    cmake --install "$build_folder" --prefix "$scratch/inst" >said
    sed -n 's/^-- \(Installing\|Up-to-date\): //p' said | while read -r file; do
        [[ -d $file ]] || echo "$file"
    done | sort | uniq -d >twice
    expect "files that are installed twice" "" "$(cat twice)"
}

cpu_tells_all_its_keys()
{
    local key

    run "$mplace" cpu --keys
    expect "exit status" 0 "$status"
    for key in host cpu cpus cpus_allowed l1d l2 rtm emulator counters rseq numa_nodes huge_pages turbo governor smt hypervisor \
        load kernel libc; do
        grep -q "^$key=." "$scratch/out" || fail "$key is missing"
    done
    expect "lines that are not key=value" "" "$(grep -v '^[a-z0-9_]*=' "$scratch/out" || true)"
    expect "rtm" yes "$(grep -qE '^rtm=(usable|absent|always-abort)$' "$scratch/out" && echo yes)"
}

cpu_tells_the_same_as_json()
{
    "$mplace" cpu --keys | grep -v '^load=\|^warning=Other programs' >keys
    "$mplace" cpu --json >json
    /usr/bin/python3 - json >back <<'END'
import json
import sys
facts = json.load(open(sys.argv[1]))
warnings = facts.pop("warnings")
assert all(isinstance(facts[key], int) for key in ("cpus", "cpus_allowed"))
for key, value in facts.items():
    print(f"{key}={'unknown' if value is None else value}")
for warning in warnings:
    print(f"warning={warning}")
END
    diff keys <(grep -v '^load=\|^warning=Other programs' back) >&2 || fail "other facts"
}

every_program_tells_its_version_and_knows_no_other_option()
{
    local version name

    version=$(sed -n 's/^project(mplace VERSION \([0-9.]*\) .*/\1/p' "$source_folder/CMakeLists.txt")
    for name in ring avltree malloc_bench persist_bench lockpair calibrate mplace-probe mplace-check mplace-gather mplace-measure mplace-count \
        mplace-stats-reader mplace-chip mplace-powercut-images mplace-trace-dump mplace-trace-writer tm_bench; do
        # Those of the simulator are not built without libzstd, that of transactions without GCC's -fgnu-tm.
        [[ $name == @(mplace-@(chip|powercut-images|trace-*)|tm_bench) && ! -x $build_folder/bin/$name ]] && continue
        run "$build_folder/bin/$name" --version
        expect "exit status of $name" 0 "$status"
        expect "$name" "$name (mplace) $version" "$(cat "$scratch/out")"
        run "$build_folder/bin/$name" --no-such-option
        expect_refusal "--no-such-option"
    done
}

cpu_names_the_processor_as_the_rows_do()
{
    expect "processor" "$("$build_folder/bin/ring" --size 64 --traversals 1 --csv | cut -d, -f22)" \
        "$("$mplace" cpu --keys | sed -n 's/^cpu=//p')"
}

cpu_says_when_the_cache_is_a_setting()
{
    export MPLACE_L1D=64x12
    run "$mplace" cpu
    grep -q '^L1 data cache  *48 KiB: 64 sets, 12 ways, lines of 64 B (from the setting MPLACE_L1D)$' "$scratch/out" ||
        fail "got: $(grep '^L1' "$scratch/out")"
}

# A hypervisor tells its signature, 12 letters, KVM its name three times.
cpu_names_the_hypervisor_as_people_do()
{
    run "$mplace" cpu
    if grep -qE 'KVMKVM|Microsoft Hv|VMwareVMware|VBoxVBox|XenVMM|TCGTCG' "$scratch/out"; then
        fail "$(grep -E '^Hypervisor|hypervisor' "$scratch/out")"
    fi
}

cpu_warns_of_what_spoils_a_measurement()
{
    run "$mplace" cpu --keys
    if grep -qx 'hypervisor=none' "$scratch/out"; then
        expect "warning of a hypervisor" 0 "$(grep -c '^warning=A hypervisor' "$scratch/out" || true)"
    else
        expect "warning of a hypervisor" 1 "$(grep -c '^warning=A hypervisor' "$scratch/out" || true)"
    fi
    case $(sed -n 's/^governor=//p' "$scratch/out") in
    performance) expect "warning of the governor" 0 "$(grep -c '^warning=The frequency governor' "$scratch/out" || true)" ;;
    *) expect "warning of the governor" 1 "$(grep -c '^warning=The frequency governor' "$scratch/out" || true)" ;;
    esac
    case $(sed -n 's/^smt=//p' "$scratch/out") in
    off) expect "warning of SMT" 0 "$(grep -c '^warning=.*SMT is on' "$scratch/out" || true)" ;;
    *) expect "warning of SMT" 1 "$(grep -c '^warning=.*SMT is on' "$scratch/out" || true)" ;;
    esac
}

# The orders of the folders are those of their README.md.
include_order()
{
    run python3 "$source_folder/tests/scripts/include_order.py" "$1" \
        --folder src/bank_malloc=api,heap,memory,.,pool \
        --folder src/cia_malloc=api,statistics,hardened,profile,cpu_cache,large,heap,pages \
        --folder src/cia_malloc/heap=remote_free,.,colours,size_classes \
        --folder src/ttstle_lock=.,elision,rtm \
        --folder sim/chip=.,cores,sharing,persistence,coherence,mesh,memory,caches,engine,machine \
        --folder sim/rtmgrind=.,report,translation,processors,transactions,counts,common
}

includes_go_one_way()
{
    include_order "$source_folder"
    expect "violations" "" "$(cat "$scratch/out")"
    expect "exit status" 0 "$status"
}

an_include_against_the_order_is_found()
{
    mkdir "$scratch/tree"
    cp -r "$source_folder/src" "$source_folder/bench" "$source_folder/sim" "$scratch/tree"
    echo '#include "cia_malloc/heap/block.h"' >>"$scratch/tree/src/cia_malloc/pages/decay_policy.c"
    include_order "$scratch/tree"
    expect "exit status" 1 "$status"
    expect "violation" "src/cia_malloc/pages/decay_policy.c includes src/cia_malloc/heap/block.h: heap is above pages" "$(cat "$scratch/out")"
    cp "$source_folder/src/cia_malloc/pages/decay_policy.c" "$scratch/tree/src/cia_malloc/pages"
    echo '#include "cia_malloc/heap/subheap.h"' >>"$scratch/tree/src/cia_malloc/heap/size_classes/size_class.c"
    include_order "$scratch/tree"
    expect "exit status with a circle" 1 "$status"
    expect "circle" 1 "$(grep -c '^a circle of includes: .*src/cia_malloc/heap/size_classes/size_class.*src/cia_malloc/heap/subheap' "$scratch/out")"
}

a_folder_of_many_files_has_a_readme_of_at_most_30_lines()
{
    local folder folders files seen=0

    # scripts/report/README.md has a line for each package of it.
    mapfile -t folders <<<"$(find "$source_folder"/{src,bench,sim,scripts} -type d ! -path '*/report/*')"
    for folder in "${folders[@]}"; do
        files=$(find "$folder" -maxdepth 1 -type f ! -name CMakeLists.txt ! -name '*.md' | wc -l)
        [[ $files -gt 5 ]] || continue
        seen=$((seen + 1))
        [[ -f $folder/README.md ]] || fail "$folder has $files files and no README.md"
        [[ $(wc -l <"$folder/README.md") -le 30 ]] || fail "$folder/README.md is too long"
    done
    expect "folders seen" yes "$([[ $seen -gt 15 ]] && echo yes)"
}

# A unit is a file of code, a .c with its .h one; CMakeLists.txt, READMEs and data do not count.
a_folder_has_at_most_20_units()
{
    local folder units seen=0

    while IFS= read -r folder; do
        units=$(find "$folder" -maxdepth 1 -type f -name '*[a-z]*' ! -name 'CMakeLists.txt' ! -name '*.md' ! -name '*.map' \
            ! -name '*.machine' ! -name '*.part' -printf '%f\n' | sed 's/\.[chS]$//' | sort -u | wc -l)
        [[ $units -le 20 ]] || fail "$folder has $units units"
        seen=$((seen + 1))
    done <<<"$(find "$source_folder"/{src,bench,sim,scripts} -type d ! -name __pycache__)"
    expect "folders seen" yes "$([[ $seen -gt 50 ]] && echo yes)"
}

# A PATH of its own, with a few programs of the system and whatever the test puts beside them.
private_path()
{
    local name

    mkdir -p "$scratch/bin"
    for name in bash env sh tr id cat rm tee chmod; do
        ln -sf "$(type -P "$name")" "$scratch/bin/$name"
    done
}

install_deps_installs_nothing_where_all_is_there()
{
    private_path
    printf '#!/bin/sh\necho installed\n' >"$scratch/bin/dpkg-query"
    # shellcheck disable=SC2016 # the fake's shell expands it
    printf '#!/bin/sh\necho apt-get "$@" >>"$CALLED"\nexit 1\n' >"$scratch/bin/apt-get"
    chmod +x "$scratch/bin/dpkg-query" "$scratch/bin/apt-get"
    CALLED=$scratch/called PATH=$scratch/bin run bash "$source_folder/scripts/install-deps.sh" --build --test --apps
    expect "exit status" 0 "$status"
    [[ ! -e $scratch/called ]] || fail "apt-get was called: $(cat "$scratch/called")"
}

install_deps_says_in_one_line_what_it_cannot_do()
{
    run bash "$source_folder/scripts/install-deps.sh" --everything
    expect_refusal "unknown option '--everything'"
    private_path
    PATH=$scratch/bin run bash "$source_folder/scripts/install-deps.sh" --build
    expect_refusal "this is not Debian"
    printf '#!/bin/sh\nexit 1\n' >"$scratch/bin/dpkg-query"
    printf '#!/bin/sh\nexit 1\n' >"$scratch/bin/apt-get"
    rm "$scratch/bin/id"
    printf '#!/bin/sh\necho 1000\n' >"$scratch/bin/id"
    chmod +x "$scratch/bin/dpkg-query" "$scratch/bin/apt-get" "$scratch/bin/id"
    PATH=$scratch/bin run bash "$source_folder/scripts/install-deps.sh" --build
    expect_refusal "neither root nor sudo; as root: apt-get install gcc"
}

install_deps_takes_the_name_that_this_release_has()
{
    private_path
    printf '#!/bin/sh\nexit 1\n' >"$scratch/bin/dpkg-query"
    # shellcheck disable=SC2016 # the fake's shell expands it
    printf '#!/bin/sh\necho "$@" >>"$CALLED"\n' >"$scratch/bin/apt-get"
    # shellcheck disable=SC2016 # the fake's shell expands it
    # What other packages mention is shown as nothing, what nobody knows fails, and the rest has a record.
    printf '#!/bin/sh\ncase $2 in libmimalloc2*) ;; libtcmalloc-minimal4 | libpmemobj-dev) exit 100 ;; *) echo "Package: $2" ;; esac\n' \
        >"$scratch/bin/apt-cache"
    rm "$scratch/bin/id"
    printf '#!/bin/sh\necho 1000\n' >"$scratch/bin/id"
    # Of what it would do as root, apt-get alone is done.
    # shellcheck disable=SC2016 # the fake's shell expands it
    printf '#!/bin/sh\ncase "$*" in *apt-get*) exec "$@" ;; esac\n' >"$scratch/bin/sudo"
    chmod +x "$scratch/bin"/{dpkg-query,apt-get,apt-cache,id,sudo}
    CALLED=$scratch/called PATH=$scratch/bin run bash "$source_folder/scripts/install-deps.sh" --build
    expect "exit status" 0 "$status"
    expect "alternatives" "libmimalloc3 libtcmalloc-minimal4t64" \
        "$(grep -oE '(libmimalloc|libtcmalloc-minimal)[^ ]*' called | paste -sd' ')"
    ! grep -q libpmemobj called || fail "an optional package that this release has not was asked for"
    grep -q 'no libpmemobj-dev here: left out' "$scratch/err" || fail "it does not say what it left out"
}

# reproduce.sh in a tree of its own, with a cmake and a mplace that only note how they were called; a
# sweep's result has the one row of its plan, unless SWEEP_FAILS names it.
private_reproduce()
{
    mkdir -p tree/scripts tree/build/lib/mplace/valgrind bin
    cp "$source_folder/scripts/reproduce.sh" tree/scripts/
    printf '#!/bin/sh\n' >bin/cmake
    cp bin/cmake tree/build/lib/mplace/valgrind/rtmgrind-amd64-linux
    cp bin/cmake bin/valgrind
    cat >tree/scripts/mplace <<'END'
#!/usr/bin/env bash
echo "$*" >>"$CALLED"
out=${*: -1}
if [[ $1 == plot ]]; then
    [[ -n ${PLOT_FAILS-} ]] && exit 1
    touch "$out/index.html"
    exit 0
fi
[[ -e $out ]] || printf 'row\t64\n' >"$out.plan"
echo header >"$out"
[[ -z ${SWEEP_FAILS-} || $out != *"/$SWEEP_FAILS.csv" ]] || exit 1
echo row >>"$out"
END
    chmod +x tree/scripts/mplace bin/* tree/build/lib/mplace/valgrind/*
    export CALLED=$scratch/called
}

reproduce()
{
    : >called
    PATH=$scratch/bin:$PATH run tree/scripts/reproduce.sh --no-install "$@" --out "$scratch/an out"
}

a_brief_reproduction_has_every_sweep_at_two_sizes()
{
    private_reproduce
    reproduce --brief
    expect "exit status" 0 "$status"
    expect "sweeps, and those of two sizes" "5 5" "$(grep -c ^sweep called) $(grep -c '^sweep .*--runs 1 .*--sizes 64,1008 ' called)"
}

# As in a root without /sys, where lscpu fails.
reproduce_works_where_nothing_tells_the_cores()
{
    private_reproduce
    printf '#!/bin/sh\necho "lscpu: no /sys" >&2\nexit 1\n' >bin/lscpu
    chmod +x bin/lscpu
    reproduce
    expect "exit status" 0 "$status"
    [[ $(sed -n 's/^sweep avltree .*--threads \([0-9]*\).*/\1/p' called) -ge 1 ]] || fail "no threads"
}

reproduce_goes_on_where_it_was_interrupted_and_keeps_what_was_finished()
{
    local out="$scratch/an out" threads

    private_reproduce
    SWEEP_FAILS=avltree reproduce
    expect "exit status of the interrupted one" 1 "$status"
    expect "results" "avltree.csv ring.csv" "$(cd "$out" && echo *.csv)"
    PLOT_FAILS=yes reproduce
    expect "exit status when drawing failed" 1 "$status"
    # What was measured and not drawn is drawn now.
    reproduce
    expect "exit status" 0 "$status"
    expect "results after it went on" \
        "avltree-emulated.csv avltree.csv ring-emulated-64x12.csv ring-emulated-64x8.csv ring.csv" \
        "$(cd "$out" && echo *.csv)"
    expect "sweeps that do not resume" "" "$(grep '^sweep' called | grep -v -e ' --resume --out ' || true)"
    expect "sweeps" "ring avltree avltree ring ring" "$(sed -n 's/^sweep \([a-z]*\) .*/\1/p' called | paste -sd ' ')"
    expect "the ring's emulated caches, and the results of each" "64x8 ring-emulated-64x8 64x12 ring-emulated-64x12" \
        "$(sed -n 's/^sweep ring .*--htm emulated --l1d \([0-9x]*\) .*\/\(.*\)\.csv$/\1 \2/p' called | paste -sd ' ')"
    expect "what is drawn" \
        "plot $out/ring.csv $out/avltree.csv $out/avltree-emulated.csv $out/ring-emulated-64x8.csv $out/ring-emulated-64x12.csv --claims --out $out" \
        "$(grep ^plot called)"
    threads=$(sed -n 's/^sweep avltree .*--threads \([0-9]*\).*/\1/p' called)
    [[ $threads -ge 1 && $threads -le 4 && $threads -le $(nproc) ]] || fail "$threads threads"
    # The last of the results decides as well whether all are finished.
    rm "$out/ring-emulated-64x12.csv"*
    reproduce
    expect "results, one of them begun anew" 5 "$(find "$out" -name '*.csv' | wc -l)"
    reproduce
    expect "results of both calls" 10 "$(find "$out" -name '*.csv' | wc -l)"
    # Without the emulator the native results are all there is.
    rm -r "$out" tree/build
    reproduce
    expect "exit status without the emulator" 0 "$status"
    grep -q 'no transactions are emulated' "$scratch/err" || fail "that nothing is emulated is not said"
    expect "results without the emulator" "avltree.csv ring.csv" "$(cd "$out" && echo *.csv)"
}

bad_options_of_test_and_reproduce_are_one_line_and_exit_2()
{
    run "$source_folder/scripts/test.sh" --fast
    expect_refusal "unknown option '--fast'"
    run "$source_folder/scripts/test.sh" -L slow
    expect_refusal "unknown label 'slow'"
    run "$source_folder/scripts/test.sh" -L
    expect_refusal "option -L needs a value"
    run "$source_folder/scripts/test.sh" -E
    expect_refusal "option -E needs a value"
    run "$source_folder/scripts/reproduce.sh" --fast
    expect_refusal "unknown option '--fast'"
    run "$source_folder/scripts/reproduce.sh" --no-install --out /proc/out
    expect_refusal "cannot write to /proc/out"
}

# Each of these ends a test by set -e, and says nothing by itself.
# shellcheck disable=SC2016 # the tests that are made here expand it
a_test_that_ends_early_says_why()
{
    local last

    for last in 'listed=$(find nowhere 2>/dev/null | sort)' 'false' '[[ -n "" ]]' '(exit 3)' 'grep -q x /dev/null' 'in_vain'; do
        printf '%s\n' 'set -euo pipefail' "source '$source_folder/tests/scripts/scripts_common.bash'" \
            'in_vain()' '{' '    true | false' '}' 'ends_early()' '{' "    $last" '}' 'run_claim' >early_test.sh
        run bash early_test.sh "$source_folder" "$build_folder" ends_early
        [[ $status -ne 0 ]] || fail "'$last' ends no test"
        grep -q '^ends_early: early_test.sh, line [0-9]*: exit status [0-9]* of: ' err || fail "it is not said why '$last' ended it"
    done
    printf '%s\n' 'set -euo pipefail' "source '$source_folder/tests/scripts/scripts_common.bash'" \
        'passes()' '{' '    false || run false' '    x=$(false; echo x)' '    ! true' '    x=' '}' 'run_claim' >passing_test.sh
    run bash passing_test.sh "$source_folder" "$build_folder" passes
    expect "exit status of a test that passes" 0 "$status"
    expect "what it says" "" "$(cat err)"
}

run_claim
