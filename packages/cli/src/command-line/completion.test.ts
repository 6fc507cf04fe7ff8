import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";
import { bashCompletion, fishCompletion, zshCompletion } from "./completion.ts";
import { flags } from "./flags.ts";

/** What bash itself would offer for the last of the words. */
function completeInBash(...words: string[]): string[] {
  const quoted = words.map((word) => `'${word}'`).join(" ");
  const script = `${bashCompletion()}\nCOMP_WORDS=(virtual-kubelet ${quoted}); COMP_CWORD=${words.length}; _virtual_kubelet; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const { status, stdout, stderr } = spawnSync("bash", ["-c", script], { encoding: "utf8" });
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  return stdout.split("\n").filter(Boolean);
}

test.for<[words: string[], offered: string[]]>([
  [
    [""],
    [
      "run",
      "join",
      "demo",
      "simulate",
      "providers",
      "config",
      "manifests",
      "service",
      "doctor",
      "plan",
      "explain",
      "status",
      "completion",
      "version",
      "help",
    ],
  ],
  [["co"], ["config", "completion"]],
  [
    ["run", "--provider"],
    ["--provider", "--provider-config"],
  ],
  [["--nod"], ["--nodename", "--node-ip"]],
  [["run", "--nodena"], ["--nodename"]],
  [["--provider", "mock", "--on-sh"], ["--on-shutdown"]],
  [
    ["run", "--on-shutdown", ""],
    ["keep", "cordon", "drain", "delete"],
  ],
  [["run", "--provider", "m"], ["mock"]],
  [["completion", "z"], ["zsh"]],
  [["config", "pri"], ["print"]],
  [["help", "de"], ["demo"]],
  [
    ["version", "-o", ""],
    ["text", "json"],
  ],
  [
    ["run", "--on-shutdown", "="],
    ["keep", "cordon", "drain", "delete"],
  ],
  [["run", "--on-shutdown", "=", "dr"], ["drain"]],
  [["--provider", "=", "mo"], ["mock"]],
  [["--provider=mo"], ["--provider=mock"]],
  [
    ["config", "validate", "--log-format="],
    ["--log-format=auto", "--log-format=text", "--log-format=json"],
  ],
  [["manifests", "rbac", "--run-as", "=", "s"], ["service-account"]],
])("bash completes %j", ([words, offered]) => {
  expect(completeInBash(...words)).toEqual(offered);
});

test("bash completes --flag=VALUE where it breaks words by itself, files among them", () => {
  const script = `${bashCompletion()}
cd "$(mktemp -d)" && touch vk.yaml
COMP_WORDS=(virtual-kubelet --config = v); COMP_CWORD=3; _virtual_kubelet; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const { stdout } = spawnSync("bash", ["-c", script], { encoding: "utf8" });

  expect(stdout).toBe("vk.yaml\n");
});

test.for([
  ["bash", bashCompletion()],
  ["zsh", zshCompletion()],
  ["fish", fishCompletion()],
] as const)("%s is offered every living flag, and none that is obsolete", ([, script]) => {
  const missing = flags.filter(
    ({ name, obsolete, insteadUse }) => obsolete === undefined && insteadUse === undefined && !script.includes(name),
  );

  expect(missing).toEqual([]);
  expect(script).not.toContain("klog");
});
