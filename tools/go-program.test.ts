import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { upstreamE2e } from "./go-program.ts";

let directory = "";

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "vk-go-program-"));
  vi.spyOn(console, "log").mockImplementation(() => {});
});

afterEach(async () => {
  vi.restoreAllMocks();
  await rm(directory, { recursive: true });
});

/** A `go` that notes its arguments, and leaves an executable file where it is told to. @returns its environment */
async function fakeGo(): Promise<Record<string, string>> {
  const go = join(directory, "bin/go");
  await mkdir(join(directory, "bin"));
  const steps = [`echo "$@" >> ${directory}/calls`, 'while [ "$1" != -o ]; do shift; done', 'echo > "$2"', 'chmod +x "$2"'];
  await writeFile(go, `#!/bin/sh\n${steps.join("\n")}\n`);
  await chmod(go, 0o755);
  return { XDG_CACHE_HOME: join(directory, "cache"), PATH: join(directory, "bin") };
}

test("a program is built once, and then found", async () => {
  const environment = await fakeGo();

  const program = await upstreamE2e.ensure(environment);

  expect(program.startsWith(join(directory, "cache/virtual-kubelet/upstream-e2e/"))).toBe(true);
  expect(await upstreamE2e.ensure({ ...environment, PATH: "" })).toBe(program);
  expect(await readFile(join(directory, "calls"), "utf8")).toMatch(/^test -c -o \S+\/upstream-e2e -ldflags -s -w \.\n$/);
});

test("without Go a program is missing, unless the environment names it", async () => {
  const environment = { XDG_CACHE_HOME: directory, PATH: directory };

  expect(upstreamE2e.missing(environment)).toContain("set UPSTREAM_E2E to the program");
  await expect(upstreamE2e.ensure(environment)).rejects.toThrow("there is no Go on the PATH to build upstream-e2e with");
  expect(upstreamE2e.missing({ ...environment, UPSTREAM_E2E: process.execPath })).toBeUndefined();
  expect(await upstreamE2e.ensure({ ...environment, UPSTREAM_E2E: process.execPath })).toBe(process.execPath);
});
