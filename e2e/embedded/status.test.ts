import { eventually, freePort } from "@virtual-kubelet/testing";
import { mkdir, readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { exitCodes } from "virtual-kubelet";
import { Program } from "../support/program.ts";
import { writeTroubledProvider } from "../support/troubled-provider.ts";
import { ProgramRig, soon } from "./support/program-rig.ts";

interface Ended {
  readonly code: unknown;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs `virtual-kubelet status` in the folder of a rig, whose programs have their state there. */
async function status(rig: ProgramRig, words = "", env: Readonly<Record<string, string>> = {}): Promise<Ended> {
  await using program = new Program(["status", ...words.split(" ").filter(Boolean)], { cwd: rig.folder, env });
  const code = await program.exit;
  return { code, stdout: program.stdout, stderr: program.stderr };
}

test("status shows pods that run, that fail again and again, and whose call hangs", async () => {
  await using rig = await ProgramRig.open();
  await writeTroubledProvider(rig.folder);
  await using _program = rig.run("--provider ./troubled.mjs --nodename vk-1");
  await rig.nodeIsReady("vk-1");
  for (const name of ["web", "broken", "stuck"]) await rig.createPod(name, "vk-1");
  await rig.podIsRunning("web");

  // The pod `broken` is seen between two attempts, and the others when they have come as far as they do.
  await eventually(async () => {
    const { code, stdout: text } = await status(rig);
    expect(code).toBe(exitCodes.ok.code);
    // oxlint-disable-next-line eslint/no-control-regex -- what the provider says must not control the terminal
    expect(text).not.toMatch(/\u001b/);
    const lines = text.split("\n");
    expect(lines).toContainEqual("node vk-1 ready");
    expect(lines).toContainEqual(expect.stringMatching(/^default +broken +Pending +unknown +inspect +again in \d+ s, attempt \d+$/));
    expect(lines).toContainEqual(
      expect.stringMatching(/^ {2}└ start failed (?:[2-9]|[1-9]\d+) times: no quota <img src=x onerror="alert\(1\)">$/),
    );
    expect(lines).toContainEqual(expect.stringMatching(/^default +stuck +Pending +unknown +inspect +start, \d+ s$/));
    expect(lines).toContainEqual(expect.stringMatching(/^default +web +Running +present +- +-$/));
  }, soon);
  const { stdout } = await status(rig, "--nodename vk-1 --pod stuck -o json");

  expect(JSON.parse(stdout)).toMatchObject({
    version: 1,
    programs: [
      {
        nodes: [
          {
            stage: "running",
            counts: { total: 3, byPhase: { Pending: 2, Running: 1 } },
            matching: 1,
            pods: [{ name: "stuck", activity: { kind: "calling", operation: "start", isGivenUp: false } }],
          },
        ],
      },
    ],
  });
});

test("status says for whom an instance stands by, on another host and on this one", async () => {
  await using rig = await ProgramRig.open();
  const words = "--provider mock --nodename vk-1 --standby";
  await using _first = rig.run(`${words} --identity first`);
  await rig.nodeIsReady("vk-1");
  const elsewhere = { STATE_DIRECTORY: join(rig.folder, "elsewhere") };
  await using _other = rig.run(`${words} --identity other`, { env: elsewhere });
  await using _same = rig.run(`${words} --identity same`);

  await eventually(
    async () => expect((await status(rig, "", elsewhere)).stdout).toContain("node vk-1 stands by: instance first holds the lease"),
    soon,
  );
  await eventually(async () => {
    const { stdout } = await status(rig);
    expect(stdout).toMatch(/stands by until process \d+ on this host ends\n\nnode vk-1 not started/);
    expect(stdout).toContain("node vk-1 ready");
  }, soon);
});

test("after a program was killed nothing is shown, and the next one removes its socket", async () => {
  await using rig = await ProgramRig.open();
  const folder = join(rig.folder, "state/vk-1/pki");
  const sockets = async (): Promise<string[]> => (await readdir(folder)).filter((name) => name.includes(".status."));
  await using first = rig.run("--provider mock --nodename vk-1");
  await rig.nodeIsReady("vk-1");
  const [left] = await sockets();
  await first.end("SIGKILL");

  const { code, stderr } = await status(rig, "--nodename vk-1");
  expect([code, stderr]).toEqual([exitCodes.failure.code, expect.stringContaining(`no program runs node vk-1 here: there is no socket`)]);
  expect(await sockets()).toEqual([left]);

  await using _second = rig.run("--provider mock --nodename vk-1");
  await eventually(async () => expect((await status(rig)).code).toBe(0), soon);
  await eventually(async () => expect(await sockets()).toEqual([expect.not.stringContaining(left ?? "")]), soon);
});

test("a program whose folder cannot be written runs without its socket, and says so", async () => {
  await using rig = await ProgramRig.open();
  await mkdir(join(rig.folder, "state"));
  await writeFile(join(rig.folder, "state/vk-1"), "a file where the folder should be");
  await using program = rig.run("--provider mock --nodename vk-1");

  await rig.nodeIsReady("vk-1");

  const warnings = program.logs.filter(({ level }) => level === "warn").map(({ msg }) => msg);
  expect(warnings).toContain('"virtual-kubelet status" cannot show the node: no socket can be created there');
});

test("a program that runs without its socket is told from none", async () => {
  await using rig = await ProgramRig.open();
  await using _program = rig.run("--provider mock --nodename vk-1");
  await rig.nodeIsReady("vk-1");
  const folder = join(rig.folder, "state/vk-1/pki");
  for (const name of await readdir(folder)) if (name.includes(".status.")) await rm(join(folder, name));

  expect((await status(rig, "--nodename vk-1")).stderr).toMatch(/process \d+ runs node vk-1, but there is no socket of it/);
});

test("the page's address answers this machine's own requests, and nobody else's", async () => {
  await using rig = await ProgramRig.open();
  const port = await freePort();
  await using _program = rig.run(`--provider mock --nodename vk-1 --debug-addr 127.0.0.1:${port}`);
  await rig.nodeIsReady("vk-1");
  const ask = async (path: string, headers: Record<string, string> = {}, method = "GET"): Promise<number> =>
    (await fetch(`http://127.0.0.1:${port}${path}`, { headers, method })).status;

  expect(await ask("/status")).toBe(200);
  expect(await ask("/")).toBe(200);
  expect(await ask("/status", { origin: "http://attacker.example" })).toBe(403);
  expect(await ask("/status", { "sec-fetch-site": "cross-site" })).toBe(403);
  expect(await ask("/status", {}, "POST")).toBe(405);
  expect(await ask("/metrics")).toBe(404);
});
