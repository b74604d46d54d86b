#!/bin/bash
# SPDX-License-Identifier: MIT
#
# nginx, with two worker processes and a pool of threads that read files, serves every file as it lies
# on the disk: plain, compressed, in ranges and through itself as a proxy. wrk, with two threads, meets
# no error, also while a reload replaces the workers.
#
# Proof: master and workers report allocations when SIGQUIT ends them in order, and acquisitions: the
# thread pool's queue is a mutex and a condition variable. wrk reports allocations; it has threads, but
# takes no mutex.
source "$(dirname -- "${BASH_SOURCE[0]}")/common.bash"
start "$@"
shows "two workers with a thread pool, gzip, ranges, proxy, a reload under the load of wrk" nginx wrk
need /usr/sbin/nginx nginx
need /usr/bin/wrk wrk
need /usr/bin/python3 python3

files=40
seconds=$(quick_or_full 2 6)
mkdir site logs
awk -v seed=20041004 -v files="$files" '
    '"$awk_random"'
    '"$awk_text"'
    BEGIN {
        for (f = 1; f <= files; f++) {
            file = "site/file" f ".txt"
            print text(f * f * f * 6) >file
            for (i = 0; i < f; i++) print "line", i, text(80) >file
            close(file)
        }
    }'
if [[ $(id -u) == 0 ]]; then chown -R nobody: site logs; fi

# Modules keep temporary files in folders of their own, all of which must be ours.
configure() {
    cat >nginx.conf <<END
daemon off;
pid $work/logs/nginx.pid;
error_log $work/logs/error.log error;
worker_processes 2;
thread_pool files threads=4 max_queue=65536;
events { worker_connections 256; }
http {
    types { text/plain txt; }
    access_log off;
    log_not_found off;
    aio threads=files;
    sendfile off;
    output_buffers 2 16k;
    gzip on;
    gzip_types text/plain;
    client_body_temp_path $work/logs/body;
    proxy_temp_path $work/logs/proxy;
    fastcgi_temp_path $work/logs/fastcgi;
    uwsgi_temp_path $work/logs/uwsgi;
    scgi_temp_path $work/logs/scgi;
    server {
        listen 127.0.0.1:$port;
        root $work/site;
        location /again/ { proxy_pass http://127.0.0.1:$port/; }
        location = /worker { return 200 "\$pid\n"; }
    }
}
END
}

start_nginx() {
    configure
    "$@" /usr/sbin/nginx -p "$work" -e "$work/logs/error.log" -c "$work/nginx.conf" >>server.err 2>&1
}
# The worker that answers is a child of the process that was started.
nginx_is_ours() {
    local line worker=
    (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null || return 1
    exec 3<>"/dev/tcp/127.0.0.1/$1"
    printf 'GET /worker HTTP/1.0\r\n\r\n' >&3
    while IFS= read -r -t 30 line <&3; do worker=${line%$'\r'}; done
    exec 3>&-
    [[ $worker =~ ^[0-9]+$ ]] && grep -qsx "PPid:[[:space:]]*$2" "/proc/$worker/status"
}
stop_nginx() {
    kill -QUIT "$server"
    finish "$server" || fail "nginx ended with status $? after SIGQUIT"
}

cat >fetch.py <<'END'
import gzip
import hashlib
import http.client
import sys

port, files = int(sys.argv[1]), int(sys.argv[2])
connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
for number in range(1, files + 1):
    body = open(f"site/file{number}.txt", "rb").read()
    for prefix in ("", "/again"):
        for headers in ({}, {"Accept-Encoding": "gzip"}, {"Range": "bytes=7-4000"}):
            connection.request("GET", f"{prefix}/file{number}.txt", headers=headers)
            answer = connection.getresponse()
            data = answer.read()
            if answer.getheader("Content-Encoding") == "gzip":
                data = gzip.decompress(data)
            wanted = body[7:4001] if "Range" in headers else body
            assert data == wanted, (prefix, number, headers, len(data), len(wanted))
            print(answer.status, answer.getheader("Content-Encoding"), prefix, number,
                  hashlib.sha256(data).hexdigest())
connection.request("GET", "/missing")
answer = connection.getresponse()
print(answer.status, len(answer.read()))
END
fetch() { plainly /usr/bin/python3 fetch.py "$port" "$files"; }

cat >load.lua <<END
local file = 0
function request()
    file = file % $files + 1
    return wrk.format("GET", (file % 5 == 0 and "/again" or "") .. "/file" .. file .. ".txt")
end
function done(summary)
    local errors = summary.errors
    print(string.format("load: requests %d refused %d broken %d", summary.requests,
        errors.status + errors.timeout, errors.connect + errors.read + errors.write))
end
END

start_server nginx_is_ours start_nginx launch
fetch >reference.answers 2>reference.err || fail "nginx failed without any library"
stop_nginx

start_server nginx_is_ours start_nginx launch_preloaded server
fetch >preloaded.answers 2>fetch.err || fail "nginx served wrong contents under the library"
same "what nginx answers" reference.answers preloaded.answers
wrk_ends_well() {
    local errors=$1
    finish "$pid" || fail "wrk failed under the library"
    prove wrk "$pid" 50 0
    [[ $(grep '^load:' wrk.output) =~ ^load:\ requests\ ([0-9]+)\ refused\ 0\ broken\ ([0-9]+)$ ]] ||
        fail "wrk got errors: $(grep '^load:' wrk.output)"
    [[ ${BASH_REMATCH[1]} -ge 20 ]] || fail "wrk had only ${BASH_REMATCH[1]} answers"
    [[ $errors == may-break || ${BASH_REMATCH[2]} == 0 ]] ||
        fail "connections broke: $(grep '^load:' wrk.output)"
    requests=${BASH_REMATCH[1]}
}
start_wrk() {
    launch_preloaded wrk /usr/bin/wrk -t 2 -c 24 -d "${seconds}s" --timeout 60s -s load.lua \
        "http://127.0.0.1:$port/" >wrk.output 2>wrk.err
}
start_wrk
wrk_ends_well may-not-break
# Workers that are replaced close the connections that they hold between two requests, with or without
# a library: broken ones are no error then, refused requests are.
start_wrk
sleep 1
kill -HUP "$server"
wrk_ends_well may-break
fetch >after.answers 2>fetch.err || fail "nginx served wrong contents after the reload"
same "what nginx answers after a reload" reference.answers after.answers
stop_nginx
[[ $(wc -w <<<"$(cd statistics/server && echo "${allocator:-$lock}".*)") -ge 5 ]] ||
    fail "not all of a master and two times two workers wrote statistics"
prove server all 1000 100
! grep -q . logs/error.log || fail "nginx logged: $(head -n 1 logs/error.log)"
say "nginx: $(wc -l <preloaded.answers) answers as without, $requests requests without an error"
