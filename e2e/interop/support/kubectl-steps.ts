import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { eventually } from "@virtual-kubelet/testing";
import { expect } from "vitest";
import type { KubectlRunner } from "./kubectl-runner.ts";

/** `kubectl exec` starts a shell on a terminal, which has the size of the caller's. */
export async function execOnTerminal(kubectl: KubectlRunner, pod: string, patience: { readonly timeoutMs: number }): Promise<void> {
  using shell = kubectl.onTerminal({ width: 99, height: 31 }, "exec", "-it", pod, "--", "sh");
  await eventually(() => expect(shell.text()).toMatch(/[$#] /), patience);

  // The size is sent after the start, so the shell may start before it arrives.
  await eventually(() => {
    shell.type("stty size\n");
    expect(shell.text()).toContain("31 99\r\n");
  }, patience);
}

/** `kubectl cp` copies a file of 300,000 bytes into a container and back. */
export async function copyThereAndBack(kubectl: KubectlRunner, pod: string, container: string): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), "vk-cp-"));
  try {
    const bytes = Buffer.from(Array.from({ length: 300_000 }, (_, index) => (index * 7) % 256));
    const [there, back] = [join(directory, "there"), join(directory, "back")];
    await writeFile(there, bytes);

    for (const [from, to] of [
      [there, `${pod}:/tmp/copied`],
      [`${pod}:/tmp/copied`, back],
    ] as const) {
      const { code, stderr } = await kubectl.run(["cp", from, to, "-c", container]);
      expect(code, stderr).toBe(0);
    }
    expect((await readFile(back)).equals(bytes)).toBe(true);
  } finally {
    await rm(directory, { recursive: true });
  }
}
