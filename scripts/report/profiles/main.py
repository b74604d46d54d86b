# SPDX-License-Identifier: MIT
"""mplace profile: who allocated, from a heap profile: functions, folded stacks, or placement."""

import sys

from profiles import placement, pprof, stacks

SITES_SHOWN = 20


def top(profile, value, cumulative=False):
    """The first functions by the value: its share, and who called malloc, or each of its callers, too."""
    index, names, sums, whole = profile.types.index(value), stacks.Stacks(profile), {}, 0
    for sample in profile.samples:
        stack = names.of(sample)
        whole += sample.values[index]
        for site in set(stack) if cumulative else stack[:1]:
            sums[site] = sums.get(site, 0) + sample.values[index]
    if not profile.samples:
        return [f"no allocation was sampled: one each {profile.interval} B on average is; CIA_PROFILE_INTERVAL=1 samples all"]
    if whole == 0:
        return [f"{value} 0: all that was sampled has been freed; --value alloc_space says who allocated it"]
    lines = [f"{value} {whole}; a sample each {profile.interval} B on average", ""]
    for site, total in sorted(sums.items(), key=lambda item: (-item[1], item[0]))[:SITES_SHOWN]:
        if total > 0:
            lines.append(f"{total:>14} {100 * total / whole:5.1f} %  {site}")
    return lines


def main(arguments):
    """arguments: top, cum, folded or placement; the value; the file."""
    form, value, path = arguments
    try:
        profile = pprof.read(path)
    except OSError as error:
        print(f"mplace profile: {path}: {error.strerror}", file=sys.stderr)
        return 2
    except pprof.Malformed as error:
        print(f"mplace profile: {path} is no profile: {error}", file=sys.stderr)
        return 2
    wanted = ("inuse_objects", "inuse_space") if form == "placement" else (value,)
    missing = [name for name in wanted if name not in profile.types]
    if missing:
        print(f"mplace profile: {path} has no {missing[0]}; it has {', '.join(profile.types)}", file=sys.stderr)
        return 2
    if form == "placement":
        lines = placement.table(profile)
    elif form == "folded":
        lines = stacks.folded(profile, value)
    else:
        lines = top(profile, value, form == "cum")
    if lines:
        print("\n".join(lines))
    return 0
