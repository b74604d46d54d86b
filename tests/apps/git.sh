#!/bin/bash
# SPDX-License-Identifier: MIT
#
# git imports, checks, repacks and greps repositories with the same results as without: the same
# commits, a clean fsck, every object still there with its contents after gc, and a pack made by one
# thread that is the same byte for byte. One repository is generated; the full size also takes the
# history that this source tree comes from.
#
# Proof: all processes of a command together report allocations. Mutexes are taken by pack-objects,
# which gc starts to search deltas with two threads, and by a grep with two threads; fast-import and
# fsck run one thread and take none (a counting pthread_mutex_lock saw no call), so there only the
# presence of the lock libraries can be shown.
source "$(dirname -- "${BASH_SOURCE[0]}")/common.bash"
source_tree=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd)
start "$@"
shows "imports, checks, repacks with two threads, greps; generated history and that of this tree" \
    git
need /usr/bin/git git

seed=20050407
commits=$(quick_or_full 400 6000)

cat >"$home/.gitconfig" <<'END'
[safe]
    directory = *
[user]
    name = A Tester
    email = tester@example.invalid
[gc]
    auto = 0
    autoDetach = false
[pack]
    threads = 2
[init]
    defaultBranch = main
END

git_plainly() { plainly /usr/bin/git "$@"; }

# A linear history with a merge now and then; every commit rewrites lines of a few of 60 files.
generate_history() {
    awk -v seed="$seed" -v commits="$commits" '
        '"$awk_random"'
        function data(text) { printf "data %d\n%s\n", length(text), text }
        function contents(file,    i, text) {
            for (i = 0; i < lines[file]; i++) text = text line[file, i] "\n"
            return text
        }
        function rewrite(file,    i, n) {
            if (!lines[file]) {
                lines[file] = 40 + random(160)
                for (i = 0; i < lines[file]; i++) line[file, i] = "line " random(1000000)
            }
            for (n = random(6) + 1; n > 0; n--)
                line[file, random(lines[file])] = "value " random(1000000) " of " random(5000)
        }
        BEGIN {
            for (c = 1; c <= commits; c++) {
                printf "commit refs/heads/main\nmark :%d\n", c
                printf "committer A Tester <tester@example.invalid> %d +0000\n", 1e9 + c * 60
                data("Change number " c)
                if (c > 1) printf "from :%d\n", c - 1
                if (c > 20 && c % 17 == 0) printf "merge :%d\n", c - 2 - random(15)
                for (n = random(4) + 1; n > 0; n--) {
                    file = random(60)
                    rewrite(file)
                    printf "M 100644 inline folder%d/file%d.txt\n", file % 7, file
                    data(contents(file))
                }
                print ""
                if (c % 50 == 0) {
                    printf "tag version-%d\nfrom :%d\n", c, c
                    printf "tagger A Tester <tester@example.invalid> %d +0000\n", 1e9 + c * 60
                    data("Version " c)
                }
            }
        }'
}

# describe FOLDER: everything that must not depend on the allocator or the lock.
describe() {
    git_plainly -C "$1" for-each-ref --format '%(refname) %(objectname)'
    git_plainly -C "$1" rev-list --all --objects | sha256sum
    git_plainly -C "$1" cat-file --batch-all-objects --batch --buffer | sha256sum
}

# check NAME FOLDER: the repository FOLDER.git without a library is the reference, and the same
# commands run under the combination on a copy of it.
check() {
    local name=$1 repository=$2

    describe "$repository" >"$name-reference.description"
    git_plainly -C "$repository" fsck --full --strict >"$name-reference.fsck" 2>&1 ||
        fail "$name: git fsck failed without any library"
    git_plainly -C "$repository" log --all --stat --date=iso >"$name-reference.log"
    git_plainly -C "$repository" rev-list --all --objects --no-object-names >"$name.objects"
    git_plainly -C "$repository" pack-objects --threads=1 --no-reuse-delta --stdout -q \
        <"$name.objects" >"$name-reference.pack"
    git_plainly -C "$repository" grep --threads=2 -n 99 HEAD >"$name-reference.grep"

    preloaded "$name-fsck" /usr/bin/git -C "$repository" fsck --full --strict \
        >"$name-preloaded.fsck" 2>&1 || fail "$name: git fsck failed under the library"
    prove "$name-fsck" all 200 0
    same "$name: what git fsck says" "$name-reference.fsck" "$name-preloaded.fsck"

    preloaded "$name-log" /usr/bin/git -C "$repository" log --all --stat --date=iso \
        >"$name-preloaded.log" || fail "$name: git log failed under the library"
    prove "$name-log" all 200 0
    same "$name: what git log says" "$name-reference.log" "$name-preloaded.log"

    preloaded "$name-pack" /usr/bin/git -C "$repository" pack-objects --threads=1 \
        --no-reuse-delta --stdout -q <"$name.objects" >"$name-preloaded.pack" ||
        fail "$name: git pack-objects failed under the library"
    prove "$name-pack" all 200 0
    same "$name: a pack made by one thread" "$name-reference.pack" "$name-preloaded.pack"

    preloaded "$name-grep" /usr/bin/git -C "$repository" grep --threads=2 -n 99 HEAD \
        >"$name-preloaded.grep" || fail "$name: git grep failed under the library"
    prove "$name-grep" "$pid" 500 20
    same "$name: what git grep finds" "$name-reference.grep" "$name-preloaded.grep"

    # Which deltas two threads find depends on who was faster: objects are compared, not packs.
    preloaded "$name-gc" /usr/bin/git -C "$repository" gc --aggressive --quiet 2>"$name-gc.err" ||
        fail "$name: git gc failed under the library"
    prove "$name-gc" all 1000 20
    describe "$repository" >"$name-preloaded.description"
    same "$name: objects after git gc" "$name-reference.description" "$name-preloaded.description"
    git_plainly -C "$repository" fsck --full --strict >"$name-after.fsck" 2>&1 ||
        fail "$name: what git gc left does not pass git fsck"
    # The order of its lines follows the order of the pack.
    sort -o "$name-reference.fsck" "$name-reference.fsck"
    sort -o "$name-after.fsck" "$name-after.fsck"
    same "$name: what git fsck says after git gc" "$name-reference.fsck" "$name-after.fsck"
    say "$name: $(wc -l <"$name.objects") objects as without"
}

say "input: $commits commits, seed $seed"
generate_history >history
git_plainly init -q --bare reference.git
git_plainly -C reference.git fast-import --quiet <history ||
    fail "git fast-import failed without any library"
git_plainly init -q --bare generated.git
preloaded import /usr/bin/git -C generated.git fast-import --quiet <history ||
    fail "git fast-import failed under the library"
prove import all 1000 0
describe reference.git >reference.import
describe generated.git >preloaded.import
same "what git fast-import made" reference.import preloaded.import
rm -rf reference.git history
check generated generated.git

if [[ $full == 1 ]]; then
    if /usr/bin/git -C "$source_tree" rev-parse --git-dir >/dev/null 2>&1; then
        # Root reads the source tree, which the unprivileged user may not be allowed to.
        /usr/bin/git clone -q --mirror --no-local "$source_tree" own.git
        if [[ $(id -u) == 0 ]]; then chown -R nobody: own.git; fi
        check own own.git
    else
        say "own: not checked, this source tree is not a git checkout"
    fi
fi
