#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
#
# The workflows are well-formed, use nothing but what was chosen, and call scripts and options that
# exist. Usage: workflows_test.py SOURCE BUILD. Exit status: 0, 1, or 77 without a YAML parser.
import pathlib
import re
import subprocess
import sys

try:
    import yaml
except ImportError:
    print("skipped: python3-yaml is not installed")
    sys.exit(77)

ACTIONS = {"actions/checkout", "actions/upload-artifact"}


def check(file, source):
    workflow = yaml.safe_load(file.read_text())
    # "on" is a truth value to YAML 1.1.
    missing = {"name", "jobs", "permissions"} - set(workflow) or ({"on"} if True not in workflow else set())
    if missing:
        yield f"no {missing}"
    if workflow.get("permissions") != {"contents": "read"}:
        yield "it may do more than read"
    for name, job in workflow["jobs"].items():
        if "runs-on" not in job or "timeout-minutes" not in job or not job.get("steps"):
            yield f"{name}: no runs-on, timeout-minutes or steps"
        if "self-hosted" in job["runs-on"] and "pull_request" in (workflow[True] or {}):
            yield f"{name}: a stranger's pull request would run on a machine of one's own"
        for step in job["steps"]:
            if ("uses" in step) == ("run" in step):
                yield f"{name}: a step either uses or runs: {step}"
            if "uses" in step and step["uses"].split("@")[0] not in ACTIONS:
                yield f"{name}: {step['uses']} was not chosen"
            for script, options in re.findall(r"(scripts/[a-z.-]+)([^|>\n]*)", step.get("run", "")):
                if not (source / script).exists():
                    yield f"{name}: there is no {script}"
                    continue
                words = options.split()
                command = [source / script]
                if script == "scripts/mplace":
                    command.append(words[0])
                text = subprocess.run([*command, "--help"], stdout=subprocess.PIPE, text=True, check=True).stdout
                for word in words:
                    if word.startswith("--") and word not in text:
                        yield f"{name}: {script} has no option {word}"


def main():
    source = pathlib.Path(sys.argv[1])
    files = sorted((source / ".github/workflows").glob("*.y*ml"))
    wrong = [f"{file.name}: {what}" for file in files for what in check(file, source)]
    if len(files) < 2:
        wrong.append(f"only {len(files)} workflows")
    tsx = yaml.safe_load((source / ".github/workflows/tsx.yml").read_text())
    runs = "\n".join(step.get("run", "") for job in tsx["jobs"].values() for step in job["steps"])
    if "scripts/mplace smoke" not in runs:
        wrong.append("tsx.yml: it does not run mplace smoke")
    if not any(step.get("uses", "").startswith("actions/upload-artifact") and "always()" in str(step.get("if"))
               for job in tsx["jobs"].values() for step in job["steps"]):
        wrong.append("tsx.yml: the report is not kept when smoke fails")
    for line in wrong:
        print(line, file=sys.stderr)
    sys.exit(1 if wrong else 0)


main()
