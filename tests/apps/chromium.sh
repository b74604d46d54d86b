#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Chromium loads a page in its sandbox, whose script builds a tree and prints it: the same page as
# without. Its zygote makes processes by the system call clone, in namespaces of their own, and each
# asks a mutex who owns it before it goes on.
#
# Proof: the browser's first process reports acquisitions; those in the sandbox cannot open a file for
# their statistics. Chromium brings a malloc of its own, so of allocators only the presence to the
# end of the process can be shown.
source "$(dirname -- "${BASH_SOURCE[0]}")/common.bash"
start "$@"
shows "headless, in its sandbox: loads a page whose script builds and sorts a tree" chromium
need /usr/bin/chromium chromium

cat >page.html <<END
<!doctype html><title>tree</title><ul id=list></ul><script>
let seed = 20261128, list = document.getElementById('list');
for (let i = 0; i < $(quick_or_full 500 20000); i++) {
    seed = seed * 16807 % 2147483647;
    let item = document.createElement('li');
    item.textContent = seed.toString(36);
    list.append(item);
}
[...list.children].sort((a, b) => a.textContent < b.textContent ? -1 : 1).forEach(item => list.append(item));
</script>
END
visit() { "$@" /usr/bin/chromium --headless --disable-gpu --dump-dom --user-data-dir="$home/$tag" "file://$work/page.html"; }

tag=reference
visit plainly >reference.dom 2>reference.err || fail "chromium failed without any library"
[[ $(grep -o '<li>' reference.dom | wc -l) -ge 500 ]] || fail "the page has no list without any library"
tag=page
visit preloaded page >preloaded.dom 2>page.err || fail "chromium failed under the library"
prove page "$pid" 0 1000
same "the page" reference.dom preloaded.dom
say "chromium: a page of $(wc -c <preloaded.dom) bytes as without"
