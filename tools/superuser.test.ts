import { spawnSync } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { asRoot, preparedByRoot, type Caller, type Command } from "./superuser.ts";

const root: Caller = { userId: 0, groupId: 0, environment: {} };
const user: Caller = { userId: 1001, groupId: 1002, environment: { PATH: "/tools:/usr/bin", HOME: "/home/it's me" } };
const sudoer: Caller = { ...user, environment: { ...user.environment, VK_TEST_SUDO: "1" } };

/** Runs a command with stand-ins for the programs that need root: each prints its name and its arguments and runs what follows them. */
function runPretending(command: Command | undefined): string {
  const folder = mkdtempSync(join(tmpdir(), "vk-superuser-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const standIn = (name: string): string =>
    `#!/bin/sh\nset -- "$@"\nwhile case "$1" in -*) true;; *) false;; esac; do printf '%s ' "$1"; shift; done\necho "(${name})"\nexec "$@"\n`;
  for (const name of ["sudo", "setpriv"]) {
    writeFileSync(join(folder, name), standIn(name));
    chmodSync(join(folder, name), 0o755);
  }
  writeFileSync(join(folder, "chown"), '#!/bin/sh\necho "chown $*"\n');
  chmodSync(join(folder, "chown"), 0o755);
  const [program = "", ...args] = command ?? [];
  const path = `${folder}:${process.env["PATH"] ?? ""}`;
  const { stdout, status } = spawnSync(
    program,
    args.map((word) => (word.startsWith("PATH=") ? `PATH=${path}` : word)),
    { encoding: "utf8", env: { PATH: path, HOME: "/root" } },
  );
  return `${stdout}${status}`;
}

describe("a command that needs root", () => {
  test("is run as it is where root asks", () => {
    expect(asRoot(["id", "-u"], root)).toEqual(["id", "-u"]);
  });

  test("is not run for a user who does not allow sudo", () => {
    expect(asRoot(["id"], user)).toBeUndefined();
    expect(preparedByRoot(["unshare"], "true", ["id"], user)).toBeUndefined();
  });

  test("is run through sudo, which never asks, with the caller's PATH", () => {
    expect(asRoot(["id"], sudoer)?.slice(0, 6)).toEqual([
      "sudo",
      "--non-interactive",
      "--preserve-env",
      "--set-home",
      "env",
      "PATH=/tools:/usr/bin",
    ]);
  });

  test("keeps its exit code, after what root left in the folder has been given back", () => {
    expect(runPretending(asRoot(["sh", "-c", "echo work; exit 7"], sudoer))).toBe(
      "--non-interactive --preserve-env --set-home (sudo)\nwork\nchown --recursive --silent --no-dereference --from=root 1001:1002 .\n7",
    );
  });
});

describe("what root prepares for a command", () => {
  test("is a shell's script before the command where root asks", () => {
    expect(runPretending(preparedByRoot(["env"], "echo prepared", ["echo", "two words", "three"], root))).toBe(
      "prepared\ntwo words three\n0",
    );
  });

  test("comes before the command that is the caller's again, with the caller's home", () => {
    const command: Command = ["sh", "-c", 'echo "$HOME $1"', "sh", "two words"];
    expect(runPretending(preparedByRoot(["env"], "echo prepared", command, sudoer))).toBe(
      "--non-interactive --preserve-env (sudo)\nprepared\n--reuid=1001 --regid=1002 --init-groups (setpriv)\n/home/it's me two words\n0",
    );
  });

  test("keeps the command from being run where it fails", () => {
    expect(runPretending(preparedByRoot(["env"], "false", ["echo", "run"], root))).toBe("1");
  });
});
